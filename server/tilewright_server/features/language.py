"""What a hover says of names of a language, launch options, block sizes and values of a kernel."""

from tilewright.analysis.tile_uses import TileUse, settings_at, tile_uses
from tilewright.hardware.chips import chip as chip_of
from tilewright.hardware.model import HardwareError
from tilewright.knowledge.api import language_api
from tilewright.knowledge.base import constraints
from tilewright.knowledge.files import KnowledgeError
from tilewright.knowledge.language_notes import launch_options
from tilewright.knowledge.nki import nki_note
from tilewright.problems.model import Problem
from tilewright.source.model import Kernel, Language
from tilewright.source.text import Range
from tilewright.targets.occupancy import occupancy_of
from tilewright_server import language_cards, tuning_cards
from tilewright_server.analysis_cache import Analysis, Parsed
from tilewright_server.backend import ONE_AT_A_TIME
from tilewright_server.cards import Card
from tilewright_server.kernel_facts import CompiledFacts
from tilewright_server.language_cards import Surroundings
from tilewright_server.language_places import (
    ArgumentPlace,
    LanguagePlace,
    SettingPlace,
    place_at,
    tuned_kernel,
)
from tilewright_server.option_costs import Known
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot
from tilewright_server.tile_places import card_at

_NKI = "nki."


async def surroundings(
    server: TilewrightServer, snapshot: Snapshot, parsed: Parsed
) -> Surroundings:
    """The version of Triton and the chip that a document is for, and what holds there.

    Where no version is known, constraints are those of the newest.
    """
    project = await server.project(snapshot)
    version = project.triton or server.triton
    target = str(server.chip.now(snapshot, parsed, project).target)
    try:
        chip = chip_of(target)
        return Surroundings(version, chip, constraints(target, version or language_api().last))
    except (HardwareError, KnowledgeError):
        return Surroundings(version)  # A NeuronCore, or a chip without figures.


async def language_card(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, line: int, column: int
) -> tuple[Card, Range] | None:
    """The card of a name, a setting or a value at a place, and its range."""
    around = await surroundings(server, snapshot, analysis)
    problem = (await server.project(snapshot)).problem
    return await server.in_pool(_card, server, snapshot, analysis, line, column, around, problem)


def _card(
    server: TilewrightServer,
    snapshot: Snapshot,
    analysis: Analysis,
    line: int,
    column: int,
    around: Surroundings,
    problem: Problem | None,
) -> tuple[Card, Range] | None:
    place = place_at(analysis.module, line, column)
    if isinstance(place, SettingPlace):
        known = _known(server, snapshot, analysis, place.kernel)
        found = _setting_card(analysis, place, around, known)
        if found is not None:
            return found, place.range
    if isinstance(place, ArgumentPlace):
        said = _here(server, snapshot, analysis, place.dotted, line, around)
        return language_cards.argument_card(place.dotted, place.name, said), place.range
    value = card_at(analysis, line, column, problem)
    if isinstance(place, LanguagePlace):
        said = _here(server, snapshot, analysis, place.dotted, line, around)
        shown = " ".join(("-", *said)) if said else value[0] if value is not None else None
        named = _name_card(place, shown, around)
        if named is not None:
            return named, place.range
    return None if value is None else (Card(value[0]), value[1])


def _name_card(place: LanguagePlace, here: str | None, around: Surroundings) -> Card | None:
    if not place.dotted.startswith(_NKI):
        return language_cards.name_card(place.dotted, place.written, here, around)
    note = nki_note(place.dotted)
    if note is None or here is not None:
        return None  # The card of an instruction has the note already.
    return language_cards.nki_card(place.written, note)


def _setting_card(
    analysis: Analysis, place: SettingPlace, around: Surroundings, known: Known
) -> Card | None:
    module, kernel = analysis.module, place.kernel
    uses: tuple[TileUse, ...] = ()
    settings = None
    is_triton = kernel is not None and kernel.language is Language.TRITON
    if kernel is not None and is_triton:
        with ONE_AT_A_TIME:
            uses = tile_uses(module, kernel, analysis.context)
        settings = settings_at(module, kernel, analysis.context, place.range.line)
    chip = around.chip
    compiled = compiled_phrase(known.compiled, chip.id) if known.compiled and chip else ""
    if not place.is_constant:
        note = launch_options()[place.name]
        tabled = known if is_triton else None
        return language_cards.option_card(
            place.name, note, uses, settings, around, compiled, tabled
        )
    configs = (kernel.autotune.configs if kernel and kernel.autotune else None) or ()
    choices = [config.values.get(place.name) for config in configs]
    return language_cards.block_card(place.name, uses, settings, choices, around, compiled)


def _known(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, kernel: Kernel | None
) -> Known:
    """What compilers and devices said of the kernel's present text."""
    if kernel is None:
        return Known()
    return Known(
        server.facts.compiled(analysis, snapshot, kernel.name),
        server.facts.profiled(analysis, snapshot, kernel.name),
    )


def _here(
    server: TilewrightServer,
    snapshot: Snapshot,
    analysis: Analysis,
    dotted: str,
    line: int,
    around: Surroundings,
) -> tuple[str, ...]:
    """What a decorator means for the kernel it stands above."""
    kernel = tuned_kernel(analysis.module, line)
    if kernel is None:
        return ()
    compiled = _known(server, snapshot, analysis, kernel).compiled
    return tuning_cards.here(dotted, analysis.module, kernel, line, compiled, around.chip)


def compiled_phrase(facts: CompiledFacts, target: str) -> str:
    """``96 registers, no spills, 2 programs a multiprocessor (registers)`` of the first launch."""
    report = next((one for one in facts.of_target(target) if one.ok), None)
    if report is None:
        return ""
    parts = [f"{report.registers} registers"] if report.registers is not None else []
    if report.spill_bytes is not None:
        parts.append(f"{report.spill_bytes} B spilled" if report.spill_bytes else "no spills")
    found = occupancy_of(report)
    if found is not None:
        limits = ", ".join(found.limited_by)
        parts.append(f"{found.programs} at a time on a {found.unit} (limit: {limits})")
    assumed = "; the launch is assumed" if facts.origin == "inferred" else ""
    return f"{', '.join(parts)}{assumed}" if parts else ""
