"""What Triton's JIT would make of a launch's arguments: types, constants and attributes.

Paths are as the JIT has them: ``(2,)`` is the third parameter, ``(2, 0)`` the first item of a tuple
given for it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import triton

from ..loading import entry_point
from ..protocol import JobError

if TYPE_CHECKING:
    from ..messages.parts import Argument, Launch

FACTS = "triton.facts:"
_HIP_POINTER_RANGE = 2**31
_ITEM_BYTES = {"64": 8, "32": 4, "16": 2}
_UNSPECIALIZED = ("u1", "fp", "bf")

Path = tuple[int, ...]


class _Specialized:
    """The three tables that the compiler takes, as they fill."""

    def __init__(self, backend: str, module: Any) -> None:
        self._backend = backend
        self._module = module
        self.constants: dict[Path, Any] = {}
        self.attributes: dict[Path, Any] = {}

    def type_of(self, fact: Argument, path: Path, param: Any = None) -> Any:
        """An argument's type, noting its constants and attributes; a tuple's is a tuple."""
        if fact["kind"] == "tuple":
            items = json.loads(str(fact["value"]).removeprefix(FACTS))
            return tuple(self.type_of(item, (*path, at)) for at, item in enumerate(items))
        annotated = "" if param is None else param.annotation_type
        is_constant = fact["type"] == "constexpr" or _is_one(fact, param)
        if (param is not None and param.is_constexpr) or (is_constant and not annotated):
            self.constants[path] = decode(fact["value"], self._module)
            return "constexpr"
        never = param is not None and param.do_not_specialize
        told = [] if never else _attributes(fact, self._backend)
        if told and not annotated.startswith(_UNSPECIALIZED):
            self.attributes[path] = told
        return annotated or fact["type"]


def specialize(
    kernel: Any, launch: Launch, backend: str, module: Any
) -> tuple[dict[str, Any], dict[Path, Any], dict[Path, Any]]:
    """(signature, constants, attributes) as the JIT would derive them from the launch."""
    given = {fact["name"]: fact for fact in launch["arguments"]}
    signature: dict[str, Any] = {}
    found = _Specialized(backend, module)
    for index, param in enumerate(kernel.params):
        if param.name not in given:
            raise JobError(f"the launch gives {kernel.fn.__name__} no argument {param.name!r}")
        signature[param.name] = found.type_of(given[param.name], (index,), param)
    return signature, found.constants, found.attributes


def _is_one(fact: Argument, param: Any) -> bool:
    if fact["kind"] != "int" or fact["value"] != 1:
        return False
    return param is None or not param.do_not_specialize


def _attributes(fact: Argument, backend: str) -> list[list[Any]]:
    described: list[list[Any]] = []
    if fact.get("divisible_by_16"):
        described.append(["tt.divisibility", 16])
    is_small = fact["kind"] == "tensor" and _span(fact) < _HIP_POINTER_RANGE
    if backend == "hip" and fact["type"].startswith("*") and is_small:
        described.append(["tt.pointer_range", 32])
    return described


def _span(fact: Argument) -> int:
    size = next((size for bits, size in _ITEM_BYTES.items() if bits in fact["type"]), 1)
    dims = zip(fact.get("shape") or (), fact.get("strides") or (), strict=True)
    return size * (1 + sum((int(extent) - 1) * int(stride) for extent, stride in dims))


def decode(value: Any, module: Any) -> Any:
    """A constexpr from its JSON form; ``protocol`` lists the forms."""
    if not isinstance(value, str) or not value.startswith("triton."):
        return value
    kind, _, rest = value.removeprefix("triton.").partition(":")
    if kind == "dtype":
        return triton.language.dtype(rest)
    if kind == "jit":
        return entry_point.find_kernel(module, rest)
    if kind == "tuple":
        return tuple(decode(item, module) for item in json.loads(rest))
    raise JobError(f"a constexpr of type {rest} cannot be compiled from here")
