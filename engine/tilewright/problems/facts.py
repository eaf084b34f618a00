"""Facts that a spec states of its inputs: what the inputs of every check keep to."""

from collections.abc import Iterator, Mapping

from tilewright.problems.model import Case, Facts
from tilewright.problems.nodes import SpecNode

_TRUTHS = ("contiguous", "finite", "nonnegative", "sorted", "unique")
_LARGEST_ALIGN = 128
_SAID = {
    "contiguous": "it had no padding between rows",
    "finite": "it had no infinities and no NaN",
    "nonnegative": "it had no negative number",
    "sorted": "its numbers ascended",
    "unique": "no number came twice",
}


def facts_of(node: SpecNode | None, name: str, *, is_integer: bool) -> Facts:
    """An input's ``facts``. Raises ProblemError with the line."""
    if node is None:
        return Facts()
    found: dict[str, bool | int] = {}
    for key, value in node.fields(f"'facts' of '{name}'").items():
        if key == "align":
            found[key] = _align(value, name)
        elif key in _TRUTHS:
            found[key] = _truth(value, key, name)
        else:
            known = ", ".join(("align", *_TRUTHS))
            value.fail(f"unknown fact '{key}' of '{name}'; there are {known}")
        if key == "unique" and found[key] and not is_integer:
            value.fail(f"'unique' is a fact of integers, which '{name}' is not of")
    return Facts(**found)  # type: ignore[arg-type]


def _align(node: SpecNode, name: str) -> int:
    value = node.scalar()
    is_power = isinstance(value, int) and value > 0 and value & (value - 1) == 0
    if isinstance(value, bool) or not isinstance(value, int) or not is_power:
        node.fail(f"'align' of '{name}' is a number of bytes, a power of two such as 16")
    if value > _LARGEST_ALIGN:
        node.fail(f"'align' of '{name}' is {value}; {_LARGEST_ALIGN} bytes is the most")
    return value


def _truth(node: SpecNode, key: str, name: str) -> bool:
    value = node.scalar()
    if not isinstance(value, bool):
        node.fail(f"'{key}' of '{name}' is true or false, not {value!r}")
    return value


def multiples_of(node: SpecNode | None) -> dict[str, int]:
    """A spec's ``multiples``: what dimensions are always multiples of."""
    if node is None:
        return {}
    found = {}
    for name, value in node.fields("'multiples'").items():
        number = value.scalar()
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            value.fail(f"'{name}' is always a multiple of a whole number above 0; give that")
        found[name] = number
    return found


def sentences(cases: Mapping[str, tuple[Case, ...]]) -> tuple[str, ...]:
    """What checks kept to as the spec states it, for a certificate."""
    told = dict.fromkeys(
        sentence
        for several in cases.values()
        for case in several
        for one in case.inputs
        for sentence in _of_input(one.name, one.facts)
    )
    return tuple(told)


def _of_input(name: str, facts: Facts) -> Iterator[str]:
    where = "in every check, as the spec states"
    if facts.align:
        yield f"{name} began at a multiple of {facts.align} bytes, as its rows did, {where}"
    for key, text in _SAID.items():
        if getattr(facts, key):
            yield f"of {name}, {text} {where}"
