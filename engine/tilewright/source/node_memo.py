"""Results that are kept with the syntax node that they follow from, and live as long as it does."""

import ast
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

N = TypeVar("N", bound=ast.AST)
S = TypeVar("S", bound=ast.stmt)
T = TypeVar("T")
_PLACE = "tilewright_memo"
_NOTHING = object()
_OF_TEXT = "text"


class _Memo(dict[object, Any]):
    """What is kept with one node. A copy of the node is another node: it gets an empty one."""

    def __reduce__(self) -> tuple[type["_Memo"], tuple[()]]:
        return _Memo, ()


def memo_of(node: ast.AST) -> dict[object, Any]:
    """The table of a node. Nodes are never changed once a file is parsed."""
    found = getattr(node, _PLACE, None)
    if found is None:
        found = _Memo()
        setattr(node, _PLACE, found)
    return cast("dict[object, Any]", found)


def text_memo_of(statement: ast.stmt) -> dict[object, Any]:
    """The table of a statement at module level for what follows from its text alone.

    It holds no nodes and no lines: versions of a file share it where the statement has only moved.
    """
    # Asked several times for each statement at each edit.
    memo: dict[object, Any] = statement.__dict__.get(_PLACE) or memo_of(statement)
    found: dict[object, Any] = memo.get(_OF_TEXT, memo)
    return found


def share_text_memo(statement: ast.stmt, memo: dict[object, Any]) -> None:
    """Give a statement the table of one with the same text."""
    memo_of(statement)[_OF_TEXT] = memo


def per_text(function: Callable[[S], T]) -> Callable[[S], T]:
    """Keep a result with the text of a statement: it must hold no node and no line."""
    return _memoized(function, text_memo_of)


def per_node(function: Callable[[N], T]) -> Callable[[N], T]:
    """Keep a result with its node: it must follow from the node and what is in it alone."""
    return _memoized(function, memo_of)


def _memoized(
    function: Callable[[N], T], memo_for: Callable[[N], dict[object, Any]]
) -> Callable[[N], T]:
    @wraps(function)
    def memoized(node: N) -> T:
        memo = memo_for(node)
        found = memo.get(function, _NOTHING)
        if found is _NOTHING:
            found = memo[function] = function(node)
        return cast("T", found)

    return memoized
