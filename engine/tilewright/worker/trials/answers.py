"""Checks of a runner's answers: an answer of another shape is refused when it is read.

A candidate shares its process with the runner and may write what it likes. Whatever passes here
can be used without a look at each field, so that what goes wrong later is the coordinator's own
fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..messages.parts import Entries
    from ..messages.trial import Called, Facts, Repeated

_PLAIN = (int, float, bool, str, type(None))


@dataclass(frozen=True)
class Fields:
    """An object with these fields; others are let pass."""

    needed: Mapping[str, Any] = field(default_factory=dict)
    optional: Mapping[str, Any] = field(default_factory=dict)


_TENSOR = Fields(
    {"name": str, "file": str, "dtype": str, "offset": int, "shape": [int], "strides": [int]}
)
_FACTS = Fields(
    optional={
        "launches": {str: Fields({"count": int, "programs": int, "file": str})},
        "operators": {str: Fields({"calls": int, "bytes": int, "where": str})},
        "made": {str: str}, "events": {str: str}, "kept": {str: int},
        "aside": int, "threads": int, "native_threads": int,
        "settings": [str], "replaced": [str], "state": [str], "unseen": [str], "shared": [str],
    }
)  # fmt: skip
_REACHED = [Fields({"inputs": [str], "lines": [str], "changes": bool})]
_UNWRITTEN = Fields({"name": (str, type(None)), "text": str, "elements": int, "lines": [str]})
_PART = Fields({"tensor": int, "memory": str, "dtype": str, "partitions": int, "free": int})
_INSTRUCTION = Fields(
    {
        "op": str, "engine": str, "count": int, "line": int, "partitions": int, "free": int,
        "reads": [_PART], "writes": [_PART],
    },
    {
        **dict.fromkeys(("k", "m", "n", "distinct", "kept", "bytes"), int),
        **dict.fromkeys(("transpose", "transpose_x", "accumulate"), bool),
    },
)  # fmt: skip
_CALL = Fields(
    {"outputs": [object], "changed_inputs": [object], "output_tree": dict, "inputs_changed": [str]},
    {
        "facts": (dict, type(None)), "configs": {str: int}, "caveats": [str],
        "seconds": (int, float), "launches": {str: int},
        "interpreted": Fields({"programs": int, "steps": int, "alone": {str: str}}),
        "out_of_bounds": [str], "out_of_bounds_lines": [[str]], "races": [str],
        "races_lines": [[str]], "unwritten": [_UNWRITTEN], "stored_inputs": _REACHED,
        "loaded_inputs": _REACHED,
        "instructions": [_INSTRUCTION],
        "kernel_faults": [Fields({"kind": str, "severity": str, "message": str, "line": int})],
    },
)  # fmt: skip
_REPEATED = Fields(
    {"first": [object], "second": [object], "third": [object], "calls": int, "facts": dict}
)


def of_call(reply: Called) -> Called:
    """The answer to ``call``. Raises ValueError."""
    _needs(reply, _CALL, "the answer")
    manifest(reply["outputs"], "outputs")
    manifest(reply["changed_inputs"], "changed_inputs")
    manifest(reply.get("state") or [], "state")
    tree(reply["output_tree"])
    facts(reply.get("facts") or {})
    return reply


def of_repeat(reply: Repeated) -> Repeated:
    """The answer to ``repeat``. Raises ValueError."""
    _needs(reply, _REPEATED, "the answer")
    manifest(reply["first"], "first")
    manifest(reply["second"], "second")
    manifest(reply["third"], "third")
    facts(reply["facts"])
    return reply


def facts(told: Any) -> Facts:
    """What a version was seen doing. Raises ValueError."""
    _needs(told, _FACTS, "facts")
    found: Facts = told
    return found


def tree(told: Any) -> None:
    """The containers that outputs came in (``tensors.flatten``). Raises ValueError."""
    _needs(told, Fields({"kind": str}, {"items": [object], "keys": [str]}), "output_tree")
    if told["kind"] in ("tuple", "list", "dict"):
        _needs(told, Fields({"items": [object]}), "output_tree")
    if told["kind"] == "dict" and len(told.get("keys") or ()) != len(told["items"]):
        raise ValueError("output_tree has other keys than items")
    for item in told.get("items") or ():
        tree(item)


def manifest(told: Any, name: str) -> Entries:
    """Values, and the files of tensors. Raises ValueError."""
    _needs(told, [dict], name)
    for entry in told:
        shape = _TENSOR if isinstance(entry, dict) and "file" in entry else Fields({"name": str})
        _needs(entry, shape, name)
        if not isinstance(entry.get("value"), _PLAIN):
            raise ValueError(f"{name} has a value that is none")
    found: Entries = told
    return found


def _needs(value: Any, shape: Any, name: str) -> None:
    wrong = _wrong(value, shape, name)
    if wrong is not None:
        raise ValueError(f"{wrong} is not what it should be")


def _wrong(value: Any, shape: Any, name: str) -> str | None:
    """The first part of a value that is of another shape."""
    if isinstance(shape, Fields):
        return _wrong_field(value, shape, name)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return name
        inner = (_wrong(item, shape[0], f"{name}[{at}]") for at, item in enumerate(value))
        return next((told for told in inner if told), None)
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return name
        (each,) = shape.values()
        inner = (_wrong(item, each, f"{name}[{key!r}]") for key, item in value.items())
        return next((told for told in inner if told), None)
    return None if isinstance(value, shape) else name


def _wrong_field(value: Any, shape: Fields, name: str) -> str | None:
    if not isinstance(value, dict):
        return name
    missing = next((key for key in shape.needed if key not in value), None)
    if missing is not None:
        return f"{name}.{missing}"
    known = {**shape.needed, **shape.optional}
    inner = (
        _wrong(value[key], part, f"{name}.{key}") for key, part in known.items() if key in value
    )
    return next((told for told in inner if told), None)
