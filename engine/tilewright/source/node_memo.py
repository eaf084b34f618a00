"""Results that are kept with the syntax node that they follow from, and live as long as it does."""

import ast
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

N = TypeVar("N", bound=ast.AST)
T = TypeVar("T")
_PLACE = "tilewright_memo"
_NOTHING = object()


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


def per_node(function: Callable[[N], T]) -> Callable[[N], T]:
    """Keep a result with its node: it must follow from the node and what is in it alone."""

    @wraps(function)
    def asked(node: N) -> T:
        memo = memo_of(node)
        found = memo.get(function, _NOTHING)
        if found is _NOTHING:
            found = memo[function] = function(node)
        return cast("T", found)

    return asked
