"""Whether two values are the same expression up to which loop they count in."""

from collections.abc import Mapping

from tilewright.analysis.values import Value


def same_form(one: Value, two: Value, loops: Mapping[int, int], depth: int = 0) -> bool:
    """Whether ``two`` is ``one`` with the index of each loop replaced as ``loops`` says."""
    if one is two:
        return True
    if depth > 60 or one.op != two.op or len(one.operands) != len(two.operands):
        return False
    if one.op == "loop_index":
        if loops.get(int(one.detail or 0)) != two.detail:
            return False
    elif (
        one.detail != two.detail
        or one.keywords != two.keywords
        or one.op in ("opaque", "load", "phi", "after")
    ):
        return False
    return all(
        same_form(a, b, loops, depth + 1) for a, b in zip(one.operands, two.operands, strict=True)
    )
