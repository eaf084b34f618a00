"""Detector of launches, and calls of helpers, whose arguments do not fit the parameters."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from tilewright.analysis.detectors.common import (
    decorators_known,
    named_launches,
    triton_kernels,
)
from tilewright.analysis.detectors.registry import Reports, kernel_detector
from tilewright.analysis.model import Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.per_kernel import per_module
from tilewright.analysis.values import Flow
from tilewright.python_syntax import passes_unseen
from tilewright.source.autotuning import AUTOTUNE, CONFIG
from tilewright.source.host import before_launch, bound_names
from tilewright.source.model import Kernel, Launch, Module

_FAILS = "the launch raises an error"


@kernel_detector("launch_arguments", triton_kernels)
def launch_arguments(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """Arguments of a launch, or of a call, that are missing, too many, unknown or given twice."""
    yield from _misfit_calls(module, flow)
    if not _is_signature_known(module, kernel):
        return
    for launch in named_launches(module, kernel):
        if launch.is_certain and isinstance(launch.node.func, ast.Subscript):
            message = _misfit(module, kernel, launch) or _given_twice(module, launch)
            message = message or _address_passed(kernel, launch, flow)
            if message is not None:
                yield launch.node.func, message, (Related("parameters", kernel.name_range),)


def _misfit_calls(module: Module, flow: Flow) -> Reports:
    """Calls of the file's helpers with too few arguments, too many, or unknown ones."""
    for node, value, _ in flow.placed:
        source = flow.sources.get(value)
        name = str(value.detail) if value.op == "call" else source.name if source else ""
        helper = module.lookup.kernels.get(name)
        if helper is None or len(module.lookup.named.get(name, ())) != 1:
            continue
        message = _misfit_call(helper, node)
        if message is not None and not (source and source.is_method) and not module.problems:
            yield node, message, (Related("parameters", helper.name_range),)


def _misfit_call(helper: Kernel, node: ast.Call) -> str | None:
    args = helper.node.args
    if args.vararg or args.kwarg or passes_unseen(node):
        return None
    known = [parameter.name for parameter in helper.parameters]
    given = [*known[: len(node.args)], *(k.arg for k in node.keywords if k.arg is not None)]
    if len(node.args) > len(known):
        return (
            f"{helper.name} has {len(known)} parameters and this call passes {len(node.args)} "
            "arguments: it does not compile."
        )
    unknown = [name for name in given if name not in known and not name.startswith("_")]
    if unknown:
        return f"{helper.name} has no parameter {_listed(unknown)}: this does not compile."
    missing = [p.name for p in helper.parameters if p.default is None and p.name not in given]
    if missing:
        listed = _listed(missing)
        return f"This call passes nothing for {listed} of {helper.name}: it does not compile."
    return None


def _is_signature_known(module: Module, kernel: Kernel) -> bool:
    """Whether the parameters that a launch binds to are those of the text."""
    args = kernel.node.args
    return (
        args.vararg is None
        and args.kwarg is None
        and len(module.lookup.named[kernel.name]) == 1
        and decorators_known(module, kernel)
        and all(_are_names_stated(module, kernel, d) for d in kernel.node.decorator_list)
        and not module.problems
    )


def _are_names_stated(module: Module, kernel: Kernel, decorator: ast.expr) -> bool:
    """Whether the parameters that a decorator gives values to are in the text."""
    if not module.names.is_call(decorator, "triton.heuristics"):
        return True
    values = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else None
    return isinstance(values, ast.Dict) and len(values.keys) <= len(kernel.heuristics)


def _misfit(module: Module, kernel: Kernel, launch: Launch) -> str | None:
    """What of a launch does not fit; None where it fits, or may."""
    known = [parameter.name for parameter in kernel.parameters]
    positional = [a for a in launch.node.args if not isinstance(a, ast.Starred)]
    if len(positional) > len(known):
        return (
            f"{kernel.name} has {len(known)} parameters and the launch passes "
            f"{len(positional)} positional arguments: {_FAILS}."
        )
    is_plain = len(positional) == len(launch.node.args)
    keywords = [k.arg for k in launch.node.keywords if k.arg is not None]
    twice = sorted(set(known[: len(positional)]) & set(keywords)) if is_plain else []
    if twice:
        return f"{_listed(twice)} is given both by position and by name: {_FAILS}."
    chosen = sorted(set(known[: len(positional)]) & set(kernel.heuristics)) if is_plain else []
    if chosen:
        return f"{_listed(chosen)} is given both by position and by a heuristic: {_FAILS}."
    unknown = [name for name in keywords if name not in known and name.isupper()]
    if unknown:
        return f"{kernel.name} has no parameter {_listed(unknown)}: {_FAILS}."
    missing = _missing(kernel, launch) if launch.is_complete else []
    missing = [name for name in missing if name not in _configured_elsewhere(module)]
    if missing:
        return f"The launch passes nothing for {_listed(missing)} of {kernel.name}: {_FAILS}."
    return None


def _address_passed(kernel: Kernel, launch: Launch, flow: Flow) -> str | None:
    """An integer from ``data_ptr()`` for what the kernel loads from, and does not cast before."""
    addresses = [name for name, node in launch.arguments.items() if _is_address(node)]
    if not addresses or "pointer_type" in kernel.text or "cast(" in kernel.text:
        return None
    annotated = {a.arg for a in nodes_like(kernel.node, ast.arg) if a.annotation is not None}
    used = {access.base for access in flow.accesses} - annotated
    bases = [name for name in addresses if name in used and f"{name}.to(" not in kernel.text]
    if not bases:
        return None
    return (
        f"{_listed(bases)} of {kernel.name} gets an address, which is an integer to Triton: what "
        "is loaded or stored there does not compile. Pass the tensor."
    )


def _is_address(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="data_ptr"), args=[], keywords=[]):
            return True
    return False


def _given_twice(module: Module, launch: Launch) -> str | None:
    """A keyword of the launch that is also a key of a dict expanded into it."""
    stated = {keyword.arg for keyword in launch.node.keywords if keyword.arg is not None}
    for keyword in launch.node.keywords:
        if keyword.arg is None and isinstance(keyword.value, ast.Name | ast.Dict):
            for key in _keys(module, launch, keyword.value):
                if key in stated:
                    return (
                        f"The launch passes {key}, and {ast.unparse(keyword.value)} has it as a "
                        f"key and is expanded into the same call: {_FAILS}."
                    )
    return None


def _keys(module: Module, launch: Launch, node: ast.expr) -> Iterator[str]:
    """Keys that a dict surely has at a launch, as its literal and the statements after it say."""
    if isinstance(node, ast.Name):
        for statement in before_launch(module, launch):
            key = _key_set(statement, node.id)
            if key is not None:
                yield key
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == node.id:
                    yield from _literal_keys(module, value)
            if node.id in bound_names(statement) or _may_drop(statement, node.id):
                return
    yield from _literal_keys(module, node)


def _literal_keys(module: Module, node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Dict):
        constants = (key.value for key in node.keys if isinstance(key, ast.Constant))
        yield from (key for key in constants if isinstance(key, str))
    elif isinstance(node, ast.Call) and module.names.is_call(node, "dict"):
        yield from (k.arg for k in node.keywords if k.arg is not None)


def _key_set(statement: ast.stmt, name: str) -> str | None:
    """The key of ``name["key"] = value``."""
    match statement:
        case ast.Assign(
            targets=[
                ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str() as key))
            ]
        ):
            return key if owner == name else None
    return None


def _may_drop(statement: ast.stmt, name: str) -> bool:
    """Whether a statement may take a key out of a dict."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr in ("pop", "clear", "popitem"))
        or isinstance(node, ast.Delete)
        for node in ast.walk(statement)
    ) and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(statement))


@per_module
def _configured_elsewhere(module: Module) -> frozenset[str]:
    """Names that configurations set which the file hands to other code than the list of a tuner.

    A pruning hook may make new configurations, and a tuner of the project's own rewrite launches.
    """
    if not module.lookup.says("Config("):
        return frozenset()
    listed = {id(node) for part in _listed_configs(module) for node in ast.walk(part)}
    parts = {
        statement: [node for node in ast.walk(statement) if id(node) not in listed]
        for statement in module.tree.body
    }
    used = _used_names(parts)
    return frozenset(
        str(key.value)
        for statement, nodes in parts.items()
        if used & _names_of(statement) or isinstance(statement, ast.Expr)
        for node in nodes
        if isinstance(node, ast.Call) and module.names.is_call(node, CONFIG)
        for values in node.args[:1]
        if isinstance(values, ast.Dict)
        for key in values.keys
        if isinstance(key, ast.Constant)
    )


def _used_names(parts: Mapping[ast.stmt, Sequence[ast.AST]]) -> set[str]:
    """The names that statements at the top of a file read; an assignment if its name is read."""
    read = {
        statement: {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        for statement, nodes in parts.items()
    }
    used = set[str]().union(*(names for s, names in read.items() if not isinstance(s, ast.Assign)))
    while True:
        more = set[str]().union(*(names for s, names in read.items() if used & _names_of(s)))
        if more <= used:
            return used
        used |= more


def _listed_configs(module: Module) -> Iterator[ast.expr]:
    """What decorators of kernels take as the list of configurations."""
    for kernel in module.kernels:
        for decorator in kernel.node.decorator_list:
            if isinstance(decorator, ast.Call) and module.names.is_call(decorator, AUTOTUNE):
                yield from decorator.args[:1]
                yield from (k.value for k in decorator.keywords if k.arg == "configs")


def _names_of(statement: ast.stmt) -> set[str]:
    """The names that a statement at the top of a file gives to what it holds."""
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _missing(kernel: Kernel, launch: Launch) -> list[str]:
    """Parameters without a default that neither the launch, the tuner nor a heuristic gives."""
    given = {*launch.arguments, *launch.options, *kernel.heuristics}
    tuned = kernel.autotune
    if tuned is not None and not tuned.configs:
        return []
    if tuned is not None and tuned.configs:
        # ``meta=`` is how old releases named the values: the list itself is what fails then.
        if any(config.has_hook or "meta" in config.options for config in tuned.configs):
            return []
        given |= {"num_warps", "num_stages", "num_ctas", "maxnreg"}
        given |= {name for c in tuned.configs for name in (*c.values, *c.options)}
    return [p.name for p in kernel.parameters if p.default is None and p.name not in given]


def _listed(names: list[str]) -> str:
    return ", ".join(names)
