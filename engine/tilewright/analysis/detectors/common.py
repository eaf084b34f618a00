"""What several detectors ask: kernels with their flow, aliasing, constexpr environments."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from tilewright.analysis.flow import flow_of
from tilewright.analysis.intervals import Numbers
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.nodes import nodes_of as nodes_of
from tilewright.analysis.per_kernel import per_module
from tilewright.analysis.values import Access, Flow, Value, walk
from tilewright.source.constants import Evaluator, Undecidable
from tilewright.source.environment import touches
from tilewright.source.host import host_of, is_fresh, resolve
from tilewright.source.kernels import unwrapped
from tilewright.source.model import Kernel, Language, Launch, Module
from tilewright.source.node_memo import per_node
from tilewright.source.parse import module_constants
from tilewright.source.text import Range

TL = "triton.language."
DOTS = (TL + "dot", TL + "dot_scaled")
"""The products of the language."""
EXPONENTIALS = tuple(f"{TL}{prefix}{name}" for prefix in ("", "math.") for name in ("exp", "exp2"))
_MAX_ENVIRONMENTS = 256


def triton_kernels(module: Module) -> Iterator[tuple[Kernel, Flow]]:
    """The Triton kernels of a module that are to be looked at, each with its dataflow."""
    for kernel in module.focused:
        if kernel.language is Language.TRITON:
            yield kernel, flow_of(module, kernel)


@per_module
def exponentials(module: Module) -> tuple[str, ...]:
    """The names of ``EXPONENTIALS``, and of functions of the file that give one of a multiple."""
    own = [k.name for k in module.kernels if _is_exponential(module, k)]
    return (*EXPONENTIALS, *own)


def _is_exponential(module: Module, kernel: Kernel) -> bool:
    *before, last = kernel.node.body
    power = last.value if isinstance(last, ast.Return) else None
    if not isinstance(power, ast.Call) or not module.names.is_call(power, *EXPONENTIALS):
        return False
    if any(not isinstance(getattr(part, "value", None), ast.Constant) for part in before):
        return False  # more than a docstring and numbers that are given names
    return bool(kernel.parameters) and _is_multiple(power.args, kernel.parameters[0].name)


def _is_multiple(arguments: Sequence[ast.expr], name: str) -> bool:
    """Whether the one argument is a parameter, or its product with a number of the function."""
    match arguments:
        case [ast.Name(id=given)]:
            return given == name
        case [ast.BinOp(left=one, op=ast.Mult(), right=two)]:
            is_given = [isinstance(side, ast.Name) and side.id == name for side in (one, two)]
            return sum(is_given) == 1 and all(
                isinstance(side, ast.Constant | ast.Name | ast.Attribute) for side in (one, two)
            )
    return False


def nki_kernels(module: Module) -> Iterator[Kernel]:
    """The NKI kernels of a module that are to be looked at."""
    for kernel in module.focused:
        if kernel.language is Language.NKI:
            yield kernel


def finding_at(
    module: Module,
    kernel: Kernel | None,
    node: ast.expr | ast.stmt,
    text: str,
    related: Sequence[Related] = (),
) -> Finding:
    """A finding at a node."""
    name = None if kernel is None else kernel.name
    return Finding(module.index.range_of(node), text, name, tuple(related))


def source_of(module: Module, node: ast.expr | ast.stmt) -> str:
    """The text of a node."""
    return module.index.slice(module.index.range_of(node))


def first_line(module: Module, node: ast.stmt) -> Range:
    """The head of a compound statement: its first line from where it starts."""
    where = module.index.range_of(node)
    if where.end_line == where.line:
        return where
    return Range(
        where.line, where.column, where.line, len(module.index.lines[where.line - 1].rstrip())
    )


def are_distinct(module: Module, kernel: Kernel, read: str | None, written: str | None) -> bool:
    """Whether two pointer parameters cannot overlap: the host has just allocated the second.

    Needs a launch in the file; every one of them must show it.
    """
    launches = module.launches_of(kernel.name)
    if read is None or written is None or read == written or not launches:
        return False
    return all(_fresh_and_other(module, launch, read, written) for launch in launches)


def _fresh_and_other(module: Module, launch: Launch, read: str, written: str) -> bool:
    one, two = launch.arguments.get(read), launch.arguments.get(written)
    if one is None or two is None or source_of(module, one) == source_of(module, two):
        return False
    return isinstance(two, ast.Name) and is_fresh(module, launch, two)


def may_overwrite(
    module: Module, kernel: Kernel, flow: Flow, bases: set[str | None], first: int, last: int
) -> bool:
    """Whether a write numbered between ``first`` and ``last`` may change memory at ``bases``."""
    if any(first < order < last for order, _ in flow.may_write_unknown):
        return True
    return any(
        not are_distinct(module, kernel, base, write.base)
        for write in flow.writes
        if first < write.order < last
        for base in bases
    )


def loop_span(flow: Flow, number: int) -> tuple[int, int]:
    """First and last order number inside a loop."""
    inside = [a.order for a in flow.accesses if number in a.loops]
    inside += [order for order, loops in flow.may_write_unknown if number in loops]
    inside += [d.order for ds in flow.definitions.values() for d in ds if number in d.loops]
    return number, max(inside, default=number) + 1


def loads_in(*values: Value | None) -> Iterator[Value]:
    """The loads that values are computed from."""
    for value in values:
        if value is not None:
            yield from (part for part in walk(value) if part.op == "load")


def source_numbers(module: Module, kernel: Kernel) -> list[tuple[Launch, Numbers]]:
    """Constexprs as each launch in the file states them, for each autotune configuration."""
    found = []
    tuned = tuned_launches(module, kernel)
    for launch in module.launches_of(kernel.name):
        stated = stated_arguments(module, kernel, launch)
        for values in _config_values(kernel) if launch in tuned else [{}]:
            found.append((launch, Numbers({**stated, **values})))
    return found[:_MAX_ENVIRONMENTS]


def stated_arguments(module: Module, kernel: Kernel, launch: Launch) -> Mapping[str, int]:
    """Constexpr parameters whose value at a launch stands in the source."""
    key = stated_arguments, kernel.node, launch.node
    if key not in module.memo:
        module.memo[key] = _stated(module, kernel, launch)
    return cast("Mapping[str, int]", module.memo[key])


def constants_at(module: Module, launch: Launch) -> Mapping[str, ast.expr]:
    """The module's constants that a launch sees: the host function binds no name like theirs."""
    host, constants = host_of(module, launch), module_constants(module.tree)
    own = frozenset() if host is None else _own_names(host)
    if own.isdisjoint(constants):
        return constants
    return {name: node for name, node in constants.items() if name not in own}


@per_node
def _own_names(function: ast.FunctionDef) -> frozenset[str]:
    """The parameters and local names of a host function."""
    outer = {name for node in nodes_like(function, ast.Global) for name in node.names}
    bound = {n.id for n in nodes_like(function, ast.Name) if not isinstance(n.ctx, ast.Load)}
    return frozenset({a.arg for a in nodes_like(function, ast.arg)} | bound) - outer


def _stated(module: Module, kernel: Kernel, launch: Launch) -> dict[str, int]:
    evaluator = Evaluator(constants_at(module, launch), {}, module.names)
    stated = {}
    for name in kernel.constexprs:
        node = launch.arguments.get(name)
        # A heuristic replaces what the launch passes.
        if node is None or name in kernel.heuristics:
            continue
        try:
            value = evaluator.value(resolve(module, launch, node))
        except Undecidable:
            continue
        if isinstance(value, int):
            stated[name] = int(value)
    return stated


def _config_values(kernel: Kernel) -> list[dict[str, int]]:
    if kernel.autotune is None or not kernel.autotune.configs:
        return [{}]
    return [
        {name: int(v) for name, v in config.values.items() if isinstance(v, int)}
        for config in kernel.autotune.configs
    ]


def context_numbers(context: AnalysisContext, kernel: str) -> list[Numbers]:
    """What each captured launch of a kernel says."""
    return [Numbers.of_launch(launch) for launch in context.launches if launch.kernel == kernel]


def all_numbers(module: Module, context: AnalysisContext, kernel: Kernel) -> list[Numbers]:
    """Captured launches where there are any, else what the source states."""
    captured = context_numbers(context, kernel.name)
    return captured or [numbers for _, numbers in source_numbers(module, kernel)]


def decorators_known(module: Module, kernel: Kernel) -> bool:
    """Whether all decorators are Triton's own; another may tune or wrap the launch.

    So may what an assignment puts around the kernel for another name.
    """
    if not all(_is_tritons(module, node) for node in kernel.node.decorator_list):
        return False
    if kernel.aliases and not _replaced(module).isdisjoint(kernel.aliases):
        return False
    # To look for the words is much quicker.
    may_be_replaced = module.lookup.says(f"{kernel.name} =")
    return not may_be_replaced or kernel.name not in _replaced(module)


@per_module
def _replaced(module: Module) -> frozenset[str]:
    """Names that the module level gives anything but a function in decorators of Triton."""
    found = set()
    for statement in module.tree.body:
        for touch in touches(statement):
            name, around = (None, ()) if touch.value is None else unwrapped(touch.value)
            if name is None or not all(_is_tritons(module, node) for node in around):
                found.add(touch.name)
    return frozenset(found)


def _is_tritons(module: Module, decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    dotted = module.names.resolve(target) or ""
    return dotted in ("triton.jit", "triton.autotune", "triton.heuristics")


def assigned_name(access: Access) -> str | None:
    """The name a statement gives the bare result of this load, if it does just that."""
    statement = access.statement
    if isinstance(statement, ast.Assign) and statement.value is access.node:
        target = statement.targets[0]
        if len(statement.targets) == 1 and isinstance(target, ast.Name):
            return target.id
    return None


def choices_of(node: ast.expr, function: str) -> list[ast.expr]:
    """What ``max(...)`` or ``min(...)``, as it is named, chooses from; of another node itself."""
    is_choice = isinstance(node, ast.Call) and ast.unparse(node.func) == function
    return node.args if isinstance(node, ast.Call) and is_choice else [node]


def tuned_launches(module: Module, kernel: Kernel) -> list[Launch]:
    """The launches that an autotuner of the kernel makes, and not the plain kernel beside it."""
    launches = named_launches(module, kernel)
    return [one for one in launches if not kernel.tuned_as or _target(one) in kernel.tuned_as]


def named_launches(module: Module, kernel: Kernel) -> list[Launch]:
    """The launches by a kernel's own names: a variable may hold another, or a wrapper of it."""
    names = {kernel.name, *kernel.aliases}
    return [one for one in module.launches_of(kernel.name) if _target(one) in names]


def _target(launch: Launch) -> str | None:
    called = launch.node.func
    target = called.value if isinstance(called, ast.Subscript) else called
    if isinstance(target, ast.Attribute) and target.attr in ("run", "warmup"):
        target = target.value
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else None
