"""Dataclasses to JSON values and back, for the store, the worker and the command line."""

from typing import Any, TypeVar

from pydantic import TypeAdapter

T = TypeVar("T")

_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def dump(value: Any) -> Any:
    """A JSON value (dicts, lists, strings, numbers) of a dataclass of this package."""
    return _adapter(type(value)).dump_python(value, mode="json")


def load(kind: type[T], data: Any) -> T:
    """The dataclass that ``dump`` made ``data`` from; raises ``pydantic.ValidationError``."""
    value: T = _adapter(kind).validate_python(data)
    return value
