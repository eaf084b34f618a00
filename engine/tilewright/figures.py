"""Figures in words, as every part of the program writes them."""

from collections.abc import Sequence

NOT_MEASURED = "not measured"
_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def scaled(value: float, unit: str) -> str:
    """ "3.12 TB/s" of 3.12e12 and "B/s"."""
    for step, prefix in _STEPS:
        if abs(value) >= step:
            return f"{value / step:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def size(count: float) -> str:
    """Bytes, in powers of ten."""
    return scaled(count, "B")


def rate(count: float) -> str:
    """Bytes a second."""
    return scaled(count, "B/s")


def speed(count: float) -> str:
    """Operations a second."""
    return scaled(count, "FLOP/s")


def time(us: float) -> str:
    """Microseconds, or milliseconds from ten thousand on."""
    return f"{us / 1e3:.4g} ms" if us >= 1e4 else f"{us:.4g} us"


def percent(share: float) -> str:
    """A share, 0 to 1, as a percentage without needless digits."""
    value = 100.0 * share
    return f"{value:.0f} %" if value >= 9.95 or value == 0 else f"{value:.1f} %"


def counted(number: int, one: str, many: str = "") -> str:
    """``1 kernel``, ``3 kernels``; ``many`` where the plural is not the noun with an s."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def lines(numbers: tuple[int, ...]) -> str:
    """ "line 4", "lines 4, 9 and 12"."""
    return f"line{'s' * (len(numbers) > 1)} {enumerated([*map(str, numbers)])}"


def enumerated(names: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def speedup(speed: float | None) -> str:
    """``1.94×``, or that nothing was timed."""
    return NOT_MEASURED if speed is None else f"{speed:.2f}×"


def ratio(value: float, low: float, high: float, digits: int = 2) -> str:
    """``1.94x [1.93, 1.94]``."""
    return f"{value:.{digits}f}x [{low:.{digits}f}, {high:.{digits}f}]"


def detectable(gain: float) -> str:
    """The least gain that a comparison would have shown, 0.03 for 3 %."""
    return f"minimum detectable speed-up: {100 * gain:.1f} %"


def kibibytes(count: int) -> str:
    """Bytes, in KiB from 1 KiB on."""
    return f"{count} B" if count < 1024 else f"{count / 1024:g} KiB"


def time_text(microseconds: float) -> str:
    """Microseconds in the unit a person would choose, three digits."""
    for limit, unit, scale in ((1e3, "µs", 1.0), (1e6, "ms", 1e3)):
        if microseconds < limit:
            return f"{microseconds / scale:.3g} {unit}"
    return f"{microseconds / 1e6:.3g} s"


def seconds_text(seconds: float | None) -> str:
    """``0.42 s``, ``3 min 05 s``; empty where nothing was timed."""
    if not seconds:
        return ""
    if seconds < 0.01:
        return "under 10 ms"
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"
