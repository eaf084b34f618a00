"""Gaps of a spec that was drafted from a file: places that a person has to fill in."""

from collections.abc import Iterator

import yaml

from tilewright.figures import counted
from tilewright.problems.nodes import SpecNode

GAP = "FILL_IN"
"""Stands where the file that a spec was drafted from says nothing."""


def refuse_gaps(root: SpecNode) -> None:
    """Raises ProblemError at the first gap, with how many there are."""
    found = sorted({node.start_mark.line: node for node in _gaps(root.node, set())}.items())
    if found:
        lines = counted(len(found), "line")
        node = SpecNode(found[0][1], root.path)
        node.fail(f"{lines} of this spec have {GAP} in the place of what only you know; this one")


def _gaps(node: yaml.Node, seen: set[int]) -> Iterator[yaml.Node]:
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        if node.value == GAP:
            yield node
        return
    for child in node.value if isinstance(node, yaml.CollectionNode) else ():
        for inner in child if isinstance(child, tuple) else (child,):
            yield from _gaps(inner, seen)
