"""What a kernel's parameters are used for, read from its text."""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tilewright.analysis.flow import flow_of
from tilewright.analysis.values import Flow, Value, walk
from tilewright.signatures.names import BITS, FLOAT, INDEX, POINTER, STRIDE
from tilewright.source.model import Kernel, Module

Literal = int | float | str | bool
_DEEPEST = 3
_SHAPING = tuple(
    f"triton.language.{name}" for name in ("zeros", "full", "reshape", "view", "broadcast_to")
)
_BITWISE = ("BitAnd", "BitOr", "BitXor", "LShift", "RShift")
_WHOLE = ("Mod", "FloorDiv")
_ADDRESSING = ("load", "store", "make_block_ptr", "make_tensor_descriptor")
_CONVERTING = ("to", "cast", "pointer_type")


class Role(StrEnum):
    """What a parameter that is no constexpr is to the kernel."""

    POINTER = "pointer"
    INDEX_POINTER = "pointer to indices"
    BITS_POINTER = "pointer to packed bits"
    FLAG_POINTER = "pointer to flags"
    DESCRIPTOR = "tensor descriptor"
    INTEGER = "integer"
    FLOAT = "float"


POINTERS = frozenset({Role.POINTER, Role.INDEX_POINTER, Role.BITS_POINTER, Role.FLAG_POINTER})


@dataclass(frozen=True)
class Roles:
    """Roles of parameters, and what constexprs are used as.

    Attributes:
        parameters: the role of each parameter that is no constexpr.
        sizes: parameters that extents of tiles are computed from.
        tests: parameters that are a condition by themselves.
        types: parameters used as an element type.
        compared: constants that a parameter is compared with.
        multiplied: pointers whose elements become operands of ``tl.dot``.
        unrolled: parameters that turns of unrolled loops are counted with.
    """

    parameters: Mapping[str, Role]
    sizes: frozenset[str]
    tests: frozenset[str]
    types: frozenset[str]
    compared: Mapping[str, tuple[Literal, ...]]
    multiplied: frozenset[str]
    unrolled: frozenset[str]

    def is_pointer(self, name: str) -> bool:
        return self.parameters.get(name) in POINTERS


@dataclass(frozen=True)
class _Handed:
    """A parameter that is handed on to a parameter of another function of the file."""

    own: str
    there: str
    roles: Roles


def roles_of(module: Module, kernel: Kernel, depth: int = 0) -> Roles:
    """The roles of a kernel's parameters, by itself and in the functions it hands them on to."""
    flow = flow_of(module, kernel)
    handed = list(_handed_on(module, kernel, depth))

    def also(wanted: str) -> frozenset[str]:
        return frozenset(h.own for h in handed if h.there in getattr(h.roles, wanted))

    inherited = {h.own: h.roles.compared[h.there] for h in handed if h.there in h.roles.compared}
    return Roles(
        _parameters(kernel, flow, handed),
        _sizes(flow) | also("sizes"),
        tested(kernel.node) | also("tests"),
        used_as_types(kernel.node) | also("types"),
        {**inherited, **compared(kernel.node, module.tree)},
        _multiplied(flow) | also("multiplied"),
        _unrolled(flow) | also("unrolled"),
    )


def _parameters(kernel: Kernel, flow: Flow, handed: list[_Handed]) -> dict[str, Role]:
    pointers = {a.base for a in flow.accesses if a.base} | pointed_at(kernel.node)
    pointers |= addressed(kernel.node) & {p.name for p in kernel.parameters}
    pointers |= {h.own for h in handed if h.roles.is_pointer(h.there)}
    addressing = _addressing(flow)
    bits = _loaded_from(_operands(flow, _BITWISE))
    indices = _loaded_from(addressing) | _loaded_from(_operands(flow, _WHOLE))
    indices |= {h.own for h in handed if h.roles.parameters.get(h.there) == Role.INDEX_POINTER}
    bits |= {h.own for h in handed if h.roles.parameters.get(h.there) == Role.BITS_POINTER}
    flags = _loaded_from([a.mask for a in flow.accesses if a.mask is not None])
    used = {str(v.detail) for v in addressing if v.op == "param"}
    found = {
        p.name: _role(p.name, pointers, indices, bits, flags, used)
        for p in kernel.parameters
        if not p.is_constexpr
    }
    return found | dict.fromkeys(descriptors(kernel.node) & found.keys(), Role.DESCRIPTOR)


def _role(
    name: str,
    pointers: set[str],
    indices: set[str],
    bits: set[str],
    flags: set[str],
    addressing: set[str],
) -> Role:
    if name in pointers or (POINTER.search(name) and name not in addressing - pointers):
        if name in indices or INDEX.search(name):
            return Role.INDEX_POINTER
        if name in bits:
            return Role.BITS_POINTER
        return Role.FLAG_POINTER if name in flags and BITS.search(name) else Role.POINTER
    if name in addressing or STRIDE.search(name):
        return Role.INTEGER
    return Role.FLOAT if FLOAT.search(name) else Role.INTEGER


def _addressing(flow: Flow) -> list[Value]:
    """Every value that an address or a loop bound is computed from."""
    roots = [a.pointer for a in flow.accesses]
    roots += [bound for loop in flow.loops.values() for bound in loop.bounds or ()]
    return list({id(value): value for root in roots for value in walk(root)}.values())


def _loaded_from(values: Iterable[Value]) -> set[str]:
    """The parameters that these values are loaded from."""
    found = set()
    for root in values:
        for value in [root] if root.op != "cast" else walk(root):
            if value.op == "load":
                base = _base(value.operands[0])
                found |= {base} if base else set()
    return found


def _base(pointer: Value) -> str | None:
    """The parameter that is the leftmost summand of an address."""
    for _ in range(30):
        if pointer.op == "param" or not pointer.operands:
            break
        pointer = pointer.operands[0]
    return str(pointer.detail) if pointer.op == "param" else None


def _operands(flow: Flow, operators: Collection[str]) -> list[Value]:
    """What these operators are applied to, and with bitwise ones what is inverted."""
    found: list[Value] = []
    for value in set(flow.values.values()):
        inverts = value.op == "unary" and value.detail == "Invert" and operators is _BITWISE
        if value.is_binary(*operators) or inverts:
            found += value.operands
    return found


def _multiplied(flow: Flow) -> frozenset[str]:
    """Pointers whose elements are operands of a matrix product."""
    found: set[str] = set()
    for value in set(flow.values.values()):
        if value.op == "dot":
            operands = (inner for one in value.positional[:2] for inner in walk(one))
            bases = (_base(inner.operands[0]) for inner in operands if inner.op == "load")
            found |= {base for base in bases if base}
    return frozenset(found)


def _unrolled(flow: Flow) -> frozenset[str]:
    static = (loop for loop in flow.loops.values() if loop.is_static)
    bounds = (bound for loop in static for bound in loop.bounds or ())
    return frozenset(str(v.detail) for bound in bounds for v in walk(bound) if v.op == "param")


def _sizes(flow: Flow) -> frozenset[str]:
    found = set()
    for value in set(flow.values.values()):
        if value.op == "arange" or value.is_call(*_SHAPING):
            for inner in value.positional[:2] if value.op == "call" else value.operands:
                found |= {str(v.detail) for v in walk(inner) if v.op == "param"}
    return frozenset(found)


def _handed_on(module: Module, kernel: Kernel, depth: int) -> Iterator[_Handed]:
    if depth > _DEEPEST:
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
            for own in leftmost(argument):
                if kernel.parameter(own) is not None:
                    yield _Handed(own, there, roles)


def pointed_at(node: ast.AST) -> set[str]:
    """``x`` of ``x.dtype.element_ty`` and of ``tl.make_tensor_descriptor(x, ...)``."""
    found = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(
                attr="element_ty", value=ast.Attribute(attr="dtype", value=ast.Name(id=name))
            ):
                found.add(name)
            case ast.Call(
                func=ast.Attribute(attr="make_tensor_descriptor"), args=[ast.Name(id=name), *_]
            ):
                found.add(name)
    return found


def descriptors(node: ast.AST) -> set[str]:
    """``x`` of ``x.load([...])`` and ``x.store([...], value)``."""
    found = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Call(func=ast.Attribute(attr="load" | "store", value=ast.Name(id=name))):
                found.add(name)
    return found


def addressed(node: ast.AST) -> set[str]:
    """Names that addresses are computed from, through the names that are given them."""
    given: dict[str, list[ast.expr]] = {}
    pending: set[str] = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                given.setdefault(name, []).append(value)
            case ast.Call(func=ast.Attribute(attr=attr), args=[address, *_]):
                if attr in _ADDRESSING or attr.startswith("atomic_"):
                    pending |= leftmost(address)
    found: set[str] = set()
    while pending:
        name = pending.pop()
        found.add(name)
        for value in given.get(name, ()):
            pending |= leftmost(value) - found
    return found


def leftmost(node: ast.expr) -> set[str]:
    """The name that an address starts with."""
    while True:
        match node:
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                node = node.left
            case ast.Call(func=ast.Attribute(attr="to", value=inner)):
                node = inner
            case ast.Call(func=ast.Attribute(attr="multiple_of" | "cast"), args=[inner, *_]):
                node = inner
            case ast.Name(id=name):
                return {name}
            case _:
                return set()


def tested(node: ast.AST) -> frozenset[str]:
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


def used_as_types(node: ast.AST) -> frozenset[str]:
    """Names given where an element type is wanted."""
    found = set()
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        given = [k.value for k in call.keywords if k.arg in ("dtype", "out_dtype")]
        if isinstance(call.func, ast.Attribute) and call.func.attr in _CONVERTING:
            given += call.args
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("zeros", "full"):
            given += call.args[1:]
        found |= {n.id for n in given if isinstance(n, ast.Name)}
    return frozenset(found)


def compared(node: ast.AST, tree: ast.Module) -> Mapping[str, tuple[int | float | str | bool, ...]]:
    """Names compared with constants, literal or of the module, and those constants."""
    known = _module_constants(tree)
    found: dict[str, list[int | float | str | bool]] = {}
    for inner in ast.walk(node):
        match inner:
            case ast.Compare(
                left=ast.Name(id=name), ops=[ast.Eq() | ast.NotEq()], comparators=[other]
            ):
                if isinstance(other, ast.Constant) and isinstance(other.value, int | float | str):
                    found.setdefault(name, []).append(other.value)
                for used in ast.walk(other):
                    if isinstance(used, ast.Name) and used.id in known:
                        found.setdefault(name, []).append(known[used.id])
    return {name: tuple(values) for name, values in found.items()}


def _module_constants(tree: ast.Module) -> dict[str, int | float | str]:
    """``NAME = 1`` and ``NAME: tl.constexpr = tl.constexpr(1)``."""
    found: dict[str, int | float | str] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        if isinstance(value, ast.Call) and len(value.args) == 1:
            value = value.args[0]
        if isinstance(value, ast.Constant) and isinstance(value.value, int | float | str):
            found[name] = value.value
    return found
