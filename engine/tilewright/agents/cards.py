"""What the knowledge base says for a prompt: the language, the chip, the patterns that apply."""

import re
from collections.abc import Iterable, Iterator, Sequence

from tilewright.agents.briefing import Briefing
from tilewright.agents.prompt import estimated, fenced
from tilewright.analysis.preconditions.match import Applicable, judged
from tilewright.hardware.chips import chip, neuron_chip
from tilewright.hardware.model import HardwareError
from tilewright.hardware.neuron import NeuronChip
from tilewright.knowledge.api import Version, language_api
from tilewright.knowledge.base import all_patterns, constraints, taxonomy
from tilewright.knowledge.model import UNMEASURED
from tilewright.knowledge.nki import NkiFunction, nki_interface, nki_note
from tilewright.knowledge.patterns import Pattern
from tilewright.knowledge.stages import Stage
from tilewright.problems.permissions import PREPACKED
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Language, Module

_PATTERN_TOKENS = 250
_ANSWER_TOKENS = 600
"""Of a pattern that answers an issue of the stage, its example included."""
_OF_A_WEIGHT = "state_argument"
_MOST_PATTERNS = 8
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMERICS = {
    "exact": "keeps every bit of the result",
    "reassociating": "adds the same terms in another order",
    "precision_reducing": "may keep fewer bits of the result",
    "corrects": "changes a result that is wrong",
}
_INNER = re.compile(
    r"\w*_type|\w*_desc_type|core|semantic|standard|extra|math|condition|dtype|str_to_ty|pi32_t|void|"
    r"const|philox\w*|aggregate_replace|TRITON_MAX_TENSOR_NUMEL|target_info|tensor|tuple|add|sub|mul"
)
"""Names that are there for the language's own use, or that no kernel writes."""
_USED = re.compile(r"(?<![\w.])(?:tl|triton\.language)\.([a-zA-Z_]\w*(?:\.\w+)?)")


def language_items(briefing: Briefing) -> tuple[str, ...]:
    """Rules for the target and the version, names that this version lacks, names that it has."""
    if nki_package(briefing):
        return _nki_items(briefing)
    version = briefing.triton_version
    found = constraints(briefing.target, version)
    rules = sorted(found, key=lambda one: (one.severity != "error", one.id))
    return (
        *(f"- {_sentence(rule.statement)}" for rule in rules),
        *_missing(version),
        *_names(version, briefing.original),
    )


def nki_package(briefing: Briefing) -> str:
    """The package of an NKI file; empty for a Triton file."""
    flavour = parse_module(briefing.original, briefing.file_name).nki_flavour
    return nki_interface(flavour.value).imports if flavour is not None else ""


def _nki_items(briefing: Briefing) -> tuple[str, ...]:
    """Rules of the package; its functions with their newest parameters, those first that are used.

    What is noted of a function follows it where the file uses it.
    """
    flavour = parse_module(briefing.original, briefing.file_name).nki_flavour
    assert flavour is not None
    interface = nki_interface(flavour.value)
    words = set(_WORD.findall(briefing.original))
    used = {name for name in interface.functions if name.rpartition(".")[2] in words}
    names = sorted(interface.functions, key=lambda name: (name not in used, name))
    return (
        *(f"- {rule}" for rule in interface.rules),
        *(_nki_function(name, interface.functions[name], name in used) for name in names),
    )


def _nki_function(name: str, function: NkiFunction, used: bool) -> str:
    line = f"- `{name}({function.takes[0]})`"
    note = nki_note(name) if used else None
    if note is None:
        return line
    engines = f" ({' or '.join(note.engines)} engine)" if note.engines else ""
    limits = "".join(f" {_sentence(limit)}" for limit in note.limits)
    return f"{line}: {_sentence(note.does)}{engines}{limits}"


def _missing(version: Version | None) -> Iterator[str]:
    """What a model may remember from another version."""
    api = language_api()
    for name, presence in sorted(api.names.items()):
        instead = api.instead(name)
        if version is None or presence.is_in(version) or _INNER.fullmatch(name):
            continue
        if presence.since is not None and version < presence.since:
            why = f"is new in Triton {presence.since[0]}.{presence.since[1]}"
        else:
            why = "is not in this version any more"
        yield f"- `tl.{name}` {why}{f': use {instead}' if instead else ''}."


def _names(version: Version | None, text: str) -> Iterator[str]:
    """The names of the language, those first that the original uses: the same for a whole run."""
    api = language_api()
    there = [
        name
        for name, presence in sorted(api.names.items())
        if (presence.is_in(version) if version else presence.since is presence.until is None)
    ]
    used = sorted(set(_USED.findall(text)).intersection(there))
    if used:
        yield f"- Names of `tl` that the file uses: {', '.join(used)}."
    plain = [name for name in there if "." not in name and not _INNER.fullmatch(name)]
    yield f"- Names of `tl`: {', '.join(plain)}."
    math = [name[5:] for name in there if name.startswith("math.") and name != "math.core"]
    yield f"- Names of `tl.math`: {', '.join(math)}."


def chip_items(briefing: Briefing) -> tuple[str, str, tuple[str, ...]] | None:
    """Label, chip and figures of the target; None where there is no target with figures."""
    if briefing.target is not None and briefing.target.backend == "neuron":
        return _core_items(neuron_chip(briefing.target))
    try:
        found = chip(briefing.target) if briefing.target is not None else None
    except HardwareError:
        return None
    if found is None:
        return None
    peaks = ", ".join(f"{kind} {rate:g}" for kind, rate in found.peaks.items() if rate is not None)
    figures: tuple[tuple[object, str], ...] = (
        (found.compute_units, "compute units"),
        (found.warp_size, "threads a warp"),
        (found.max_warps, "warps a program at most"),
        (found.max_registers, "registers a thread at most"),
        (found.shared_limit, "bytes of shared memory a program at most"),
        (found.shared_per_unit, "bytes of shared memory a compute unit"),
        (found.l2_bytes, "bytes of L2 cache"),
        (f"{found.bandwidth_gbs:g}" if found.bandwidth_gbs else None, "GB/s of device memory"),
        (peaks, "TFLOP/s (dense), by element type"),
    )
    items = tuple(f"- {value} {unit}" for value, unit in figures if value)
    return found.label, found.chip, items


def _core_items(core: NeuronChip) -> tuple[str, str, tuple[str, ...]]:
    """Figures of one NeuronCore."""
    clocks = ", ".join(f"{engine} {mhz}" for engine, mhz in core.clock_mhz.items())
    peaks = ", ".join(f"{k} {rate:g}" for k, rate in core.tensor_tflops.items() if rate is not None)
    figures: tuple[tuple[object, str], ...] = (
        (core.partitions, "partitions, and lanes of the Vector and the Scalar engine"),
        (core.sbuf_usable, "bytes of SBUF in each partition"),
        (core.psum_bytes, "bytes of PSUM in each partition"),
        (core.psum_bank_bytes, "bytes of a partition's PSUM in one accumulation at most"),
        (f"{core.bandwidth_gbs:g}", "GB/s of HBM for a core"),
        (peaks, "TFLOP/s of the Tensor engine (dense), by element type"),
        (clocks, "MHz, by engine"),
    )
    return core.label, core.chip, tuple(f"- {value} {unit}" for value, unit in figures if value)


def pattern_items(briefing: Briefing, stage: Stage) -> tuple[str, ...]:
    """The patterns of a stage that apply to a kernel of the file, in words.

    Those first that answer an issue that was found, then those whose conditions all hold.
    """
    issues = {issue.id for issue in briefing.issues}
    staged = {issue.id for issue in briefing.issues if issue.stage is stage}
    found = [
        one
        for one in applicable(briefing)
        if one.pattern.stage is stage or staged.intersection(one.pattern.issues)
    ]
    found.sort(
        key=lambda one: (
            not staged.intersection(one.pattern.issues),
            not issues.intersection(one.pattern.issues),
            one.holds is None,
        )
    )
    return tuple(
        _pattern_words(one, _ANSWER_TOKENS if staged & set(one.pattern.issues) else _PATTERN_TOKENS)
        for one in found[:_MOST_PATTERNS]
    )


def applicable(briefing: Briefing) -> tuple[Applicable, ...]:
    """The patterns whose conditions hold or are not known, each at the kernel where most holds."""
    module = parse_module(briefing.text, briefing.file_name)
    permitted = (one for one in all_patterns().values() if _is_permitted(one, briefing))
    found = (_best(pattern, module, briefing) for pattern in permitted)
    return tuple(one for one in found if one is not None)


def brief_words(one: Applicable) -> str:
    """A pattern of a menu, without its example."""
    return _pattern_words(one, 0)


def full_words(one: Applicable) -> str:
    """A pattern that is to be made, with its example."""
    return _pattern_words(one, _ANSWER_TOKENS)


def _is_permitted(pattern: Pattern, briefing: Briefing) -> bool:
    """Whether the verifier would accept it: what is made of a weight is kept from call to call."""
    of_a_weight = any(condition.name == _OF_A_WEIGHT for condition in pattern.preconditions)
    return not of_a_weight or PREPACKED in briefing.permissions


def _best(pattern: Pattern, module: Module, briefing: Briefing) -> Applicable | None:
    """The pattern at the kernel where most is known to hold; None where it applies to none."""
    kernels = (k for k in module.kernels if k.language.value in pattern.applies_to.languages)
    found = [judged(pattern, module, kernel, briefing.context) for kernel in kernels]
    left = [one for one in found if one.holds is not False]
    return min(left, key=_open_conditions, default=None)


def _open_conditions(one: Applicable) -> int:
    return sum(verdict.holds is None for verdict in one.verdicts)


def _pattern_words(one: Applicable, most: int) -> str:
    """A pattern with its example, where both fit in ``most`` tokens."""
    pattern = one.pattern
    unknown = [verdict.statement for verdict in one.verdicts if verdict.holds is None]
    gain = "not measured" if pattern.gain == UNMEASURED else pattern.gain
    lines = [
        f"### `{pattern.id}`: {pattern.title}",
        _plain(pattern.do),
        f"Gain: {gain}. It {_NUMERICS[pattern.numerics]}.",
        f"Check first: {'; '.join(unknown)}." if unknown else "",
        _plain(pattern.judge) if pattern.judge else "",
    ]
    text = "\n".join(filter(None, lines))
    after = pattern.example.after.rstrip()
    for example in (f"# before\n{pattern.example.before.rstrip()}\n# after\n{after}", after):
        full = f"{text}\n{fenced(example, 'python')}"
        if estimated(full) <= most:
            return full
    return text


def type_items(briefing: Briefing) -> tuple[str, ...]:
    """The issue types that a text shows and that may apply to the file."""
    kernels: Sequence[Kernel] = parse_module(briefing.text, briefing.file_name).kernels
    languages = {kernel.language.value for kernel in kernels} or {Language.TRITON.value}
    return tuple(
        f"- `{kind.id}` ({kind.stage.value}): {_plain(kind.title)}"
        for kind in taxonomy().values()
        if kind.tier == "source"
        and languages.intersection(kind.applies_to.languages)
        and (
            briefing.target is None
            or "nki" in languages
            or kind.applies_to.covers_target(str(briefing.target))
        )
    )


def _plain(text: str) -> str:
    return " ".join(text.split())


def _sentence(text: str) -> str:
    plain = _plain(text)
    return plain if plain.endswith((".", "!", "?")) else f"{plain}."


def listed(names: Iterable[str]) -> str:
    """Names in backticks, in one line."""
    return ", ".join(f"`{name}`" for name in names)
