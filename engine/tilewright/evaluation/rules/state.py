"""State that survives a call: globals, containers of the module, caches, defaults, closures."""

import ast
from collections.abc import Iterator

from tilewright.evaluation.rules.aliases import Aliases, is_fresh
from tilewright.evaluation.rules.allowlists import CHANGING, KEEPING_TENSORS, TORCH_MADE, listed
from tilewright.evaluation.rules.model import Finding
from tilewright.evaluation.rules.state_holders import CACHES, is_advancing, keepers
from tilewright.evaluation.rules.tensors import tensor_names
from tilewright.evaluation.rules.view import FUNCTIONS, Function, View, base_of, line_of

_STATE = "a call may leave nothing behind; compute or allocate in the call"
_READING = listed("get items keys values index count copy type multi_processor_count")
_CONSUMERS = listed(
    "len min max sorted list tuple dict set frozenset any all sum enumerate zip range isinstance "
    "str repr iter reversed map filter bool int float print"
)
_KEEPERS = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp, ast.Call)
_LOOKING = (
    ast.Compare, ast.For, ast.comprehension, ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.If,
    ast.keyword, ast.FormattedValue,
)  # fmt: skip


def state(view: View) -> Iterator[Finding]:
    """Everything that one call of host code could leave for the next."""
    yield from _declared(view)
    yield from _defaults(view)
    yield from _caches(view)
    yield from _module_values(view)
    yield from _aliases(view)
    yield from _closures(view)
    yield from _generators(view)


def _declared(view: View) -> Iterator[Finding]:
    for node in (*view.host, *view.kernels):
        if isinstance(node, ast.Global | ast.Nonlocal):
            names = ", ".join(node.names)
            kind = type(node).__name__.lower()
            allowed_by = KEEPING_TENSORS if isinstance(node, ast.Global) else ()
            yield Finding(f"{kind} {names}", line_of(node), _STATE, allowed_by=allowed_by)


def _defaults(view: View) -> Iterator[Finding]:
    for function in view.functions():
        defaults = (*function.args.defaults, *filter(None, function.args.kw_defaults))
        for default in defaults:
            if isinstance(default, _KEEPERS):
                yield Finding(
                    f"the default {ast.unparse(default)}, made once for all calls",
                    line_of(default), _STATE,
                )  # fmt: skip


def _caches(view: View) -> Iterator[Finding]:
    for function in view.functions():
        for decorator in getattr(function, "decorator_list", ()):
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = view.dotted(target)
            if name in CACHES and _touches_tensors(view, function):
                what = f"{name} on tensors"
                yield Finding(what, line_of(decorator), _STATE, allowed_by=KEEPING_TENSORS)


def _touches_tensors(view: View, function: Function) -> bool:
    made = any(
        isinstance(node, ast.Call) and view.dotted(node.func) in TORCH_MADE
        for node in ast.walk(function)
    )
    arguments = {argument.arg for argument in function.args.args} - {"self", "cls"}
    return made or bool(arguments & tensor_names(view, function))


def _module_values(view: View) -> Iterator[Finding]:
    """Uses of a module-level object, in functions, that could change it or keep something in it."""
    kept = keepers(view)
    for node in view.host:
        if not isinstance(node, ast.Name) or node.id not in kept or view.is_local(node):
            continue
        if view.function_of(node) is None:
            continue
        if is_advancing(view, node.id) or not _only_reads(view, node):
            what = f"a use of the module's {node.id} that could change it"
            yield Finding(what, line_of(node), _STATE, allowed_by=KEEPING_TENSORS)


def _only_reads(view: View, node: ast.Name) -> bool:
    """Whether a use of a name can but look at what it stands for."""
    above = view.parent(node)
    if isinstance(above, ast.Subscript):
        return _is_loaded(view, above) if above.value is node else True
    if isinstance(above, ast.Attribute):
        called = isinstance(view.parent(above), ast.Call)
        return _is_loaded(view, above) and (not called or above.attr in _READING)
    if isinstance(above, ast.Call):
        is_launched = above.func is node
        return is_launched or (isinstance(above.func, ast.Name) and above.func.id in _CONSUMERS)
    if isinstance(above, ast.IfExp):
        return above.test is node
    return isinstance(above, _LOOKING)


def _is_loaded(view: View, node: ast.Subscript | ast.Attribute) -> bool:
    """Whether an access, or what is accessed below it, is only read."""
    top: ast.expr = node
    while True:
        if isinstance(top, ast.Subscript | ast.Attribute) and not isinstance(top.ctx, ast.Load):
            return False
        above = view.parent(top)
        if isinstance(above, ast.Call) and above.func is top:
            if isinstance(top, ast.Attribute) and top.attr in CHANGING:
                return False
        elif not (isinstance(above, ast.Subscript | ast.Attribute) and above.value is top):
            break
        top = above
    return not (isinstance(above, ast.AugAssign) and above.target is top)


def _aliases(view: View) -> Iterator[Finding]:
    """Changes of what outlives the call by another name: ``box = BOXES[0]; box.append(x)``."""
    known = Aliases.from_view(view)
    for node in view.host:
        base = _changed(node) or _extended(node)
        origin = known.origin(base) if isinstance(base, ast.Name) else None
        if isinstance(base, ast.Name) and origin is not None:
            what = f"a change of {base.id}, which is a part of {origin},"
            yield Finding(what, line_of(node), _STATE, allowed_by=KEEPING_TENSORS)


def _extended(node: ast.AST) -> ast.AST | None:
    """``box += [x]`` changes a list; a sum of numbers is a new one."""
    match node:
        case ast.AugAssign(target=ast.Name() as target, value=value) if is_fresh(value):
            return target
    return None


def _closures(view: View) -> Iterator[Finding]:
    """A function within a function that changes what the outer one holds."""
    for node in view.host:
        base = _changed(node)
        if isinstance(base, ast.Name) and _is_free(view, base):
            yield Finding(f"a change of {base.id} from an inner function", line_of(node), _STATE)


def _changed(node: ast.AST) -> ast.AST | None:
    """What an item store or a mutating method changes."""
    match node:
        case ast.Subscript(ctx=ast.Store() | ast.Del()):
            return base_of(node)
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in CHANGING:
            return base_of(owner)
    return None


def _is_free(view: View, node: ast.Name) -> bool:
    """Whether a name is bound by an outer function and used in an inner one."""
    functions = [above for above in view.enclosing_nodes(node) if isinstance(above, FUNCTIONS)]
    if not functions or node.id in view.locals_of(functions[0]):
        return False
    return any(node.id in view.locals_of(function) for function in functions[1:])


def _generators(view: View) -> Iterator[Finding]:
    for node in view.host:
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await):
            yield Finding("a function that stops in the middle (yield)", line_of(node), _STATE)
        elif isinstance(node, ast.Name) and node.id == "next" and not view.is_local(node):
            yield Finding("a use of next", line_of(node), _STATE)
