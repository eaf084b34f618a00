"""Products: without the tensor unit, in a wider type than needed, or waiting."""

from collections.abc import Iterator

from tilewright import figures as q
from tilewright.profiling.model import Finding
from tilewright.profiling.observed import Observed
from tilewright.profiling.roofline import peak_of

_IDLE = 0.5
_HALVES = ("fp16", "bf16")


def no_tensor_unit(seen: Observed) -> Iterator[Finding]:
    """Products that became vector instructions."""
    if not seen.work.dot_flop or seen.uses_tensor or seen.report is None:
        return
    line = next((one.line for one in seen.report.lines if one.dots), None)
    text = f"the product on line {line} does not use the tensor unit"
    yield Finding("tensor", text, 0.9, line, ("dot_without_tensor_unit",), measured=False)


def widened(seen: Observed) -> Iterator[Finding]:
    """Halves that are multiplied as single precision: the rate is that of the wider type."""
    wide = seen.work.dot_flop.get("fp32")
    half = _half_read(seen)
    if not wide or half is None or seen.chip is None or not seen.uses_tensor:
        return
    _, now = peak_of(seen.chip, "fp32", tensor=True)
    _, then = peak_of(seen.chip, half, tensor=True)
    if not now or not then or then <= now:
        return
    line = seen.work.dot_lines[0] if seen.work.dot_lines else None
    text = (
        f"the product on line {line} multiplies {half} operands as fp32 (tf32): a roof of "
        f"{q.speed(now)} instead of {q.speed(then)}"
    )
    share = seen.arithmetic_share[0] if seen.arithmetic_share else 0.0
    stake = (1.0 - now / then) * (0.5 + share / 2)
    yield Finding(
        "widened", text, stake, line, ("dtype_precision",), ("rate.peak",), measured=False
    )


def _half_read(seen: Observed) -> str | None:
    """The 16-bit type of the launch's tensors, if it has any."""
    if seen.report is None:
        return None
    types = [argument.type for argument in seen.report.launch.arguments]
    return next((half for half in _HALVES for name in types if half in name.split("[")[0]), None)


def tensor_idle(seen: Observed) -> Iterator[Finding]:
    """The tensor unit waits for operands."""
    busy = seen.share_of("tensor.busy")
    if busy is None or not seen.work.dot_flop or busy >= _IDLE:
        return
    text = f"the tensor unit works in {q.percent(busy)} of the cycles"
    yield Finding("tensor_idle", text, _IDLE * (1.0 - busy), None, ("suboptimal_tile_size",),
                  ("counter.tensor.busy",))  # fmt: skip
