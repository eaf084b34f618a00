"""Estimates from the text of a kernel: of one launch, and of two texts of one task."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.analysis.nki import Flow, Given, launched_flow, nki_flow
from tilewright.costs.nki.estimate import estimate, footprint_of
from tilewright.costs.nki.model import NkiEstimate
from tilewright.costs.nki.stream import instruction_stream
from tilewright.hardware.neuron import NeuronChip
from tilewright.source.model import Kernel, Module

_SLIGHTLY = 1e-3


@dataclass(frozen=True)
class Unestimated:
    """Why there is no estimate: what the text does not tell, as a person would write it."""

    unknown: tuple[str, ...]

    def __str__(self) -> str:
        shown = "; ".join(self.unknown[:3])
        more = f" and {len(self.unknown) - 3} more" if len(self.unknown) > 3 else ""
        return f"not estimated: {shown}{more} is not known from the text"


@dataclass(frozen=True)
class Comparison:
    """Two texts of one task on one chip.

    Attributes:
        ratio: estimated time before over after.
        is_faster: True or False where the model tells them apart, None where it does not.
        error: the factor below which it does not.
        reason: as a sentence.
    """

    ratio: float
    is_faster: bool | None
    error: float
    reason: str


def estimate_launch(
    module: Module,
    kernel: Kernel,
    chip: NeuronChip,
    given: Mapping[str, Given] | None = None,
    grid: tuple[int, ...] = (),
) -> NkiEstimate | Unestimated:
    """The estimate of a kernel, from its text alone; milliseconds, nothing is run.

    Args:
        given: arguments by parameter; None: only what the text itself fixes is known.
        grid: programs by axis, which run one after the other on one core.
    """
    flow = nki_flow(module, kernel)
    if given is not None or grid:
        flow = launched_flow(module, kernel, given or {}, grid)
    return estimate_flow(flow, chip, grid)


def estimate_flow(
    flow: Flow, chip: NeuronChip, grid: tuple[int, ...] = ()
) -> NkiEstimate | Unestimated:
    """The estimate of an interpreted kernel."""
    stream = instruction_stream(flow, grid)
    if stream.unknown:
        return Unestimated(stream.unknown)
    if not stream.records:
        return Unestimated(("any instruction of the kernel",))
    found = estimate(stream.records, chip, footprint_of(flow, chip))
    return replace(found, caveats=(*stream.assumed, *found.caveats))


def compare(before: NkiEstimate, after: NkiEstimate, chip: NeuronChip) -> Comparison:
    """Whether the model tells that one of two texts is faster, and which.

    The factor below which it does not is smaller where no engine has more to do in one text than
    in the other: their order then depends on no fitted constant (``hardware.neuron.Calibration``).

    Raises:
        ValueError: they are of different chips.
    """
    if before.target != after.target:
        raise ValueError(f"estimates of {before.target} and of {after.target} do not compare")
    fitted, ratio = chip.calibration, before.usual / after.usual
    ordered = _has_no_more_to_do(after, before) or _has_no_more_to_do(before, after)
    error = fitted.ordered_error if ordered else fitted.pair_error
    shown = f"estimated {before.usual * 1e3:.3g} ms before, {after.usual * 1e3:.3g} ms after"
    if 1 / error < ratio < error:
        why = "" if ordered else " where one engine has more to do and another less"
        reason = f"{shown}: the model does not separate factors below {error:g}{why}"
        return Comparison(ratio, None, error, reason)
    words = "less" if ratio > 1 else "more"
    factor = max(ratio, 1 / ratio)
    return Comparison(ratio, ratio > 1, error, f"{shown}: {factor:.2f} times {words}, not measured")


def _has_no_more_to_do(one: NkiEstimate, other: NkiEstimate) -> bool:
    """Whether no engine is busy for longer, but for a thousandth."""
    longest = max(other.busy.values())
    return all(
        one.busy[engine] <= seconds + _SLIGHTLY * longest for engine, seconds in other.busy.items()
    )
