"""Sizes of the extents of a draft: ordinary ones, and those that kernels forget."""

from collections.abc import Sequence

_ORDINARY = (64, 128, 32, 16, 256)
_LEADING = (4, 2, 8)
_ODD = (37, 101, 53, 29, 75)
_ODD_LEADING = (3, 5, 7)
LARGE = 2100


def ordinary(
    symbols: Sequence[str], leading: frozenset[str], *, turned: bool = False
) -> dict[str, int]:
    """Powers of two, another one each; ``turned``: in the opposite order of sizes.

    Args:
        leading: those that only stand before the last two axes, and are small.
    """
    return _sized(symbols, leading, _ORDINARY, _LEADING, turned=turned)


def odd(symbols: Sequence[str], leading: frozenset[str]) -> dict[str, int]:
    """No multiples of a block."""
    return _sized(symbols, leading, _ODD, _ODD_LEADING, turned=False)


def _sized(
    symbols: Sequence[str], leading: frozenset[str], usual: Sequence[int],
    small: Sequence[int], *, turned: bool,
) -> dict[str, int]:  # fmt: skip
    found: dict[str, int] = {}
    for pool, several in (
        (usual, [s for s in symbols if s not in leading]),
        (small, [s for s in symbols if s in leading]),
    ):
        sizes = [pool[at % len(pool)] for at in range(len(several))]
        if turned:
            ranks = sorted(range(len(sizes)), key=lambda at: sizes[at])
            exchanged = dict(zip(ranks, reversed([sizes[at] for at in ranks]), strict=True))
            sizes = [exchanged[at] for at in range(len(sizes))]
        found.update(zip(several, sizes, strict=True))
    return found
