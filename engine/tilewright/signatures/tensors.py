"""Element types that host code states for the tensors it makes and passes."""

import ast
from collections.abc import Mapping

from tilewright.source.names import Names

TRITON_NAMES = {
    "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32", "float": "fp32",
    "float64": "fp64", "double": "fp64", "int8": "i8", "int16": "i16", "int32": "i32",
    "int": "i32", "int64": "i64", "long": "i64", "bool": "i1", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5",
    "float8e4nv": "fp8e4nv", "float8e5": "fp8e5", "int1": "i1",
}  # fmt: skip
_FLOAT_BY_DEFAULT = frozenset({"empty", "zeros", "ones", "rand", "randn"})
_COUNTING = frozenset({"arange", "randint"})
_LIKE = frozenset({"empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "clone"})
_CONVERTING = frozenset({"half", "bfloat16", "float", "double", "int", "long", "bool"})
_DEEPEST = 12


class TensorReader:
    """Reads element types off expressions; ``assigned`` are the names' last values."""

    def __init__(self, names: Names, assigned: Mapping[str, ast.expr]) -> None:
        self._names = names
        self._assigned = assigned

    def type_named(self, node: ast.expr) -> str | None:
        """``tl.float32`` and ``torch.float32`` as a constexpr of a launch; None for others."""
        dotted = self._names.resolve(node) or ""
        head, _, last = dotted.rpartition(".")
        if head in ("triton.language", "torch") and last in TRITON_NAMES:
            return f"triton.dtype:{TRITON_NAMES[last]}"
        return None

    def dtype(self, node: ast.expr, depth: int = 0) -> str | None:
        """The element type of a tensor, as Triton names it; None if nothing states it."""
        if depth > _DEEPEST:
            return None
        match node:
            case ast.Name(id=name) if name in self._assigned:
                value = self._assigned[name]
                reader = self._without_name(name) if mentions(value, name) else self
                return reader.dtype(value, depth + 1)
            case ast.Call():
                return self._call_result(node, depth)
            case ast.IfExp():
                return self.dtype(node.body, depth + 1) or self.dtype(node.orelse, depth + 1)
            case ast.Subscript(value=value) | ast.Attribute(value=value, attr="T"):
                return self.dtype(value, depth + 1)
        return None

    def _without_name(self, name: str) -> "TensorReader":
        """Of ``x = x.to(...)``: of the x on the right, its last value says nothing."""
        others = {known: value for known, value in self._assigned.items() if known != name}
        return TensorReader(self._names, others)

    def _call_result(self, call: ast.Call, depth: int) -> str | None:
        """What a call returns: a new tensor, or one made from another."""
        given = next((k.value for k in call.keywords if k.arg == "dtype"), None)
        if given is not None:
            return self._of_type(given, depth)
        if not isinstance(call.func, ast.Attribute):
            return None
        name, owner = call.func.attr, call.func.value
        is_torch = self._names.resolve(owner) == "torch"
        if is_torch:
            return self._of_torch(name, call, depth)
        if name in _CONVERTING:
            return TRITON_NAMES[name]
        if name == "to" and call.args:
            return self._of_type(call.args[0], depth) or self.dtype(owner, depth + 1)
        return self.dtype(owner, depth + 1) if not name.startswith("new_") else None

    def _of_torch(self, name: str, call: ast.Call, depth: int) -> str | None:
        if name in _FLOAT_BY_DEFAULT:
            return "fp32"
        if name in _COUNTING:
            return "i64"
        if name in _LIKE and call.args:
            return self.dtype(call.args[0], depth + 1)
        return None

    def _of_type(self, node: ast.expr, depth: int) -> str | None:
        named = self.type_named(node)
        if named is not None:
            return named.partition(":")[2]
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            return self.dtype(node.value, depth + 1)
        if isinstance(node, ast.Name) and node.id in self._assigned:
            return self._of_type(self._assigned[node.id], depth + 1) if depth < _DEEPEST else None
        return None


def mentions(node: ast.expr, name: str) -> bool:
    """Whether a name stands in an expression, as in ``x = x.view(...)``."""
    return any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(node))
