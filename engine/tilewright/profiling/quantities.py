"""Numbers as people write them: three digits and a unit that fits."""

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


def lines(numbers: tuple[int, ...]) -> str:
    """ "line 4", "lines 4, 9 and 12"."""
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    return f"lines {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
