"""Rewinds of types: operands widened before a product, fp64, offsets of 32 bits."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.values import Flow, walk
from tilewright.rewrites.calls import local_name
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.rewinds.model import Rewind, Rewound
from tilewright.rewrites.rewinds.sites import (
    enclosed,
    is_load,
    loaded_base,
    pointers_of,
    tl_calls,
    with_types,
)
from tilewright.rewrites.scope import assignments, is_tl_call, only_value, tl_name
from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import ArgumentFacts, LaunchFacts

_SIDE = 65536
_PROGRAMS = (2**22, 65535, 65535)
_BLOCK = 1024
_Asks = ast.Compare | ast.Assert


def _upcasts(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    flow = flow_of(module, kernel)
    for call in tl_calls(module, kernel, "dot"):
        operands = call.args[:2]
        if len(operands) != 2 or not all(is_load(flow.values.get(o)) for o in operands):
            continue
        patch = Patch(module)
        float32 = local_name(module, "triton.language.float32")
        for operand in operands:
            patch.replace(operand, f"{enclosed(patch.source(operand), operand)}.to({float32})")
        line = patch.new_line(patch.span(call)[0])
        if all(loaded_base(flow.values[operand]) for operand in operands):
            half = with_types(context, kernel, pointers_of(flow), "fp16")
            yield Rewound(patch.apply(), line, half, "known types")
        states = {k.arg for k in call.keywords} & {"input_precision", "allow_tf32"}
        if not states and not _allocates_fp32(module, kernel):
            yield Rewound(patch.apply(), line, context, "unknown types")


def _allocates_fp32(module: Module, kernel: Kernel) -> bool:
    """Whether a launch is given a tensor that the host has just allocated in fp32."""
    return any(
        isinstance(node, ast.keyword)
        and node.arg == "dtype"
        and module.names.resolve(node.value) in ("torch.float32", "torch.float")
        for launch in module.launches_of(kernel.name)
        for argument in launch.arguments.values()
        for node in ast.walk(resolve(module, launch, argument))
    )


def _doubles(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    pointers = pointers_of(flow_of(module, kernel))
    named = kernel.name.lower()
    launched = bool(module.launches_of(kernel.name)) and not ("64" in named or "double" in named)
    for node, is_conditional in _float32s(module, kernel.node.body, False):
        patch = Patch(module)
        patch.replace(node, local_name(module, "triton.language.float64"))
        line = patch.new_line(patch.span(node)[0])
        if pointers:
            half = with_types(context, kernel, pointers, "fp16")
            yield Rewound(patch.apply(), line, half, "known types")
        if launched and not is_conditional:
            yield Rewound(patch.apply(), line, context, "unknown types")


def _float32s(
    module: Module, nodes: list[ast.stmt] | list[ast.AST], is_conditional: bool
) -> Iterator[tuple[ast.expr, bool]]:
    """``tl.float32`` where a type is given, not asked about; and whether under a condition."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and tl_name(module, node) == "float32":
            yield node, is_conditional
        elif isinstance(node, ast.Call) and any(k.arg == "bitcast" for k in node.keywords):
            continue
        elif isinstance(node, ast.If | ast.IfExp):
            if not _names_a_type(module, node.test):
                inner = [n for n in ast.iter_child_nodes(node) if n is not node.test]
                yield from _float32s(module, inner, True)
        elif not isinstance(node, _Asks):
            yield from _float32s(module, list(ast.iter_child_nodes(node)), is_conditional)


def _names_a_type(module: Module, test: ast.expr) -> bool:
    """Whether a condition is about types, so that its branches are each for some."""
    words = ast.unparse(test).lower()
    return any(word in words for word in ("type", "float", "fp", "double", "64", "precision"))


def _narrow_offsets(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    """``tl.program_id(0)`` without its cast, where products with it leave 32 bits."""
    flow = flow_of(module, kernel)
    for statement in ast.walk(kernel.node):
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(
                    func=ast.Attribute(value=ast.Call() as call, attr="to"), args=[kind]
                ),
            ):
                pass
            case _:
                continue
        axis = _axis(module, call)
        if axis is None or tl_name(module, kind) != "int64" or not only_value(kernel.node, name):
            continue
        product = next(_products(kernel, flow, name, axis), None)
        if product is not None:
            patch = Patch(module)
            patch.replace(statement.value, patch.source(call))
            facts = _large(kernel, flow, context)
            yield Rewound(patch.apply(), patch.new_line(patch.span(product)[0]), facts)


def _axis(module: Module, call: ast.Call) -> int | None:
    if not is_tl_call(module, call, "program_id"):
        return None
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "axis")]
    axis = given[0].value if given and isinstance(given[0], ast.Constant) else None
    return axis if isinstance(axis, int) and 0 <= axis < 3 else None


def _products(kernel: Kernel, flow: Flow, name: str, axis: int) -> Iterator[ast.BinOp]:
    """Products of the program id and a run-time integer, or a block, in an address."""
    addressed = {v for a in flow.accesses if a.base is not None for v in walk(a.pointer)}
    blocks = set(kernel.constexprs) if axis == 0 else set()
    integers = {p.name for p in kernel.parameters if _is_plain_integer(kernel, flow, p.name)}
    for node in ast.walk(kernel.node):
        match node:
            case ast.BinOp(left=ast.Name(id=a), op=ast.Mult(), right=ast.Name(id=b)):
                other = b if a == name else a if b == name else None
                if (
                    other in integers | (blocks & _lengths(flow))
                    and flow.values.get(node) in addressed
                ):
                    yield node


def _lengths(flow: Flow) -> set[str]:
    """Constexprs that are the length of an arange."""
    return {
        str(v.operands[1].detail)
        for v in flow.values.values()
        if v.op == "arange" and v.operands[1].op == "param"
    }


def _is_plain_integer(kernel: Kernel, flow: Flow, name: str) -> bool:
    """A parameter without annotation or cast that no pointer arithmetic starts from."""
    arguments = (*kernel.node.args.args, *kernel.node.args.kwonlyargs)
    argument = next((a for a in arguments if a.arg == name), None)
    return (
        argument is not None
        and argument.annotation is None
        and name not in pointers_of(flow)
        and not assignments(kernel.node, name)
    )


def _large(kernel: Kernel, flow: Flow, context: AnalysisContext) -> AnalysisContext:
    """A launch on square tensors of 2**32 elements, with a program for every row or block."""
    pointers = pointers_of(flow)
    arguments = []
    for parameter in kernel.parameters:
        name = parameter.name
        if name in pointers:
            shape = (_SIDE, _SIDE)
            arguments.append(ArgumentFacts(name, "tensor", "*fp16", None, shape, (_SIDE, 1), True))
        elif name in _lengths(flow):
            arguments.append(ArgumentFacts(name, "constexpr", "constexpr", _BLOCK))
        elif _is_plain_integer(kernel, flow, name):
            arguments.append(ArgumentFacts(name, "int", "i32", _SIDE, divisible_by_16=True))
    return replace(context, launches=(LaunchFacts(kernel.name, _PROGRAMS, tuple(arguments)),))


REWINDS = (
    Rewind(
        issue="dtype_precision",
        name="rewind_drop_dot_upcasts",
        rewrite="drop_dot_upcasts",
        applies="Every `tl.dot` of two loaded tiles, both cast to fp32 first; with captured fp16 "
        "arguments, and without any where the product states no input precision and the host "
        "allocates no fp32 operand.",
        apply=_upcasts,
    ),
    Rewind(
        issue="dtype_float64",
        name="rewind_narrow_float64",
        rewrite="narrow_float64",
        applies="Every `tl.float32` that gives a type (none that asks for one) as `tl.float64`; "
        "with captured fp16 arguments, and without any where the file launches the kernel and "
        "the statement is unconditional.",
        apply=_doubles,
    ),
    Rewind(
        issue="int32_offset_overflow",
        name="rewind_wide_offsets",
        rewrite="wide_offsets",
        applies="Every `tl.program_id(axis).to(tl.int64)` without the cast, where an address "
        "multiplies it by a stride or a block, at tensors of 2**32 elements.",
        apply=_narrow_offsets,
    ),
)
