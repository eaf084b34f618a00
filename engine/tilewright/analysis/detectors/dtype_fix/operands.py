"""The detector of operands widened before a product."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.dtypes import HALVES
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.pointer_bases import pointer_base
from tilewright.analysis.tiles import tiles_of
from tilewright.analysis.values import Flow, Value
from tilewright.knowledge.model import HINT
from tilewright.source.host import before_launch, resolve
from tilewright.source.model import Kernel, Module

_FP32 = ("torch.float32", "torch.float")


@detector("dtype_precision")
def precision(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Both operands of a dot cast up to fp32 from 16-bit loads."""
    for kernel, flow in triton_kernels(module):
        tiles = tiles_of(module, kernel, context)
        is_advised = False
        for node, value, _ in flow.calls(TL + "dot"):
            sources = [_upcast_load(operand) for operand in value.positional[:2]]
            if len(sources) != 2 or sources[0] is None or sources[1] is None:
                continue
            found = [tiles.facts_of(source).dtype for source in sources if source is not None]
            if any(_is_fp32_buffer(module, kernel, source) for source in sources):
                continue
            if any(_is_state(flow, source) for source in sources):
                continue
            if None in found:
                if is_advised or value.keyword("input_precision") or value.keyword("allow_tf32"):
                    # A stated precision was chosen; without types it stands.
                    continue
                sure, is_advised = False, True
            elif found[0] in HALVES and found[0] == found[1]:
                sure = True
            else:
                continue
            yield Finding(
                module.index.range_of(node),
                _precision_message(found[0] if sure else None),
                kernel.name,
                # The caller may pass fp32 for one of the two, which then decides.
                severity=None if sure else HINT,
            )


def _is_state(flow: Flow, load: Value | None) -> bool:
    """Whether the kernel stores to what it loads here: a sum that is kept, mostly in fp32."""
    base = None if load is None else pointer_base(load.operands[0])
    return base is not None and any(write.base == base for write in flow.writes)


def _is_fp32_buffer(module: Module, kernel: Kernel, load: Value | None) -> bool:
    """Whether the host makes what is loaded here in fp32, or refuses any other type."""
    base = None if load is None else pointer_base(load.operands[0])
    for launch in module.launches_of(kernel.name):
        argument = launch.arguments.get(base or "")
        if argument is None:
            continue
        if _is_made_fp32(module, resolve(module, launch, argument)):
            return True
        if any(_demands_fp32(module, s, argument) for s in before_launch(module, launch)):
            return True
    return False


def _is_made_fp32(module: Module, value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    stated = [k.value for k in value.keywords if k.arg == "dtype"]
    if isinstance(value.func, ast.Attribute):
        if value.func.attr == "float" and not value.args:
            return True
        stated += value.args[:1] if value.func.attr == "to" else []
    return any(module.names.resolve(node) in _FP32 for node in stated)


def _demands_fp32(module: Module, statement: ast.stmt, tensor: ast.expr) -> bool:
    """``assert x.dtype == torch.float32``, or ``if x.dtype != torch.float32: raise``."""
    if isinstance(statement, ast.Assert):
        wanted: type[ast.cmpop] = ast.Eq
    elif isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Raise):
        wanted = ast.NotEq
    else:
        return False
    asked = ast.dump(tensor)
    for term in _terms(statement.test, ast.And if wanted is ast.Eq else ast.Or):
        sides = [term.left, *term.comparators] if isinstance(term, ast.Compare) else []
        if (
            isinstance(term, ast.Compare)
            and all(isinstance(op, wanted) for op in term.ops)
            and any(module.names.resolve(side) in _FP32 for side in sides)
            and any(_is_dtype_of(side, asked) for side in sides)
        ):
            return True
    return False


def _is_dtype_of(node: ast.expr, tensor: str) -> bool:
    return (
        isinstance(node, ast.Attribute) and node.attr == "dtype" and ast.dump(node.value) == tensor
    )


def _terms(test: ast.expr, operator: type[ast.boolop]) -> list[ast.expr]:
    """The conditions that a test joins."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, operator):
        return [part for value in test.values for part in _terms(value, operator)]
    return [test]


def _upcast_load(operand: Value) -> Value | None:
    """The load below a cast to fp32, seen through transposes."""
    value = operand
    while value.is_call(TL + "trans") or (value.op == "attribute" and value.detail == "T"):
        value = value.operands[0]
    if value.op != "cast" or value.detail != "float32":
        return None
    inner = value.operands[0]
    while inner.is_call(TL + "trans") or (inner.op == "attribute" and inner.detail == "T"):
        inner = inner.operands[0]
    return inner if inner.op == "load" else None


def _precision_message(known: str | None) -> str:
    if known is None:
        return (
            "Both operands are cast to fp32 before tl.dot; if the pointers are 16-bit, this "
            "keeps the 16-bit tensor cores idle and adds no precision."
        )
    return (
        f"Both {known} operands are cast to fp32 before tl.dot: products of two 16-bit floats "
        "are exact in the fp32 accumulator, and the 16-bit tensor cores stay idle."
    )
