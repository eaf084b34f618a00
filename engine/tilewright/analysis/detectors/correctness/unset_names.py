"""Names that a kernel reads where it may not have set them: behind a conditional, or a loop."""

import ast
from collections.abc import Container, Iterator

from tilewright.analysis.detectors.common import nodes_of, stated_arguments
from tilewright.analysis.detectors.correctness.language import is_run_in_python
from tilewright.analysis.model import Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import Definition, Flow, Loop, Value
from tilewright.knowledge.model import ADVICE
from tilewright.python_syntax import descendants
from tilewright.source.model import Kernel, Module

_CHOICES = (ast.If, ast.IfExp, ast.BoolOp, ast.While)
_STOPS = ("static_assert", "device_assert")
_BEHIND = (
    "{name} is set only in the body of a loop, and the compiler keeps no such name behind it: "
    "this does not compile. Set {name} before the loop, or use it inside."
)
_ABOVE = (
    "The loop's first iteration reads {name} here, and only a line below sets it: this does not "
    "compile. Set {name} before the loop."
)


def names_of_loops(
    module: Module, kernel: Kernel, flow: Flow, outside: Container[str]
) -> Iterator[Finding]:
    """The first read of each name behind the loop that alone sets it, or in it but above.

    The compiler drops the names of a loop's body at its end, unless they were set before it.
    What a ``static_range`` sets stays: its body is repeated in place. What a body reads above the
    line that sets it is unset in the first iteration.

    Args:
        outside: names of the module, which the compiler finds instead.
    """
    if all(phi.operands for phi in flow.back_edges) or _stops(kernel):
        return
    chosen = _inside_choices(kernel)
    own = _of_lambdas(kernel)
    for name, uses in flow.uses.items():
        for node in uses:
            value = flow.values.get(node)
            if value is None or id(node) in chosen or name in outside or id(node) in own:
                continue
            why = _unset_why(flow, value)
            if why is not None:
                yield Finding(
                    module.index.range_of(node),
                    why.format(name=name),
                    kernel.name,
                    related=_assigned_at(module, flow.definitions.get(name, [])[-1:]),
                    # Python keeps the names of a loop's body.
                    severity=ADVICE if why is _BEHIND and is_run_in_python(module) else None,
                )
                break


def names_above(
    module: Module, kernel: Kernel, flow: Flow, outside: Container[str]
) -> Iterator[Finding]:
    """The first read of each name that only this line or a later one sets.

    Args:
        outside: names of the module, which the compiler finds instead.
    """
    first_set: dict[str, int] = {}
    for node in nodes_like(kernel.node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            first_set[node.id] = min(node.lineno, first_set.get(node.id, node.lineno))
    for turn in nodes_like(kernel.node, ast.comprehension):
        for name in _names_in(turn.target):  # set before they are read
            first_set.pop(name, None)
    reads = [n for n in _changed(kernel) if first_set.get(n.id) == n.lineno]
    for name, uses in flow.uses.items():
        if name in first_set and name not in outside:
            reads += [node for node in uses if _is_global(flow, node)]
    chosen = _inside_choices(kernel) if reads else set()
    seen: set[str] = set()
    for node in sorted(reads, key=lambda node: (node.lineno, node.col_offset)):
        name = node.id
        is_known = name in outside or name in seen or kernel.parameter(name) is not None
        if is_known or node.lineno > first_set[name] or id(node) in chosen:
            continue
        seen.add(name)
        yield Finding(
            module.index.range_of(node),
            f"{name} is read here, and no line above sets it: this does not compile.",
            kernel.name,
        )


def _names_in(target: ast.expr) -> set[str]:
    return {node.id for node in descendants(target) if isinstance(node, ast.Name)}


def _changed(kernel: Kernel) -> Iterator[ast.Name]:
    """The names that ``name += 1`` reads and sets."""
    for node in nodes_like(kernel.node, ast.AugAssign):
        if isinstance(node.target, ast.Name):
            yield node.target


def _is_global(flow: Flow, node: ast.Name) -> bool:
    """Whether no line of the kernel has set a name where it is read."""
    value = flow.values.get(node)
    return value is not None and value.op == "global" and value.detail == node.id


def _unset_why(flow: Flow, value: Value) -> str | None:
    """Why a name is unknown here, as only bodies of loops set it; None if it is known."""
    is_behind = False
    while value.op in ("phi", "after"):
        start: Value | None = value.operands[0] if value.operands else None
        if value.op == "after":
            is_behind = True
            if _keeps_names(flow.loops[int(str(value.detail).partition(":")[0])]):
                return None
            start = start if len(value.operands) == 2 else None
        if start is None:
            return _BEHIND if is_behind else _ABOVE
        value = start
    return None


def _keeps_names(loop: Loop) -> bool:
    """Whether what a loop sets may stay: it is repeated in place, or not understood."""
    return loop.is_static or (loop.bounds is None and isinstance(loop.node, ast.For))


def unset_names(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    """The first read of each name that is unset where a constexpr flag is true, or false.

    An error where a launch of the file passes that value, advice otherwise.
    """
    if not flow.undefined:
        return
    reads = [
        (name, node, found)
        for name, uses in flow.uses.items()
        for node in uses
        if (found := _unset(kernel, flow, flow.values.get(node))) is not None
    ]
    if reads and not _stops(kernel):
        chosen = _inside_choices(kernel)
        first = {
            name: (node, found) for name, node, found in reversed(reads) if id(node) not in chosen
        }
        for name, (node, (flag, is_set)) in first.items():
            launched = _is_launched(module, kernel, flag, not is_set)
            yield Finding(
                module.index.range_of(node),
                f"{name} is assigned only where {flag} is {_word(is_set)}, and this line reads it "
                f"whatever {flag} is: with {flag} {_word(not is_set)} the kernel does not compile"
                f"{', and a launch of this file passes that' if launched else ''}.",
                kernel.name,
                related=_assigned_at(module, flow.definitions.get(name, [])),
                severity=None if launched else ADVICE,
            )


def _unset(kernel: Kernel, flow: Flow, value: Value | None) -> tuple[str, bool] | None:
    """The constexpr flag that decides whether a name is set, and its value where it is."""
    while value is not None and value.op == "phi" and value.operands:
        value = value.operands[0]  # what the name is when the loop begins
    if value is None or value.op != "select":
        return None
    condition, one, two = value.operands
    is_true = two in flow.undefined
    if not is_true and one not in flow.undefined:
        return None
    while condition.op == "unary" and condition.detail == "Not":
        condition, is_true = condition.operands[0], not is_true
    if condition.op != "param":
        return None
    parameter = kernel.parameter(str(condition.detail))
    if parameter is None or not parameter.is_constexpr:
        return None
    return parameter.name, is_true


def _is_launched(module: Module, kernel: Kernel, flag: str, value: bool) -> bool:
    for launch in module.launches_of(kernel.name):
        stated = stated_arguments(module, kernel, launch)
        if flag in stated and bool(stated[flag]) is value:
            return True
    return False


def _inside_choices(kernel: Kernel) -> set[int]:
    """The nodes that run, or are evaluated, on one side of a choice only."""
    choices = [node for node in nodes_of(kernel.node) if isinstance(node, _CHOICES)]
    return {id(inner) for choice in choices for inner in descendants(choice)}


def _of_lambdas(kernel: Kernel) -> set[int]:
    """The names that parameters of a ``lambda`` are read by in its body."""
    return {
        id(node)
        for inner in nodes_like(kernel.node, ast.Lambda)
        for node in ast.walk(inner.body)
        if isinstance(node, ast.Name) and any(node.id == a.arg for a in inner.args.args)
    }


def _stops(kernel: Kernel) -> bool:
    """Whether the kernel asserts, or returns early: then a side may never get to the read."""
    body = kernel.node.body
    return any(
        (isinstance(node, ast.Return) and node is not body[-1])
        or isinstance(node, ast.Assert | ast.Raise)
        or (isinstance(node, ast.Attribute) and node.attr in _STOPS)
        for node in nodes_of(kernel.node)
    )


def _assigned_at(module: Module, definitions: list[Definition]) -> tuple[Related, ...]:
    return tuple(Related("set here", module.index.range_of(d.statement)) for d in definitions[:1])


def _word(flag: bool) -> str:
    return "true" if flag else "false"
