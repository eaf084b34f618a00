"""Estimates of an open file's NKI kernels on NeuronCores, from the text and its spec alone."""

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.analysis.nki import Given, TensorGiven
from tilewright.analysis.per_kernel import Same, kept_by
from tilewright.costs.nki.launches import Unestimated, estimate_launch
from tilewright.costs.nki.model import Engine, NkiEstimate
from tilewright.hardware.chips import neuron_chips
from tilewright.hardware.neuron import NeuronChip
from tilewright.problems.model import Case, EntryKind, Problem
from tilewright.source.model import Kernel, Language, Module
from tilewright_server.backend import ONE_AT_A_TIME

NOT_MEASURED = "estimated, not measured"
_LISTED = ("neuron:trn1", "neuron:trn2")
_NAMES = {
    Engine.TENSOR: "Tensor engine",
    Engine.VECTOR: "Vector engine",
    Engine.SCALAR: "Scalar engine",
    Engine.GPSIMD: "GpSimd",
    Engine.DMA: "DMA",
}
_KEPT = 128


@dataclass(frozen=True)
class KernelEstimate:
    """What the cost model says of one kernel on one chip.

    Attributes:
        found: the estimate, or why there is none.
        case: of the spec, whose sizes were taken; None where the text has them.
    """

    chip: NeuronChip
    found: NkiEstimate | Unestimated
    case: str | None


def kernel_estimates(
    module: Module, kernel: Kernel, problem: Problem | None
) -> tuple[KernelEstimate, ...]:
    """The estimates of a kernel, one for each chip; none of a kernel that is not in NKI."""
    if kernel.language is not Language.NKI:
        return ()
    with ONE_AT_A_TIME:
        return _estimated(module, kernel, problem)


def _key(module: Module, kernel: Kernel, problem: Problem | None) -> object:
    return kernel.node, Same(module.names), None if problem is None else problem.content_hash


@kept_by(_key, _KEPT)
def _estimated(
    module: Module, kernel: Kernel, problem: Problem | None
) -> tuple[KernelEstimate, ...]:
    case = _case(kernel, problem)
    given = None if case is None else _arguments(kernel, case)
    name = None if case is None else case.name
    chips = [chip for chip in neuron_chips() if chip.id in _LISTED]
    return tuple(
        KernelEstimate(chip, estimate_launch(module, kernel, chip, given), name) for chip in chips
    )


def _case(kernel: Kernel, problem: Problem | None) -> Case | None:
    """The case that a spec measures, if the kernel is what it calls."""
    if problem is None or problem.entry.kind is not EntryKind.FUNCTION:
        return None
    if problem.entry.name != kernel.name or problem.entry.path is not None:
        return None
    return next(iter(problem.cases.get(problem.default_category, ())), None)


def _arguments(kernel: Kernel, case: Case) -> Mapping[str, Given]:
    """What the case passes, by parameter."""
    given: dict[str, Given] = {}
    for parameter, one in zip(kernel.parameters, case.inputs, strict=False):
        tensor = TensorGiven(one.shape, one.dtype)
        given[parameter.name] = tensor if one.value is None else one.value
    return given


def lens_titles(estimates: tuple[KernelEstimate, ...]) -> list[tuple[str, str]]:
    """A title for each chip, with the chip; one for all where nothing is known."""
    if estimates and all(isinstance(one.found, Unestimated) for one in estimates):
        return [("not estimated: sizes are not known", estimates[-1].chip.id)]
    return [(_title(one), one.chip.id) for one in estimates]


def _title(one: KernelEstimate) -> str:
    """``trn2: 1.0 ms (0.8 to 1.4), Tensor engine bound, 75% of roofline, estimated…``."""
    found = one.found
    if isinstance(found, Unestimated):
        return f"{one.chip.arch}: not estimated"
    times = f"{_ms(found.usual)} ms ({_ms(found.low)} to {_ms(found.high)})"
    share = f"{found.roofline_percent:.0f}% of roofline"
    return f"{one.chip.arch}: {times}, {_NAMES[found.bottleneck]} bound, {share}, {NOT_MEASURED}"


def estimate_card(one: KernelEstimate) -> str:
    """All that the cost model says of a kernel, for its hover."""
    found = one.found
    if isinstance(found, Unestimated):
        return (
            f"**{one.chip.label}**: {found}. Write the sizes into the kernel, or into a spec "
            "next to the file."
        )
    busy = ", ".join(
        f"{_NAMES[engine]} {_ms(seconds)} ms"
        for engine, seconds in sorted(found.busy.items(), key=lambda item: -item[1])
        if seconds
    )
    sizes = f"Sizes of {one.case} in the spec" if one.case else "Sizes as written"
    lines = [
        f"**{one.chip.label}**: {_ms(found.low)} to {_ms(found.high)} ms, usually "
        f"{_ms(found.usual)} ms, {NOT_MEASURED}",
        f"- Busy: {busy}",
        f"- At least {_ms(found.bound)} ms; {found.roofline_percent:.0f}% of the roofline",
        f"- {sizes}",
    ]
    if found.footprint is not None:
        use = found.footprint
        lines.append(
            f"- Live at most, in each partition: SBUF {use.sbuf / 1024:.4g} of "
            f"{use.sbuf_limit / 1024:.4g} KiB, PSUM {use.psum / 1024:.4g} of "
            f"{use.psum_limit / 1024:.4g} KiB"
        )
    return "\n".join([*lines, *(f"- {caveat}" for caveat in found.caveats)])


def line_costs(estimates: tuple[KernelEstimate, ...], line: int) -> list[str]:
    """What a line costs on each chip, a sentence each."""
    costs = []
    for one in estimates:
        if isinstance(one.found, Unestimated):
            continue
        busy: dict[Engine, float] = {}
        for each in one.found.lines:
            if each.line == line:
                busy = {e: busy.get(e, 0.0) + s for e, s in each.busy.items()}
        said = ", ".join(
            f"{_NAMES[engine]} {_ms(seconds)} ms"
            for engine, seconds in sorted(busy.items(), key=lambda item: -item[1])
            if seconds
        )
        if said:
            costs.append(f"This line on {one.chip.arch}: {said}, {NOT_MEASURED}")
    return costs


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}"
