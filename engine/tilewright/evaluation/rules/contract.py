"""The entry point's contract, and which kernels it comes to."""

import ast
from collections.abc import Iterator

from tilewright.evaluation.rules.model import Finding, Grade
from tilewright.evaluation.rules.view import is_script
from tilewright.problems.model import Entry, EntryKind
from tilewright.source.callgraph import call_graph
from tilewright.source.model import Language, Module

_STAY = "its work must stay in Triton"


def contract(original: Module, candidate: Module, entry: Entry | None) -> Iterator[Finding]:
    """Kernels and launches that are gone, and what became of the entry point."""
    yield from _kernels(original, candidate, entry)
    if entry is None or entry.path is not None or entry.kind is EntryKind.LAUNCH:
        return
    yield from _entry(original, candidate, entry)
    yield from _unused(original, candidate, entry)


def _kernels(original: Module, candidate: Module, entry: Entry | None) -> Iterator[Finding]:
    """Kernels may be fused and split; one that is launched by itself must stay what it is."""
    if entry is not None and _is_kernel(original, entry):
        if not _is_kernel(candidate, entry):
            what = f"the entry point {entry.name} is no NKI kernel any more"
            yield Finding(what, 1, "keep its decorator")
        return
    is_called = entry is not None and entry.kind is not EntryKind.LAUNCH and entry.path is None
    reached = _reached(candidate, entry) if entry is not None and is_called else frozenset()
    there = {kernel.name for kernel in candidate.kernels}
    wanted = _reached(original, entry) if entry is not None and is_called else frozenset()
    is_picked = bool(is_called) and not reached and _picks(candidate)
    for kernel in original.entry_kernels():
        if kernel.name not in there:
            what, way_out = f"kernel {kernel.name} is gone", "keep it under its name"
        elif not candidate.launches_of(kernel.name) and kernel.name not in reached:
            what, way_out = f"kernel {kernel.name} is no longer launched", _STAY
        else:
            continue
        if reached or is_picked:
            yield Finding(what, 1, "other kernels must do its work", Grade.EVIDENCE)
        else:
            yield Finding(what, 1, way_out)
    if wanted and not reached and entry is not None:
        grade = Grade.EVIDENCE if is_picked else Grade.HARD
        yield Finding(f"{entry.name} launches no kernel", 1, _STAY, grade)


def _is_kernel(module: Module, entry: Entry) -> bool:
    """Whether the entry point is itself a kernel, as those of NKI are."""
    kernel = module.kernel(entry.name) if entry.path is None else None
    return kernel is not None and kernel.language is Language.NKI


def _picks(module: Module) -> bool:
    """Whether a kernel is handed on and something that no text names is launched: by a helper, or
    from a table. What is launched then shows when it runs."""
    kernels = {kernel.name for kernel in module.kernels}
    used = {
        node.id
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in kernels
    }
    inside = {id(node) for kernel in module.kernels for node in ast.walk(kernel.node)}
    launched = (
        node.func.value
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)
        if id(node) not in inside
    )
    return bool(used) and any(not _names(one, kernels) for one in launched)


def _names(node: ast.expr, kernels: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in kernels


def _reached(module: Module, entry: Entry) -> frozenset[str]:
    steps = call_graph(module).reached(_name(module, entry))
    launched = frozenset(s.edge.launch.kernel for s in steps if s.edge.launch is not None)
    return launched | _reached_without_grid(module, entry)


def _reached_without_grid(module: Module, entry: Entry) -> frozenset[str]:
    """NKI kernels that the entry point calls as ``kernel(x)``, itself or through its helpers."""
    kernels = {one.name for one in module.kernels if one.language is Language.NKI}
    hosts = {
        node.name: node
        for node in module.tree.body
        if isinstance(node, ast.FunctionDef) and node.name not in kernels
    }
    found: set[str] = set()
    seen: set[str] = set()
    ahead = [entry.name] if kernels else []
    while ahead:
        name = ahead.pop()
        found |= {name} & kernels
        if name in seen or name not in hosts:
            continue
        seen.add(name)
        ahead += [
            node.func.id
            for node in ast.walk(hosts[name])
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        ]
    return frozenset(found)


def _entry(original: Module, candidate: Module, entry: Entry) -> Iterator[Finding]:
    before, after = _definitions(original, entry), _definitions(candidate, entry)
    if not before:
        return
    if not after:
        yield Finding(f"the entry point {entry.name} is gone", 1, "the problem calls it")
        return
    is_other = _name(original, entry) != _name(candidate, entry)
    # Of another model arguments may have other names.
    new = (
        () if is_other and _arity(before[-1]) == _arity(after[-1]) else added(before[-1], after[-1])
    )
    for name in new or ():
        yield new_parameter(after[-1], name)
    if new is None:
        yield Finding(
            f"the entry point {entry.name} changed its parameters from "
            f"({_signature(before[-1])}) to ({_signature(after[-1])})",
            after[-1].lineno, "keep them as they are",
        )  # fmt: skip
    before_times, times = (_bindings(m.tree, _name(m, entry)) for m in (original, candidate))
    if len(after) > len(before) or times > before_times:
        yield Finding(
            f"{entry.name} is bound more than once", after[-1].lineno, "define the entry point once"
        )


def _name(module: Module, entry: Entry) -> str:
    """What the entry point is called in a file."""
    return entry.name_in([n.name for n in module.tree.body if isinstance(n, ast.ClassDef)])


def _definitions(module: Module, entry: Entry) -> list[ast.FunctionDef]:
    body: list[ast.stmt] = module.tree.body
    name = entry.name
    if entry.kind is EntryKind.MODEL:
        called = _name(module, entry)
        found = [n for n in body if isinstance(n, ast.ClassDef) and n.name == called]
        body, name = (found[-1].body if found else []), "forward"
    return [n for n in body if isinstance(n, ast.FunctionDef) and n.name == name]


def _bindings(tree: ast.Module, name: str) -> int:
    """How often module-level code binds a name, in whatever way."""
    found = 0
    pending: list[ast.AST] = [one for one in tree.body if not is_script(one)]
    while pending:
        node = pending.pop()
        bound = getattr(node, "asname", None) or getattr(node, "name", None)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            bound = node.id
        found += bound == name
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            pending.extend(ast.iter_child_nodes(node))
    return found


def _signature(function: ast.FunctionDef) -> str:
    return ast.unparse(function.args)


def _arity(function: ast.FunctionDef) -> str:
    args = function.args
    return f"{len(args.posonlyargs) + len(args.args)} {bool(args.vararg)} {len(args.defaults)}"


def _unused(original: Module, candidate: Module, entry: Entry) -> Iterator[Finding]:
    """Arguments that the original's entry point reads and the candidate's does not."""
    before, after = _definitions(original, entry), _definitions(candidate, entry)
    if not before or not after or _name(original, entry) != _name(candidate, entry):
        return
    for name in sorted(_reads(before[-1]) - _reads(after[-1])):
        yield Finding(
            f"the argument {name} is not used any more", after[-1].lineno,
            "results for other values of it must agree", Grade.EVIDENCE,
        )  # fmt: skip


def _reads(function: ast.FunctionDef) -> frozenset[str]:
    names = {argument.arg for argument in function.args.args}
    return frozenset(
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load)
    )


def added(before: ast.FunctionDef, after: ast.FunctionDef) -> tuple[str, ...] | None:
    """Parameters that are new and have defaults, where the others are as they were; None where
    calls of the original could mean something else. Annotations do not count."""
    old, new = before.args, after.args
    known, now = _positional(old), _positional(new)
    is_same = now[: len(known)] == known and len(new.posonlyargs) == len(old.posonlyargs)
    named, now_named = _named(old), _named(new)
    is_same &= all(now_named.get(name) == default for name, default in named.items())
    is_same &= _argument_name(old.vararg) == _argument_name(new.vararg) and _argument_name(
        old.kwarg
    ) == _argument_name(new.kwarg)
    more = (*now[len(known) :], *((n, d) for n, d in now_named.items() if n not in named))
    if not is_same or any(default is None for _, default in more):
        return None
    return tuple(name for name, _ in more)


def _positional(args: ast.arguments) -> list[tuple[str, str | None]]:
    """(name, default as text) in order."""
    names = [argument.arg for argument in (*args.posonlyargs, *args.args)]
    needed: list[str | None] = [None] * (len(names) - len(args.defaults))
    return list(zip(names, needed + [ast.unparse(one) for one in args.defaults], strict=True))


def _named(args: ast.arguments) -> dict[str, str | None]:
    pairs = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    return {one.arg: None if default is None else ast.unparse(default) for one, default in pairs}


def _argument_name(argument: ast.arg | None) -> str | None:
    return None if argument is None else argument.arg


def new_parameter(function: ast.FunctionDef, name: str) -> Finding:
    """One that nothing uses can do no more than tell who calls."""
    is_used = any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for node in ast.walk(function)
    )
    if not is_used:
        what = f"the new parameter {name} of {function.name}, which nothing uses,"
        return Finding(what, function.lineno, "leave it out")
    return Finding(
        f"the new parameter {name} of {function.name}", function.lineno,
        "it had its default in every check", Grade.EVIDENCE,
    )  # fmt: skip
