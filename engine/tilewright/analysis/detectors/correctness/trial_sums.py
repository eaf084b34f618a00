"""The detector of buffers that each trial of an autotuner adds to."""

import ast
from collections.abc import Iterator, Sequence

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.correctness.tuning import tuned_at
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import Access, Flow
from tilewright.knowledge.model import ADVICE
from tilewright.source.constants import ORDER
from tilewright.source.host import resolve
from tilewright.source.model import Autotune, Config, Kernel, Launch, Module

_HOOKS = ("pre_hook", "post_hook")


@detector("autotune_missing_reset")
def autotune_missing_reset(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Atomics into a buffer that every trial of the autotuner adds to."""
    for kernel, flow in triton_kernels(module):
        if kernel.autotune is None or _may_reset(module, kernel, kernel.autotune):
            continue
        waits = _waited_for(kernel, flow)
        for access in _added_by_trials(module, kernel, flow, kernel.autotune):
            # Later trials do not wait; what they read, an earlier one may have written rightly.
            is_count = access.base in waits
            yield Finding(
                module.index.range_of(access.node),
                f"The autotuner runs the kernel many times, and each run adds to {access.base}: "
                + (
                    "only the first one waits, without reset_to_zero."
                    if is_count
                    else "the first result is wrong without reset_to_zero."
                ),
                kernel.name,
                severity=ADVICE if is_count else None,
                related=(Related("tuned here", tuned_at(module, kernel)),),
            )
        for call, buffer, access in _added_by_helpers(module, kernel, flow, kernel.autotune):
            yield Finding(
                module.index.range_of(call),
                f"The autotuner runs the kernel many times, and in each run this call adds to "
                f"{buffer}: the first result is wrong without reset_to_zero.",
                kernel.name,
                related=(
                    Related("added here", module.index.range_of(access.node)),
                    Related("tuned here", tuned_at(module, kernel)),
                ),
            )


def _may_reset(module: Module, kernel: Kernel, autotune: Autotune) -> bool:
    """Whether a trial may begin with buffers as the first did, or there is but one."""
    if autotune.reset_to_zero is None or autotune.restore_value is None:
        return True
    is_alone = autotune.configs is not None and len(autotune.configs) < 2
    return is_alone or _has_hook(module, kernel)


def _put_back(autotune: Autotune) -> set[str]:
    """The buffers that are as before at the start of each trial."""
    return {*(autotune.reset_to_zero or ()), *(autotune.restore_value or ())}


def _added_by_trials(
    module: Module, kernel: Kernel, flow: Flow, autotune: Autotune
) -> Iterator[Access]:
    """The first addition to each buffer that nothing puts back."""
    safe = _put_back(autotune)
    sets = (TL + "atomic_xchg", TL + "atomic_cas")
    safe |= {a.base for a in flow.writes if module.names.is_call(a.node, *sets) and a.base}
    for access in flow.writes:
        if access.kind != "atomic" or access.base is None or access.base in safe:
            continue
        if _is_stored_before(flow, access) or _tunes_on_copies(module, kernel, access.base):
            continue
        is_added = module.names.is_call(access.node, TL + "atomic_add")
        if is_added and is_compiled(kernel, access.node, autotune.configs):
            safe.add(access.base)
            yield access


def _added_by_helpers(
    module: Module, kernel: Kernel, flow: Flow, autotune: Autotune
) -> Iterator[tuple[ast.Call, str, Access]]:
    """The first call of a jit function of the file, by buffer, that always adds to what it gets."""
    helpers = {h.name: h for h in module.helpers_of(kernel)}
    named = {p.name for p in kernel.parameters}
    safe = _put_back(autotune) | {access.base for access in flow.writes if access.base is not None}
    for call in nodes_like(kernel.node, ast.Call) if helpers else ():
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if name not in helpers or not is_compiled(kernel, call, autotune.configs):
            continue
        helper = helpers[name]
        given = {p.name: node for p, node in zip(helper.parameters, call.args, strict=False)}
        given |= {k.arg: k.value for k in call.keywords if k.arg is not None}
        passed = {p: n.id for p, n in given.items() if isinstance(n, ast.Name) and n.id in named}
        inner = flow_of(module, helper)
        written = [a for a in inner.writes if a.base in passed]
        plain = {a.base for a in written if not module.names.is_call(a.node, TL + "atomic_add")}
        for access in written:
            buffer = passed[access.base or ""]
            if buffer in safe or access.base in plain or access.branches:
                continue
            if not _tunes_on_copies(module, kernel, buffer):
                safe.add(buffer)
                yield call, buffer, access


def _waited_for(kernel: Kernel, flow: Flow) -> set[str | None]:
    """The buffers that a ``while`` asks again and again: counts of programs that have come by."""
    tests = (loop.test for loop in nodes_like(kernel.node, ast.While))
    asked = {id(node) for test in tests for node in ast.walk(test)}
    return {access.base for access in flow.accesses if id(access.node) in asked}


def _tunes_on_copies(module: Module, kernel: Kernel, parameter: str) -> bool:
    """Whether a launch takes a copy of the tensor, or one of its shape: one for the tuner alone."""
    given = [
        (launch, node)
        for launch in module.launches_of(kernel.name)
        if (node := launch.arguments.get(parameter)) is not None
    ]
    tensors = {ast.unparse(node) for _, node in given}
    return any(
        ast.unparse(node).endswith(".clone()")
        or (len(given) > 1 and _is_made_like(module, launch, node, tensors))
        for launch, node in given
    )


def _is_made_like(module: Module, launch: Launch, node: ast.expr, tensors: set[str]) -> bool:
    """Whether a tensor is allocated with the shape of one that other launches take."""
    made = resolve(module, launch, node)
    like = ("torch.empty_like", "torch.zeros_like", "torch.clone")
    return (
        isinstance(made, ast.Call)
        and module.names.is_call(made, *like)
        and bool(made.args)
        and ast.unparse(made.args[0]) in tensors - {ast.unparse(node)}
    )


def _is_stored_before(flow: Flow, added: Access) -> bool:
    """Whether each run writes plainly, above an atomic and always, what it then adds to."""
    return any(
        store.kind == "store"
        and store.base == added.base
        and store.order < added.order
        and not store.branches
        for store in flow.writes
    )


def is_compiled(kernel: Kernel, node: ast.AST, configs: Sequence[Config] | None) -> bool:
    """Whether a node is in no branch that every configuration decides against."""
    chosen = [
        (branch, id(node) in {id(n) for part in branch.body for n in ast.walk(part)})
        for branch in ast.walk(kernel.node)
        if isinstance(branch, ast.If) and any(n is node for n in ast.walk(branch))
    ]
    return configs is None or any(
        all(_test_result(branch.test, config) in (None, is_body) for branch, is_body in chosen)
        for config in configs
    )


def _test_result(test: ast.expr, config: Config) -> bool | None:
    """Whether ``NAME == 1`` or the like holds with a configuration; None if it is not known."""
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=given)]):
            value, compare = config.values.get(name), ORDER.get(type(op))
            if isinstance(value, int) and isinstance(given, int) and compare is not None:
                return bool(compare(value, given))
    return None


def _has_hook(module: Module, kernel: Kernel) -> bool:
    """Whether code of the user's runs before each trial and may reset buffers."""
    if not any(map(module.lookup.says, _HOOKS)):
        return False
    kernels = {id(k.node) for k in module.kernels}
    places: list[ast.AST] = list(kernel.node.decorator_list)
    places += [s for s in module.tree.body if id(s) not in kernels]
    return any(
        isinstance(node, ast.Call)
        and module.names.is_call(node, "triton.autotune", "triton.Config")
        and any(k.arg in _HOOKS for k in node.keywords)
        for place in places
        for node in ast.walk(place)
    )
