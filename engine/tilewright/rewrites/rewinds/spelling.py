"""Rewinds of spellings: tanh, the sigmoid, and the accumulator of a product."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.tiles import tiles_of
from tilewright.rewrites.calls import fresh_name, local_name
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.rewinds.model import Rewind, Rewound
from tilewright.rewrites.rewinds.sites import (
    covers,
    enclosed,
    enclosing,
    loaded_base,
    pointers_of,
    tl_calls,
    with_types,
)
from tilewright.rewrites.scope import assignments, keyword, names_in, statement_of, statements
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import Target

_EXP = "triton.language.exp"
_SIGMOIDS = {
    "left": "1 / (1 + {exp}(-{x}))",
    "float": "1.0 / (1.0 + {exp}(-{x}))",
    "right": "1 / ({exp}(-{x}) + 1)",
}
_RATIOS = {
    "exp2x": "({exp}(2 * {x}) - 1) / ({exp}(2 * {x}) + 1)",
    "exp-2x": "(1 - {exp}(-2 * {x})) / (1 + {exp}(-2 * {x}))",
    "exp-exp": "({exp}({x}) - {exp}(-{x})) / ({exp}({x}) + {exp}(-{x}))",
}
_HOPPER = Target("cuda", "90")
_STATED = ("out_dtype", "max_num_imprecise_acc")
_KEEP_SMALL = ("abs", "minimum", "maximum", "clamp", "where")


def _sigmoid(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    for call in tl_calls(module, kernel, "sigmoid"):
        if len(call.args) != 1 or call.keywords:
            continue
        for form, spelled in _SIGMOIDS.items():
            yield _spelled(module, call, call.args[0], spelled, context, form)


def _spelled(
    module: Module,
    node: ast.expr,
    argument: ast.expr,
    spelled: str,
    context: AnalysisContext,
    form: str,
) -> Rewound:
    patch = Patch(module)
    x = enclosed(patch.source(argument), argument)
    patch.replace(node, f"({spelled.format(exp=local_name(module, _EXP), x=x)})")
    return Rewound(patch.apply(), patch.new_line(patch.span(node)[0]), context, form)


def _tanh(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    for call in _tanh_calls(module, kernel):
        argument = call.args[0]
        if not any(isinstance(n, ast.Call) for n in ast.walk(argument)):
            for form, spelled in _RATIOS.items():
                yield _spelled(module, call, argument, spelled, context, form)
        named = _named_exponential(module, kernel, call, context)
        if named is not None:
            yield named


def _tanh_calls(module: Module, kernel: Kernel) -> Iterator[ast.Call]:
    """Calls of a tanh whose argument nothing in sight keeps small."""
    for node in ast.walk(kernel.node):
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            dotted = module.names.resolve(node.func) or ""
            if dotted.rpartition(".")[2] == "tanh" and not _is_bounded(module, kernel, node):
                yield node


def _is_bounded(module: Module, kernel: Kernel, call: ast.Call) -> bool:
    """Whether a bound, or a function of another file, may keep the argument small."""
    value = flow_of(module, kernel).values.get(call.args[0])
    pending, seen = [value], set()
    while pending:
        part = pending.pop()
        if part is None or part in seen:
            continue
        seen.add(part)
        if part.op == "opaque" or str(part.detail).rpartition(".")[2] in _KEEP_SMALL:
            return True
        pending.extend(part.operands)
    return value is None


def _named_exponential(
    module: Module, kernel: Kernel, call: ast.Call, context: AnalysisContext
) -> Rewound | None:
    """``e = tl.exp(2 * x)`` on a line of its own, and the ratio of sums with it."""
    statement = statement_of(kernel.node, call)
    patch = Patch(module)
    simple = isinstance(statement, ast.Assign | ast.AugAssign | ast.Return)
    if statement is None or not simple or not patch.owns_lines(statement):
        return None
    name = fresh_name(names_in(kernel.node), "exp_2x")
    argument = call.args[0]
    x = enclosed(patch.source(argument), argument)
    start = patch.line_start(statement.lineno)
    exp = local_name(module, _EXP)
    line = f"{patch.indent(statement)}{name} = {exp}(2 * {x}){patch.newline}"
    patch.splice(start, start, line)
    patch.replace(call, f"(({name} - 1) / ({name} + 1))")
    place = patch.new_line(patch.span(call)[0])
    return Rewound(patch.apply(), place, context, "named")


def _dot(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    """``acc += tl.dot(a, b)`` of loaded tiles, with fp8 arguments on Hopper."""
    flow = flow_of(module, kernel)
    dots = tl_calls(module, kernel, "dot")
    known = with_types(context, kernel, pointers_of(flow), "fp8e4nv")
    known = replace(known, target=_HOPPER)
    for statement in statements(kernel.node):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                given = _accumulator(call)
            case _:
                continue
        if call not in dots or any(k.arg in _STATED for k in call.keywords):
            continue
        if not isinstance(given, ast.Name) or given.id != name:
            continue
        operands = [flow.values.get(operand) for operand in call.args[:2]]
        if not all(v is not None and loaded_base(v) for v in operands):
            continue
        if _is_carried(kernel, statement, name) and _is_fp32(module, kernel, given):
            for form in ("augmented", "sum"):
                yield _summed(module, statement, call, name, form, known)


def _is_carried(kernel: Kernel, statement: ast.stmt, name: str) -> bool:
    """Whether nothing else in the innermost loop around a statement sets the accumulator."""
    loops, _ = enclosing(kernel, statement)
    inner = max(loops, key=lambda loop: loop.lineno, default=None)
    return inner is not None and not any(
        made is not statement and covers(inner, made) for made in assignments(kernel.node, name)
    )


def _is_fp32(module: Module, kernel: Kernel, node: ast.Name) -> bool:
    value = flow_of(module, kernel).values.get(node)
    return value is not None and tiles_of(module, kernel).facts_of(value).dtype in (None, "fp32")


def _accumulator(call: ast.Call) -> ast.expr | None:
    if len(call.args) == 3:
        return call.args[2]
    found = keyword(call, "acc")
    return found.value if found is not None and len(call.args) == 2 else None


def _summed(
    module: Module,
    statement: ast.Assign,
    call: ast.Call,
    name: str,
    form: str,
    ctx: AnalysisContext,
) -> Rewound:
    patch = Patch(module)
    parts: list[ast.expr | ast.keyword] = [
        *call.args[:2],
        *(k for k in call.keywords if k.arg != "acc"),
    ]
    words = ", ".join(patch.source(part) for part in parts)
    dot = f"{patch.source(call.func)}({words})"
    patch.replace(
        statement, f"{name} += {dot}" if form == "augmented" else f"{name} = {name} + {dot}"
    )
    return Rewound(patch.apply(), patch.new_line(patch.span(statement)[0]), ctx, form)


REWINDS = (
    Rewind(
        issue="sigmoid_slow_exp",
        name="rewind_sigmoid",
        rewrite="sigmoid",
        applies="Every `tl.sigmoid(x)`, spelled with a division and `tl.exp` in three ways.",
        apply=_sigmoid,
    ),
    Rewind(
        issue="unstable_tanh",
        name="rewind_stable_tanh",
        rewrite="stable_tanh",
        applies="Every tanh of a value that no bound and no unknown function keeps small, as a "
        "ratio of exponentials in four ways.",
        apply=_tanh,
    ),
    Rewind(
        issue="dot_accumulator",
        name="rewind_dot_accumulator",
        rewrite="dot_accumulator",
        applies="Every `acc = tl.dot(a, b, acc)` of loaded tiles that carries its accumulator, "
        "fp32, through a loop, as a sum after the product; with captured fp8 arguments, on "
        "Hopper.",
        apply=_dot,
    ),
)
