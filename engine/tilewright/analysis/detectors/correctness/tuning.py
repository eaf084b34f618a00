"""Detectors of kernels that an autotuner runs in a way that gives wrong results, or fails."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import (
    TL,
    decorators_known,
    nodes_of,
    triton_kernels,
    tuned_launches,
)
from tilewright.analysis.detectors.correctness.masks import additive_parts, is_all_bounds
from tilewright.analysis.detectors.correctness.reach import exact_offsets
from tilewright.analysis.detectors.correctness.repetition import is_changed_by
from tilewright.analysis.detectors.registry import Reports, detector, kernel_detector
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.pointer_bases import pointer_base
from tilewright.analysis.values import Access, Flow, Value, values_within
from tilewright.knowledge.model import ADVICE, POSSIBLE
from tilewright.source.autotuning import CONFIG_DEFAULTS
from tilewright.source.model import Autotune, Kernel, Module
from tilewright.source.text import Range

_REFUSES_KEYS = (3, 9)
"""The release from which a name in ``key`` that is no parameter is an error."""


@kernel_detector("autotune_missing_restore", triton_kernels)
def autotune_missing_restore(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """A tensor updated in place by every run of the tuner."""
    autotune = kernel.autotune
    if autotune is None or not _tunes(autotune) or may_be_prepared(module):
        return
    if autotune.restore_value is None or autotune.reset_to_zero is None:
        return
    seen = {*autotune.restore_value, *autotune.reset_to_zero}
    shared = _shared_buffers(module, kernel)
    for store in flow.writes:
        load = _updated_in_place(flow, store, shared) if store.base not in seen else None
        if load is not None and store.base is not None:
            seen.add(store.base)
            if _is_passed_before(module, kernel, flow, store.base, load.node):
                continue
            text = (
                f"The autotuner runs the kernel many times on the real {store.base}, and each "
                "run updates what the last one left: the first result is wrong without "
                "restore_value."
            )
            places = (
                Related("read here", module.index.range_of(load.node)),
                Related("tuned here", tuned_at(module, kernel)),
            )
            yield store.node, text, places


def may_be_prepared(module: Module) -> bool:
    """Whether the file has hooks that run before a kernel does, of the tuner or of each launch."""
    return module.lookup.says("pre_hook") or module.lookup.says("pre_run_hook")


def _is_passed_before(
    module: Module, kernel: Kernel, flow: Flow, base: str, load: ast.Call
) -> bool:
    """Whether a helper of the file gets an address in a tensor above the load.

    It may write all that is read.
    """
    return any(
        call.lineno < load.lineno
        and isinstance(call.func, ast.Name)
        and call.func.id in module.lookup.kernels
        and any(_base_of(flow, given) == base for given in call.args)
        for call in nodes_like(kernel.node, ast.Call)
    )


def _base_of(flow: Flow, node: ast.expr) -> str | None:
    """The parameter that a value passed to a helper is, or is an address in."""
    value = flow.values.get(node)
    if value is None:
        return node.id if isinstance(node, ast.Name) else None
    return pointer_base(value)


def _tunes(autotune: Autotune) -> bool:
    """Whether there is more than one configuration to time, by the source."""
    return autotune.configs is not None and len(autotune.configs) > 1


def _updated_in_place(
    flow: Flow, store: Access, shared: frozenset[frozenset[str]]
) -> Access | None:
    """The load of the same place that a plain store's value is computed from.

    A store that gives the same result when it is repeated (a clamp, a relu) does no harm.
    """
    if store.kind != "store" or store.base is None or store.result is None:
        return None
    earlier = [w for w in flow.writes if w.base == store.base and w.order < store.order]
    for load in flow.loads:
        if load.base is None or load.branches or load.result is None or load.order > store.order:
            continue
        if not _is_same_place(load, store, shared) or any(w.order < load.order for w in earlier):
            continue
        # What another mask leaves out may be all that an earlier run wrote.
        if load.mask is not store.mask and load.mask is not None and not is_all_bounds(load.mask):
            continue
        if is_changed_by(store.result, load.result) and not _is_standardized(flow, store):
            return load
    return None


def _is_standardized(flow: Flow, store: Access) -> bool:
    """Whether a tensor's own mean is taken from it: what is standardized stays as it is."""
    assert store.result is not None
    # Numbers that are loaded, such as lengths, change nothing in that.
    bases = {a.result: a.base for a in flow.loads if "arange" in a.pointer.operations}
    if any(bases.get(v, store.base) != store.base for v in _above_loads(store.result)):
        return False
    scaled = store.result.uncast
    moved = [part for part in scaled.operands if part.uncast.is_binary("Sub")]
    if not scaled.is_binary("Mult", "Div") or not moved:
        return False
    sums = (v for v in _above_loads(moved[0].uncast.operands[1]) if v.is_call(f"{TL}sum"))
    return any(part in bases for total in sums for part in _above_loads(total))


def _above_loads(value: Value) -> Iterator[Value]:
    """What a value is computed from, without the addresses and masks of what is loaded."""
    return values_within(value, lambda part: part.op != "load")


def _is_same_place(load: Access, store: Access, shared: frozenset[frozenset[str]]) -> bool:
    """Whether a load reads what a store writes, also by another name that launches pass for it."""
    if load.base == store.base:
        return load.pointer is store.pointer
    if frozenset((load.base or "", store.base or "")) not in shared:
        return False
    offsets = [exact_offsets(a.pointer, a.base or "", must_be_taken=False) for a in (load, store)]
    return offsets[0] is not None and offsets[0] == offsets[1]


def _shared_buffers(module: Module, kernel: Kernel) -> frozenset[frozenset[str]]:
    """Pairs of parameters for which some launch passes one tensor."""
    found = set()
    for launch in module.launches_of(kernel.name):
        names = [(p, node.id) for p, node in launch.arguments.items() if isinstance(node, ast.Name)]
        for place, (one, tensor) in enumerate(names):
            found |= {frozenset((one, two)) for two, other in names[:place] if other == tensor}
    return frozenset(found)


@detector("autotune_unknown_name")
def autotune_unknown_name(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Names in key, reset_to_zero, restore_value or a configuration that are no parameters."""
    for kernel, _ in triton_kernels(module):
        autotune = kernel.autotune
        rest = (kernel.node.args.vararg, kernel.node.args.kwarg)
        if autotune is None or any(rest):
            continue
        if not decorators_known(module, kernel):
            continue
        known = {p.name for p in kernel.parameters}
        is_refused = (context.triton_version or _REFUSES_KEYS) >= _REFUSES_KEYS
        is_tuned = autotune.configs is None or len(autotune.configs) > 1
        left_out = None if is_refused else POSSIBLE if is_tuned else ADVICE
        lists = {
            "key": autotune.key,
            "reset_to_zero": autotune.reset_to_zero,
            "restore_value": autotune.restore_value,
        }
        for option, names in lists.items():
            unknown = [name for name in names or () if name not in known]
            if unknown:
                what = "is no parameter" if len(unknown) == 1 else "are no parameters"
                yield Finding(
                    tuned_at(module, kernel),
                    f"{' and '.join(unknown)} in {option} {what} of {kernel.name}: "
                    f"{_consequence(option, context)}.",
                    kernel.name,
                    severity=left_out if option == "key" else None,
                )
        yield from _unknown_values(module, kernel, autotune, known)


def _unknown_values(
    module: Module, kernel: Kernel, autotune: Autotune, known: set[str]
) -> Iterator[Finding]:
    """Values of configurations that are neither parameters nor options, each name once.

    The options of all backends are in lower case; another name there may be a new one.
    """
    seen = set(known)
    may_change = "prune_configs_by" in autotune.others
    for config in () if may_change else autotune.configs or ():
        for name in config.options:
            if name not in seen and name.isupper():
                seen.add(name)
                yield Finding(
                    config.range,
                    f"{name} in a configuration is neither a parameter of {kernel.name} nor an "
                    "option: each launch fails.",
                    kernel.name,
                )


def _consequence(option: str, context: AnalysisContext) -> str:
    version = context.triton_version
    if version is not None and version >= _REFUSES_KEYS:
        return "Triton raises an error where the kernel is defined"
    if option == "key":
        return (
            "before Triton 3.9 it is left out of the key without a word, since then it is an error"
        )
    return "the first launch fails"


@kernel_detector("duplicate_launch_option", triton_kernels)
def duplicate_launch_option(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """Options at the launch of a tuned kernel that every configuration passes, stated or not."""
    if kernel.autotune is None or not decorators_known(module, kernel):
        return
    stated = {n for c in kernel.autotune.configs or () for n in (*c.values, *c.options)}
    for launch in tuned_launches(module, kernel):
        for keyword in launch.node.keywords:
            option = keyword.arg or ""
            if option in CONFIG_DEFAULTS and option not in stated:
                text = (
                    f"A configuration passes {option} even where it does not state it (then "
                    f"{CONFIG_DEFAULTS[option]}), and the launch passes it again: it raises a "
                    "TypeError."
                )
                yield keyword.value, text, (Related("tuned here", tuned_at(module, kernel)),)


@kernel_detector("tuned_divisibility_flag", triton_kernels)
def tuned_divisibility_flag(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """A flag among the tuned values under which accesses have no mask."""
    if kernel.autotune is None or not kernel.autotune.configs:
        return
    tuned = {n for c in kernel.autotune.configs for n, v in c.values.items() if v is True}
    for node in nodes_of(kernel.node) if tuned else ():
        flag = _flag(node)
        if flag in tuned and isinstance(node, ast.If) and _drops_mask(flow, node):
            tuned.discard(flag)
            text = (
                f"There is no mask where {flag} is true, and the autotuner tries it on shapes "
                "that it is false for: the fastest configuration may leave the tensor."
            )
            yield node.test, text, (Related("tuned here", tuned_at(module, kernel)),)


def _flag(node: ast.AST) -> str:
    """The name that a conditional asks for, "" for any other node."""
    return node.test.id if isinstance(node, ast.If) and isinstance(node.test, ast.Name) else ""


def _drops_mask(flow: Flow, conditional: ast.If) -> bool:
    """Whether the first branch accesses without a mask what the other accesses with one."""
    here = _accesses_in(flow, conditional.body)
    there = _accesses_in(flow, conditional.orelse)
    return any(
        one.mask is None and two.mask is not None and one.kind == two.kind and _same_place(one, two)
        for one in here
        for two in there
    )


def _same_place(one: Access, two: Access) -> bool:
    return one.base is not None and set(additive_parts(one.pointer)) == set(
        additive_parts(two.pointer)
    )


def _accesses_in(flow: Flow, body: list[ast.stmt]) -> list[Access]:
    nodes = {id(node) for statement in body for node in ast.walk(statement)}
    return [access for access in flow.accesses if id(access.node) in nodes]


def tuned_at(module: Module, kernel: Kernel) -> Range:
    """``triton.autotune`` of the decorator, without its arguments."""
    for decorator in kernel.node.decorator_list:
        if isinstance(decorator, ast.Call) and module.names.is_call(decorator, "triton.autotune"):
            return module.index.range_of(decorator.func)
    return kernel.name_range
