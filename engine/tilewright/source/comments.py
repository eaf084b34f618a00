"""The comments of a text, also of one that does not parse."""

from dataclasses import dataclass
from functools import cache

import tree_sitter_python
from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser

from tilewright.source.text import LineIndex, Range


@dataclass(frozen=True)
class Comment:
    """A comment with its ``#``; ``stands_alone`` if nothing is before it on its line."""

    text: str
    range: Range
    stands_alone: bool


def comments(index: LineIndex) -> tuple[Comment, ...]:
    """Every comment, in order; a ``#`` within a string is none."""
    found: list[Comment] = []
    pending: list[Node] = [Parser(_grammar()).parse(index.text.encode(errors="replace")).root_node]
    while pending:
        node = pending.pop()
        if node.type == "comment":
            found.append(_comment(index, node))
        pending.extend(node.children)
    return tuple(sorted(found, key=lambda comment: comment.range))


def _comment(index: LineIndex, node: Node) -> Comment:
    # tree-sitter counts "\n" only; an offset is the same for both.
    offset = len(index.text.encode(errors="replace")[: node.start_byte].decode(errors="ignore"))
    line = index.line_at(offset)
    content = index.lines[line - 1]
    column = offset - index.starts[line - 1]
    where = Range(line, column, line, len(content))
    return Comment(content[column:].rstrip(), where, not content[:column].strip())


@cache
def _grammar() -> Grammar:
    return Grammar(tree_sitter_python.language())
