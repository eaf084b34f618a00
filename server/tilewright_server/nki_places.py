"""Which value or instruction of an NKI kernel stands at a place, and hints for its lines."""

import ast
from collections.abc import Iterator, Mapping

from tilewright.analysis.nki import Affine, Flow, Memory, nki_flow
from tilewright.analysis.nki.footprint import live_by_line, lives
from tilewright.analysis.nki.values import UNKNOWN, Value
from tilewright.analysis.per_kernel import per_kernel
from tilewright.problems.model import Problem
from tilewright.source.model import Kernel, Module
from tilewright_server import nki_cards
from tilewright_server.nki_estimates import kernel_estimates, line_costs

_ON_CHIP = (Memory.SBUF, Memory.PSUM)
LineUse = Mapping[int, dict[Memory, int]]


@per_kernel
def live_use(module: Module, kernel: Kernel) -> LineUse:
    """Bytes of a partition that are live at each line of a kernel, by memory."""
    flow = nki_flow(module, kernel)
    tables = {memory: live_by_line(flow, lives(flow, memory)) for memory in _ON_CHIP}
    lines = {line for table in tables.values() for line in table}
    return {line: {m: table.get(line, 0) for m, table in tables.items()} for line in lines}


def nki_card(
    module: Module,
    kernel: Kernel,
    statement: ast.stmt,
    node: ast.expr,
    title: str,
    problem: Problem | None = None,
) -> str | None:
    """The card of an expression, or of the instruction that a call is.

    Args:
        problem: what the file's spec says: its sizes are those of the estimate.
    """
    flow = nki_flow(module, kernel)
    if isinstance(node, ast.Call):
        operation = next((o for o in flow.operations if o.node is node), None)
        dotted = module.names.resolve(node.func)
        if operation is not None and operation.name == dotted:
            live = live_use(module, kernel).get(statement.lineno, {})
            costs = line_costs(kernel_estimates(module, kernel, problem), statement.lineno)
            return nki_cards.instruction_card(flow, title, operation, live, costs)
        if dotted is not None and not nki_cards.is_creation(dotted):
            found = nki_cards.function_card(title, dotted)
            if found is not None:
                return found
    return nki_cards.value_card(flow, title, _value(flow, statement, node))


def _value(flow: Flow, statement: ast.stmt, node: ast.expr) -> Value:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return _assigned(flow, statement, node)
    return flow.value(node)


def _assigned(flow: Flow, statement: ast.stmt, target: ast.Name) -> Value:
    """What an assignment or a loop gives a name."""
    loop = next((one for one in flow.loops if one.node is statement), None)
    if loop is not None and loop.symbol is not None and loop.index == target.id:
        return Affine.from_value(loop.symbol)
    for binding in flow.bindings:
        if binding.statement is statement and binding.name == target.id:
            return flow.value(binding.value) if binding.value is not None else UNKNOWN
    return UNKNOWN


def assignment_labels(module: Module, kernel: Kernel) -> Iterator[tuple[ast.Name, str]]:
    """Names that assignments give a tensor of known shape, each with its label."""
    flow = nki_flow(module, kernel)
    for node in ast.walk(kernel.node):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                label = nki_cards.inlay_label(flow, _assigned(flow, node, target))
                if label is not None:
                    yield target, label


def loop_labels(module: Module, kernel: Kernel) -> Iterator[tuple[int, str]]:
    """The most that is live inside each loop, by the line its header ends on."""
    use = live_use(module, kernel)
    for loop in nki_flow(module, kernel).loops:
        node = loop.node
        inside = [u for line, u in use.items() if node.lineno < line <= (node.end_lineno or 0)]
        most = {m: max((u[m] for u in inside), default=0) for m in _ON_CHIP}
        label = nki_cards.use_label(most)
        if label is not None:
            head = node.iter if isinstance(node, ast.For) else node.test
            yield head.end_lineno or head.lineno, f" {label}"
