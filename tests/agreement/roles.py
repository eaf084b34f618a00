"""What a kernel's parameters are used for, read from its source: a guess that compiling checks."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.analysis.flow import flow_of
from tilewright.analysis.values import Flow, Value, walk
from tilewright.source.model import Kernel, Module

POINTER = "pointer"
INDEX_POINTER = "pointer to indices"
FLAG_POINTER = "pointer to flags"
DESCRIPTOR = "tensor descriptor"
INTEGER = "integer"
FLOAT = "float"

_POINTER_NAME = re.compile(r"(?i)(^|_)(ptrs?|pointers?)($|_)|ptr$|^ptr|^p_")
_INDEX_NAME = re.compile(
    r"(?i)idx|indic|index|_ids?($|_)|^ids?($|_)|label|target|seqlen|cu_seq|lens?_|_lens?($|_)"
    r"|table|slot|mapping|position|count|_loc($|_)|offsets?_ptr|permut|locks?$|lookback|counter|sorted_|chunk_ind|splits"
)
_FLAG_NAME = re.compile(r"(?i)mask|flag|^cond|condition")
_FLOAT_NAME = re.compile(
    r"(?i)^(eps|epsilon|scale|alpha|beta\d?|gamma|lr|p|prob|momentum|decay|factor|slope|lambd?a?"
    r"|threshold|tau|value|val|min|max|mini|maxi|low|high|mean|std|rate|temperature|softcap|c)$"
    r"|eps$|scale$|_scale|scale_|alpha|dropout|softcap|momentum|decay|smoothing|temperature"
    r"|^inv_|_lr$|^lr_|factor|threshold|slope|probab|gamma|weight_|_value$|^value_|_coef|coef_"
    r"|^sm_|_norm$|_mul$|rcp|_p$"
)
_ADDRESSING = ("load", "store", "make_block_ptr", "make_tensor_descriptor")
_BITS = ("BitAnd", "BitOr", "BitXor", "LShift", "RShift", "Mod", "FloorDiv")


@dataclass(frozen=True)
class Roles:
    """The role of each parameter, and of each constexpr what it is used as."""

    parameters: dict[str, str]
    sizes: frozenset[str]
    tests: frozenset[str]
    types: frozenset[str]
    compared: dict[str, tuple[int | float | str | bool, ...]]

    def is_pointer(self, name: str) -> bool:
        return self.parameters.get(name) in (POINTER, INDEX_POINTER, FLAG_POINTER)


def roles_of(module: Module, kernel: Kernel, depth: int = 0) -> Roles:
    """What the parameters of a kernel are for, by itself and in what it hands them on to."""
    flow = flow_of(module, kernel)
    handed = list(_handed_on(module, kernel, depth))
    pointers = {a.base for a in flow.accesses if a.base} | _pointed_at(kernel.node)
    pointers |= _addressed(kernel.node) & {p.name for p in kernel.parameters}
    pointers |= {own for own, there, roles in handed if roles.is_pointer(there)}
    addressing = _addressing(flow)
    indices = _loaded_from(addressing) | _loaded_from(_bit_operands(flow))
    indices |= {n for n, there, roles in handed if roles.parameters.get(there) == INDEX_POINTER}
    flags = _loaded_from([a.mask for a in flow.accesses if a.mask is not None])
    used = {str(v.detail) for v in addressing if v.op == "param"}
    parameters = {
        p.name: _role(p.name, pointers, indices, flags, used)
        for p in kernel.parameters
        if not p.is_constexpr
    }
    parameters |= dict.fromkeys(_descriptors(kernel.node) & parameters.keys(), DESCRIPTOR)
    compared = {
        own: roles.compared[there] for own, there, roles in handed if there in roles.compared
    }
    return Roles(
        parameters,
        _sizes(flow) | {own for own, there, roles in handed if there in roles.sizes},
        _tests(kernel.node) | {own for own, there, roles in handed if there in roles.tests},
        _types(kernel.node) | {own for own, there, roles in handed if there in roles.types},
        {**compared, **_compared(kernel.node)},
    )


def _role(
    name: str, pointers: set[str], indices: set[str], flags: set[str], addressing: set[str]
) -> str:
    if name in pointers or (_POINTER_NAME.search(name) and name not in addressing - pointers):
        if name in indices or _INDEX_NAME.search(name):
            return INDEX_POINTER
        return FLAG_POINTER if name in flags and _FLAG_NAME.search(name) else POINTER
    if name in addressing or "stride" in name.lower():
        return INTEGER
    return FLOAT if _FLOAT_NAME.search(name) else INTEGER


def _addressing(flow: Flow) -> list[Value]:
    """Every value that an address, a mask or a loop bound is computed from."""
    roots = [a.pointer for a in flow.accesses]
    roots += [bound for loop in flow.loops.values() for bound in loop.bounds or ()]
    seen: dict[int, Value] = {}
    for root in roots:
        for value in walk(root):
            seen[id(value)] = value
    return list(seen.values())


def _loaded_from(values: list[Value]) -> set[str]:
    """The parameters that these values are loaded from."""
    found = set()
    for root in values:
        for value in [root] if root.op != "cast" else walk(root):
            if value.op == "load":
                found |= {str(p.detail) for p in _additive(value.operands[0]) if p.op == "param"}
    return found


def _additive(pointer: Value) -> list[Value]:
    """The leftmost summands of an address: its base."""
    for _ in range(30):
        if pointer.op == "param" or not pointer.operands:
            break
        pointer = pointer.operands[0]
    return [pointer]


def _bit_operands(flow: Flow) -> list[Value]:
    found: list[Value] = []
    for value in set(flow.values.values()):
        if value.is_binary(*_BITS) or (value.op == "unary" and value.detail == "Invert"):
            found += value.operands
    return found


def _sizes(flow: Flow) -> frozenset[str]:
    """Parameters that extents of tiles are computed from."""
    found = set()
    for value in set(flow.values.values()):
        if value.op == "arange" or value.is_call(
            *(f"triton.language.{n}" for n in ("zeros", "full", "reshape", "view", "broadcast_to"))
        ):
            for inner in value.positional[:2] if value.op == "call" else value.operands:
                found |= {str(v.detail) for v in walk(inner) if v.op == "param"}
    return frozenset(found)


def _pointed_at(node: ast.AST) -> set[str]:
    """``x_ptr.dtype.element_ty`` and ``tl.make_tensor_descriptor(x_ptr, ...)``."""
    found = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(
                attr="element_ty", value=ast.Attribute(attr="dtype", value=ast.Name(id=x))
            ):
                found.add(x)
            case ast.Call(func=ast.Attribute(attr="make_tensor_descriptor"), args=[ast.Name(id=x)]):
                found.add(x)
    return found


def _descriptors(node: ast.AST) -> set[str]:
    """``desc.load([...])`` and ``desc.store([...], value)``."""
    found = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Call(func=ast.Attribute(attr="load" | "store", value=ast.Name(id=name))):
                found.add(name)
    return found


def _handed_on(module: Module, kernel: Kernel, depth: int) -> Iterator[tuple[str, str, Roles]]:
    """(name here, parameter there, roles there) of what is given to other functions of the file."""
    if depth > 3:
        return
    for call in ast.walk(kernel.node):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            continue
        helper = module.kernel(call.func.id)
        if helper is None or helper.name == kernel.name:
            continue
        roles = roles_of(module, helper, depth + 1)
        given = dict(zip([p.name for p in helper.parameters], call.args, strict=False))
        given.update({k.arg: k.value for k in call.keywords if k.arg})
        for there, argument in given.items():
            for own in _leftmost(argument):
                if kernel.parameter(own) is not None:
                    yield own, there, roles


def _addressed(node: ast.AST) -> set[str]:
    """Names that addresses are computed from, through the names that are given them."""
    given: dict[str, list[ast.expr]] = {}
    pending: set[str] = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                given.setdefault(name, []).append(value)
            case ast.Call(func=ast.Attribute(attr=attr), args=[address, *_]):
                if attr in _ADDRESSING or attr.startswith("atomic_"):
                    pending |= _leftmost(address)
    found: set[str] = set()
    while pending:
        name = pending.pop()
        found.add(name)
        for value in given.get(name, ()):
            pending |= _leftmost(value) - found
    return found


def _leftmost(node: ast.expr) -> set[str]:
    """The name an address starts with."""
    for _ in range(50):
        match node:
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                node = node.left
            case ast.Call(func=ast.Attribute(attr="to", value=inner)):
                node = inner
            case ast.Call(func=ast.Attribute(attr="multiple_of" | "cast"), args=[inner, *_]):
                node = inner
            case _:
                break
    return {node.id} if isinstance(node, ast.Name) else set()


def _tests(node: ast.AST) -> frozenset[str]:
    """Names that are a condition by themselves."""
    found = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.If | ast.IfExp | ast.While):
            found |= {n.id for n in _conditions(inner.test) if isinstance(n, ast.Name)}
    return frozenset(found)


def _conditions(test: ast.expr) -> list[ast.expr]:
    match test:
        case ast.BoolOp():
            return [part for value in test.values for part in _conditions(value)]
        case ast.UnaryOp(op=ast.Not()):
            return _conditions(test.operand)
    return [test]


def _types(node: ast.AST) -> frozenset[str]:
    """Names used as an element type."""
    found = set()
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        given = [k.value for k in call.keywords if k.arg in ("dtype", "out_dtype")]
        if isinstance(call.func, ast.Attribute) and call.func.attr in (
            "to",
            "cast",
            "pointer_type",
        ):
            given += call.args
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("zeros", "full"):
            given += call.args[1:]
        found |= {n.id for n in given if isinstance(n, ast.Name)}
    return frozenset(found)


def _compared(node: ast.AST) -> dict[str, tuple[int | float | str | bool, ...]]:
    """Names compared with constants, and those constants."""
    found: dict[str, list[int | float | str | bool]] = {}
    for inner in ast.walk(node):
        match inner:
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq() | ast.NotEq()], comparators=[c]):
                if isinstance(c, ast.Constant) and isinstance(c.value, int | float | str):
                    found.setdefault(name, []).append(c.value)
    return {name: tuple(values) for name, values in found.items()}
