"""How far a result may be off: the spec's tolerance, and the error of the kernel it replaces.

Per row, with the oracle y, the original's result o, and what the oracle gives on inputs that are
off by an ulp of single precision, y':

    within the spec       |c - y| <= atol + rtol |y|
    no worse than before  |c - y| <= A max|o - y| + B max|y' - y| + C u max|y| + ulp(y)
    on the whole          rms(c - y) <= E rms(o - y) + B rms(y' - y) + D u

with errors relative to their row's largest |y| in the last line. u is the unit of rounding of
the arithmetic: of single precision (double for double) where the oracle is wider than the output,
of the output's dtype where it is not. The original's term is "as good as what is there", the middle
one what no order of summation can avoid (a backward error), the last one covers an original that
was lucky. A = 4 lets any re-tiling, split or single-pass form through; a product in tf32 or bf16
is off by hundreds. A row is the last dimension, or as many as it takes to have 32 elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

A, B, C, D, E = 4.0, 4.0, 32.0, 16.0, 2.0
FEW = 64
"""With fewer elements a mean says little: C is doubled, and the last rule is not asked."""
LEAST_ROW = 32
BY_ROW = 1.0 / 16.0
"""Share of a row's largest value that counts into atol where inputs were scaled."""
UNKNOWN = 4.0
"""Times rtol of a row's largest value: all that may be asked where no error is known."""
_CPU_CHUNK, _DEVICE_CHUNK = 1 << 17, 1 << 24
_SAMPLE = 1 << 18
_EDGE = 16
_ROUNDING = 0.25
_LUCK = 2.0**-10
ULP_OF_SINGLE = 2.0**-23
_TINY = 1e-300


@dataclass(frozen=True)
class Tolerance:
    """What the spec says. ``scaled``: inputs were not of the size that ``atol`` is meant for."""

    rtol: float
    atol: float
    scaled: bool = False


@dataclass(frozen=True)
class Four:
    """The same elements of all results, as rows of doubles; ``written`` is False where the original
    left its memory as it was."""

    oracle: torch.Tensor
    actual: torch.Tensor
    base: torch.Tensor | None
    noisy: tuple[torch.Tensor, ...]
    written: torch.Tensor | None


@dataclass
class Errors:
    """Errors of one output, gathered chunk by chunk; squares are relative to their rows.

    Attributes:
        step: every how many elements one is kept for the quantiles.
        largest, relative: error, absolute and relative to its own element.
        squares, highest, samples: by whose result it is ("actual", "base", "noise", "size").
        strange: NaN and infinities that the original and the oracle do not share.
        unwritten: elements that the original leaves as they were.
        beyond: elements that the spec's own tolerance does not allow.
    """

    step: int = 1
    largest: float = 0.0
    relative: float = 0.0
    squares: dict[str, float] = field(default_factory=dict)
    highest: dict[str, float] = field(default_factory=dict)
    samples: dict[str, list[torch.Tensor]] = field(default_factory=dict)
    count: int = 0
    strange: int = 0
    unwritten: int = 0
    beyond: int = 0

    @classmethod
    def for_elements(cls, numel: int) -> Errors:
        """For an output of so many elements."""
        return cls(step=max(numel // _SAMPLE, 1))

    def mean(self, whose: str) -> float:
        """Root mean square of the errors of ``whose`` result, relative to its row."""
        return math.sqrt(self.squares.get(whose, 0.0) / max(self.count, 1))

    def quantile(self, whose: str, share: float) -> float:
        """The error that ``share`` of the elements do not exceed, from some 2^18 of them."""
        parts = self.samples.get(whose)
        if not parts:
            return 0.0
        values = torch.cat(parts)
        rank = min(max(math.ceil(share * len(values)), 1), len(values))
        return float(values.kthvalue(rank).values)


def rows_of(tensor: torch.Tensor, most: int) -> Iterator[torch.Tensor]:
    """A tensor as chunks of (rows, columns); a row that is longer than ``most`` is cut."""
    width = row_length(tensor.shape)
    if width > most:
        width = most
    flat = tensor.reshape(-1)
    whole = flat.numel() // width * width
    step = max(most // width, 1) * width
    for start in range(0, whole, step):
        yield flat[start : min(start + step, whole)].view(-1, width)
    if whole < flat.numel():
        yield flat[whole:].view(1, -1)


def row_length(shape: Sequence[int]) -> int:
    """Elements of the trailing dimensions that have at least 32 together."""
    length = 1
    for size in reversed(shape):
        length *= size
        if length >= LEAST_ROW:
            break
    return max(length, 1)


def chunk_of(tensor: torch.Tensor) -> int:
    """How many elements to judge at a time."""
    return _CPU_CHUNK if tensor.device.type == "cpu" else _DEVICE_CHUNK


def wide_of(tensor: torch.Tensor) -> torch.dtype:
    """Double, or single precision where a device has nothing wider."""
    device = tensor.device
    if device.type == "xpu" and not torch.xpu.get_device_properties(device).has_fp64:
        return torch.float32
    return torch.float64


@dataclass(frozen=True)
class Rule:
    """The limits for one output.

    Attributes:
        dtype: of the output.
        unit: of rounding in the arithmetic, as the module says.
        few: whether the output has too few elements for a mean.
    """

    tolerance: Tolerance
    dtype: torch.dtype
    unit: float
    few: bool

    @classmethod
    def for_output(
        cls, tolerance: Tolerance, dtype: torch.dtype, is_wide: bool, numel: int
    ) -> Rule:
        """The rule for an output of ``dtype`` whose oracle is wider than it, or is not."""
        arithmetic = torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps
        unit = arithmetic if is_wide else max(arithmetic, torch.finfo(dtype).eps)
        return cls(tolerance, dtype, unit, numel < FEW)

    @property
    def eps(self) -> float:
        """One unit in the last place of 1, in the output's dtype."""
        return torch.finfo(self.dtype).eps

    def judge(self, four: Four, errors: Errors) -> torch.Tensor:
        """Which elements are wrong; adds to ``errors``."""
        oracle, actual = four.oracle, four.actual
        rounded = oracle.to(self.dtype).to(oracle.dtype)
        finite = torch.isfinite(rounded) & torch.isfinite(actual)
        if four.written is not None:
            finite &= four.written
            errors.unwritten += int((~four.written).sum())
        gap, size = (actual - oracle).abs_(), oracle.abs()
        is_clean = bool(finite.all())
        if not is_clean:
            gap = torch.where(finite, gap, 0.0)
            size = torch.where(torch.isfinite(rounded), size, 0.0)
        scale = size.amax(dim=1, keepdim=True)
        noise = self._noise(four, scale, errors)
        beyond = gap > self._spec(size, scale, noise)
        wrong = gap > self._limit(four, size, scale, noise, errors)
        if not is_clean:
            beyond = torch.where(finite, beyond, ~self._same_special(four, rounded))
            if four.written is not None:
                beyond &= four.written
        if four.base is not None and not (is_clean and bool(torch.isfinite(four.base).all())):
            errors.strange += _strange(four.base, rounded)
        errors.beyond += int(beyond.sum())
        self._gather(gap, size, scale, errors)
        return wrong | beyond

    def _spec(
        self, size: torch.Tensor, scale: torch.Tensor, noise: torch.Tensor | None
    ) -> torch.Tensor:
        rtol, atol = self.tolerance.rtol, self.tolerance.atol
        # No kernel can be asked for more than what rounding leaves of a row's largest value.
        floor = C * torch.finfo(torch.float64 if self.dtype == torch.float64 else torch.float32).eps
        by_row = BY_ROW * rtol if self.tolerance.scaled else 0.0
        limit = torch.maximum(size * rtol + atol + scale * by_row, scale * floor)
        return limit if noise is None or not self.tolerance.scaled else limit + B * noise

    def _limit(
        self, four: Four, size: torch.Tensor, scale: torch.Tensor, noise: torch.Tensor | None,
        errors: Errors,
    ) -> torch.Tensor:  # fmt: skip
        least = self._least()
        if four.base is None:
            share = min(max(UNKNOWN * self.tolerance.rtol, C * self.eps), 0.5)
            # A row may be zero by luck where others are not.
            floored = torch.maximum(scale, scale.max() * _LUCK)
            limit = floored * share + least
            if noise is not None and self.tolerance.scaled:
                limit = limit + B * noise
            return limit.expand_as(size)
        base = self._error("base", four.base, four.oracle, scale, errors)
        limit = A * base + C * (2 if self.few else 1) * self.unit * scale
        if noise is not None:
            limit = limit + B * noise
        return limit + self.eps * size + least

    def _noise(self, four: Four, scale: torch.Tensor, errors: Errors) -> torch.Tensor | None:
        """What rounding may do to each row; None where nothing is known of it.

        Scaled inputs make a few rows unstable, such as those of a softmax with two equal scores:
        two draws say too little of one of them, so that the most unstable row counts for all.
        """
        if not four.noisy:
            return None
        draws = [self._error("noise", y, four.oracle, scale, errors) for y in four.noisy]
        noise = torch.stack(draws).amax(dim=0)
        if not self.tolerance.scaled:
            return noise
        shares = torch.where(scale > 0, noise / scale.clamp_min(_TINY), 0.0)
        return torch.maximum(noise, scale * shares.max())

    def _error(
        self, whose: str, result: torch.Tensor, oracle: torch.Tensor, scale: torch.Tensor,
        errors: Errors,
    ) -> torch.Tensor:  # fmt: skip
        """The largest error in each row."""
        gap = (result - oracle).abs().nan_to_num_(0.0, 0.0, 0.0)
        _add(errors, whose, gap, scale)
        return gap.amax(dim=1, keepdim=True)

    def _least(self) -> float:
        """What a value of almost zero may be off: subnormals may be flushed."""
        info = torch.finfo(self.dtype)
        if self.dtype in (torch.float32, torch.bfloat16, torch.float64):
            return float(info.smallest_normal)
        return 2.0 * float(info.smallest_normal) * float(info.eps)

    def _same_special(self, four: Four, rounded: torch.Tensor) -> torch.Tensor:
        """NaN and infinities where the oracle or the original has them, or at the very edge."""
        actual, base = four.actual, four.base
        same = (torch.isnan(rounded) & torch.isnan(actual)) | (rounded == actual)
        edge = float(torch.finfo(self.dtype).max) * (1 - _EDGE * self.eps)
        near = (four.oracle.abs() >= edge) & (actual.abs() >= edge)
        same |= near & (actual.sign() == four.oracle.sign())
        if base is not None:
            close = (actual - base).abs() <= self.tolerance.atol + self.tolerance.rtol * base.abs()
            close &= torch.isfinite(base)
            same |= (torch.isnan(base) & torch.isnan(actual)) | (base == actual) | close
        return same

    def _gather(
        self, gap: torch.Tensor, size: torch.Tensor, scale: torch.Tensor, errors: Errors
    ) -> None:
        # A relative error says nothing of values that are zero within the absolute tolerance.
        atol = self.tolerance.atol
        ratio = torch.where(size > atol, gap / size.clamp_min(_TINY), 0.0)
        largest, relative = torch.stack([gap.max(), ratio.max()]).tolist()
        errors.largest = max(errors.largest, largest)
        errors.relative = max(errors.relative, relative)
        errors.count += gap.numel()
        _add(errors, "actual", gap, scale)
        errors.squares["size"] = errors.squares.get("size", 0.0) + float(
            (size / scale.clamp_min(_TINY)).square().sum()
        )

    def whole(self, errors: Errors) -> tuple[bool, float]:
        """(whether the output as a whole is no worse than before, the limit of its rms error)."""
        limit = E * self._own(errors) + B * errors.mean("noise") + D * self.unit
        return self.few or errors.mean("actual") <= limit, limit

    def ratio(self, errors: Errors) -> float:
        """How many times the original's error the candidate's is."""
        error = errors.mean("actual")
        return error / max(self._own(errors), _TINY) if error else 0.0

    def _own(self, errors: Errors) -> float:
        """The original's rms error, at least what rounding to the output's dtype leaves."""
        return max(errors.mean("base"), _ROUNDING * self.eps * errors.mean("size"))


def _strange(base: torch.Tensor, rounded: torch.Tensor) -> int:
    """How many NaN and infinities only one of the original and the oracle has."""
    alike = (torch.isnan(base) & torch.isnan(rounded)) | (base == rounded)
    return int((~alike & ~(torch.isfinite(base) & torch.isfinite(rounded))).sum())


def _add(errors: Errors, whose: str, gap: torch.Tensor, scale: torch.Tensor) -> None:
    """Take errors into account, relative to their rows; of two noises the larger one counts."""
    relative = torch.where(scale > 0, gap / scale.clamp_min(_TINY), 0.0)
    squares, highest = torch.stack([relative.square().sum(), relative.max()]).tolist()
    errors.squares[whose] = errors.squares.get(whose, 0.0) + squares
    errors.highest[whose] = max(errors.highest.get(whose, 0.0), highest)
    sample = relative.reshape(-1)[:: errors.step].float()
    errors.samples.setdefault(whose, []).append(sample)
