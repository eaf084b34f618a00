"""The functions that an autotune list may call while it is evaluated, with bounded results."""

import itertools
import math
from collections.abc import Callable, Iterable, Sized
from typing import Any

MAX_ITEMS = 50_000
_LARGEST_POWER = 64


class Undecidable(Exception):  # noqa: N818 - an answer, not an error
    """The value cannot be derived from the text alone."""


def bounded(value: Any) -> Any:
    """``value``, or ``Undecidable`` if it has too many items."""
    if isinstance(value, Sized) and len(value) > MAX_ITEMS:
        raise Undecidable
    return value


def _range(*bounds: Any) -> Any:
    return bounded(range(*bounds))


def _product(*iterables: Iterable[Any], repeat: int = 1) -> list[Any]:
    pools = [list(pool) for pool in iterables]
    if repeat > _LARGEST_POWER or math.prod(map(len, pools)) ** repeat > MAX_ITEMS:
        raise Undecidable
    return list(itertools.product(*pools, repeat=repeat))


def _next_power_of_2(number: int) -> int:
    if not isinstance(number, int) or number < 1:
        raise Undecidable
    return 1 << (number - 1).bit_length()


def _cdiv(left: int, right: int) -> int:
    return -(-left // right)


def _chain(*iterables: Iterable[Any]) -> list[Any]:
    items = [item for iterable in iterables for item in iterable]
    bounded(items)
    return items


def _string(value: Any) -> str:
    if not isinstance(value, int | float | str):
        raise Undecidable
    return str(value)


CALLS: dict[str, Callable[..., Any]] = {
    "range": _range,
    "len": len,
    "min": min,
    "max": max,
    "sum": sum,
    "abs": abs,
    "any": any,
    "all": all,
    "list": list,
    "tuple": tuple,
    "set": lambda items=(): list(dict.fromkeys(items)),
    "int": int,
    "float": float,
    "bool": bool,
    "str": _string,
    "dict": dict,
    "sorted": sorted,
    "reversed": lambda items: list(reversed(items)),
    "enumerate": lambda items, start=0: list(enumerate(items, start)),
    "zip": lambda *items: list(zip(*items, strict=False)),
    "map": lambda call, *items: [call(*row) for row in zip(*items, strict=False)],
    "filter": lambda keep, items: [i for i in items if (i if keep is None else keep(i))],
    "itertools.product": _product,
    "itertools.chain": _chain,
    "itertools.chain.from_iterable": lambda items: _chain(*items),
    "math.prod": math.prod,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.log2": math.log2,
    "copy.copy": lambda value: value.copy(),
    "copy.deepcopy": lambda value: value.copy(),
    "triton.next_power_of_2": _next_power_of_2,
    "triton.cdiv": _cdiv,
}
"""By dotted name. What is not here is not called."""

METHODS: dict[type, frozenset[str]] = {
    list: frozenset(("append", "extend", "insert", "copy", "index", "count", "pop", "remove")),
    dict: frozenset(("get", "items", "keys", "values", "copy", "update", "pop", "setdefault")),
    tuple: frozenset(("index", "count")),
    str: frozenset(("startswith", "endswith", "lower", "upper")),
}
"""The methods that may be called, by the type of what they are called on."""


def call_method(owner: Any, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """``owner.name(...)`` of a plain container; a view becomes a list."""
    if name not in METHODS.get(type(owner), ()):
        raise Undecidable
    if name in ("extend", "update") and arguments and isinstance(arguments[0], Sized):
        bounded(arguments[0])
    value = getattr(owner, name)(*arguments, **keywords)
    bounded(owner)
    return list(value) if name in ("items", "keys", "values") else value
