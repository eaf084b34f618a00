"""Cards of names of a language, of launch options and of block sizes: short, with details last."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.analysis.tile_uses import Settings, TileUse, number, tile_cost
from tilewright.analysis.tiles import spell_shape
from tilewright.figures import counted, kibibytes
from tilewright.hardware.model import Chip
from tilewright.knowledge.api import Presence, Version, language_api
from tilewright.knowledge.language_notes import (
    OptionNote,
    arguments_of,
    language_note,
)
from tilewright.knowledge.model import Constraint
from tilewright.knowledge.nki import NkiNote
from tilewright_server.cards import Card
from tilewright_server.launch_choices import option_values
from tilewright_server.option_costs import (
    TABLED,
    Known,
    cost_table,
    stage_bytes,
    stages_of,
    warps_of,
)

_LANGUAGE = "triton.language."
_MOST_LIMITS = 3
_MOST_TILES = 4
_ASSUMED_BYTES = 2
_BACKENDS = {"cuda": "NVIDIA", "hip": "AMD", "xpu": "Intel"}


@dataclass(frozen=True)
class Surroundings:
    """What a card may say of where the code runs.

    Attributes:
        version: of the project's Triton; None where it is not known.
        chip: that the document is for; None for a NeuronCore.
        constraints: those that hold there.
    """

    version: Version | None = None
    chip: Chip | None = None
    constraints: tuple[Constraint, ...] = ()


def name_card(dotted: str, written: str, here: str | None, around: Surroundings) -> Card | None:
    """What a name of ``triton.language`` or ``triton`` does; None for a name without a note.

    Args:
        here: what is known of the call at this place, its head and then its details.
    """
    note = language_note(dotted)
    if note is None:
        return None
    head, _, rest = (here or "").partition("\n")
    short = dotted.removeprefix(_LANGUAGE)
    presence = language_api().name(short) if dotted.startswith(_LANGUAGE) else None
    gone = _removal_note(short, presence, around.version)
    lines = [
        *([gone] if gone else []),
        f"**{written}** · {note.does}",
        *([head] if head else []),
        *(f"- {limit}" for limit in note.limits[:_MOST_LIMITS]),
        *(
            f"- On this target: {one.statement}."
            for one in around.constraints
            if _is_of(one, short)
        ),
    ]
    details = [*([signature(dotted, written, around.version)] if note.takes else [])]
    details += [_versions(presence)] if presence is not None else []
    return Card("\n\n".join(_joined(lines)), "\n\n".join([*details, rest.strip()]).strip())


def argument_card(dotted: str, name: str, here: Sequence[str]) -> Card:
    """What a parameter of a function means, and what it means at this place."""
    note = language_note(dotted)
    first, *rest = note.meanings[name] if note is not None else ("",)
    bullets = [f"- {one}" for one in (*here, *rest)]
    return Card("\n\n".join(_joined([f"**{name}** of `{dotted}` · {first}", *bullets])))


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """Paragraphs, with neighbouring bullets as one list."""
    bullets: list[str] = []
    for line in lines:
        if line.startswith("- "):
            bullets.append(line)
            continue
        if bullets:
            yield "\n".join(bullets)
            bullets = []
        yield line
    if bullets:
        yield "\n".join(bullets)


def _is_of(constraint: Constraint, short: str) -> bool:
    return constraint.statement.startswith(f"tl.{short} ")


def _removal_note(short: str, presence: Presence | None, version: Version | None) -> str | None:
    """That this project's Triton does not have the name, and what to use."""
    if presence is None or version is None or presence.is_in(version):
        return None
    instead = language_api().instead(short)
    way_out = f"; use {instead}" if instead else ""
    return f"**Not in Triton {spelled(version)}**, which this project has{way_out}."


def _versions(presence: Presence) -> str:
    api = language_api()
    first = spelled(presence.since or api.first)
    if presence.until is not None:
        return f"Triton {first} until {spelled(presence.until)}, which no longer has it."
    return f"Triton {first} to {spelled(api.last)}."


def spelled(version: Version) -> str:
    """``3.9``."""
    return f"{version[0]}.{version[1]}"


def signature(dotted: str, written: str, version: Version | None) -> str:
    """``tl.load(pointer, mask=None)`` as a version takes it, as a block of code."""
    return f"```python\n{written}({', '.join(map(str, arguments_of(dotted, version)))})\n```"


def nki_card(written: str, note: NkiNote) -> Card:
    """What a function of NKI does, on which engines, and what it refuses."""
    engines = f" · {' or '.join(note.engines)}" if note.engines else ""
    limits = [f"- {limit}" for limit in note.limits]
    return Card("\n\n".join(_joined([f"**{written}**{engines} · {note.does}", *limits])))


def option_card(
    name: str,
    note: OptionNote,
    uses: Sequence[TileUse],
    settings: Settings | None,
    around: Surroundings,
    compiled: str = "",
    known: Known | None = None,
) -> Card:
    """What an option of a launch does, and what it costs for the tiles of the kernel there.

    Args:
        compiled: what compiling the kernel showed of registers and occupancy, in a phrase.
        known: of a kernel of Triton, for a table of its values; None for another one.
    """
    values = settings.values if settings is not None else {}
    stated = values.get(name)
    value = f" = {stated}" if stated is not None else f", default {note.default}"
    lines = [f"**{name}**{value} · {note.does}"]
    backend = around.chip.backend if around.chip is not None else None
    if backend is not None and backend not in note.backends:
        homes = " and ".join(_BACKENDS[one] for one in note.backends)
        lines.append(f"- Only for {homes}; on {_BACKENDS[backend]} it is an unknown option.")
    else:
        lines += [f"- {one}" for one in _costs_here(name, uses, values, around)]
    lines += [f"- Compiled: {compiled}."] if compiled else []
    limits = [c.statement for c in around.constraints if c.check.parameters.get("option") == name]
    lines += [f"- Limit: {limit}." for limit in limits[:_MOST_LIMITS]]
    details = []
    if known is not None and name in TABLED and around.chip is not None:
        offered = option_values(name, note, around.chip, around.constraints)
        cost = tile_cost(uses, values, _ASSUMED_BYTES)
        details.append(cost_table(name, offered, values, cost, around.chip, known))
    details += [note.costs.strip()] if note.costs else []
    details.append(f"Default: {note.default}.")
    return Card("\n\n".join(_joined(lines)), "\n\n".join(details))


def _costs_here(
    name: str, uses: Sequence[TileUse], values: Mapping[str, object], around: Surroundings
) -> Iterator[str]:
    chip, cost = around.chip, tile_cost(uses, values, _ASSUMED_BYTES)
    if chip is None:
        return
    if name == "num_warps":
        warps = warps_of(values)
        yield f"{warps} warps are {warps * chip.warp_size} threads on {chip.id}."
        if cost is not None and cost.accumulators:
            yield _accumulators(cost.accumulators, warps, chip)
        elif cost is not None:
            each = cost.largest / (warps * chip.warp_size)
            yield f"The largest tile gives each thread {each:g} elements."
    if name == "num_stages" and cost is not None and cost.staged:
        yield _staged(cost.staged, stages_of(values, chip), chip, uses)


def _accumulators(elements: int, warps: int, chip: Chip) -> str:
    each = elements / (warps * chip.warp_size)
    return (
        f"The fp32 result of tl.dot takes {each:g} of {chip.max_registers} registers a thread, "
        "by its size alone."
    )


def _staged(staged: int, stages: int, chip: Chip, uses: Sequence[TileUse]) -> str:
    if chip.backend == "xpu":
        return f"An iteration loads {kibibytes(staged)}; on Intel, stages are cache prefetches."
    taken, limit = stage_bytes(staged, stages, chip), chip.shared_limit
    over = ", **which does not fit**" if taken > limit else ""
    types = "" if all(u.dtype for u in uses if u.is_staged) else " if elements have 16 bits"
    return (
        f"One iteration loads {kibibytes(staged)}{types}: {kibibytes(taken)} of "
        f"{kibibytes(limit)} shared memory with {stages} stages{over}."
    )


def block_card(
    name: str,
    uses: Sequence[TileUse],
    settings: Settings | None,
    choices: Sequence[object],
    around: Surroundings,
    compiled: str = "",
) -> Card | None:
    """What a block size costs: bytes of its tiles, shared memory and registers by their size.

    None for a constant that no tile has as an extent.

    Args:
        choices: its values in the kernel's configurations.
    """
    own = [use for use in uses if name in use.constants]
    if not own:
        return None
    values = settings.values if settings is not None else {}
    stated = values.get(name)
    is_known = settings is not None and stated is not None
    where = f" = {stated} in {settings.origin}" if settings is not None and is_known else ""
    tiles = counted(len({use.name for use in own}), "tile")
    lines = [f"**{name}**{where} · extent of {tiles}"]
    lines += [f"- {one}" for one in _tiles(own, values)]
    chip, cost = around.chip, tile_cost(uses, values, _ASSUMED_BYTES)
    if chip is not None and cost is not None and is_known:
        if any(use.is_staged for use in own) and cost.staged:
            lines.append(f"- {_staged(cost.staged, stages_of(values, chip), chip, uses)}")
        if any(use.kind == "dot" for use in own) and cost.accumulators:
            lines.append(f"- {_accumulators(cost.accumulators, warps_of(values), chip)}")
    lines += [f"- Compiled: {compiled}."] if compiled else []
    others = sorted({c for c in choices if isinstance(c, int)})
    details = f"Configurations use {', '.join(map(str, others))}." if len(others) > 1 else ""
    return Card("\n\n".join(_joined(lines)), details)


def _tiles(own: Sequence[TileUse], values: Mapping[str, object]) -> Iterator[str]:
    """The largest tiles first, each name once."""
    seen: dict[str, TileUse] = {}
    for use in sorted(own, key=lambda u: -(u.size(values, _ASSUMED_BYTES) or 0)):
        seen.setdefault(use.name, use)
    for use in list(seen.values())[:_MOST_TILES]:
        yield f"`{use.name}` `{spell_shape(use.shape)}`{size_phrase(use, values)}, {use.kind}"
    if len(seen) > _MOST_TILES:
        yield f"and {len(seen) - _MOST_TILES} more"


def size_phrase(use: TileUse, values: Mapping[str, object]) -> str:
    """`` = 64 × 32 fp16, 4 KiB``; without a type its bytes are said to assume 16 bits."""
    extents = [number(extent, values) for extent in use.shape]
    size = use.size(values, _ASSUMED_BYTES)
    if size is None or any(extent is None for extent in extents):
        return f" {use.dtype}" if use.dtype else ""
    sides = " × ".join(map(str, extents))
    return f" = {sides} {use.dtype or 'of 16 bits'}, {kibibytes(size)}"
