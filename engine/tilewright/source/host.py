"""Host code around a launch: what its local names stand for, and what tensors look like.

Only straight-line code is followed: what an enclosing block did before the launch. A name
set in a branch the launch is not in, or in a loop, stands for nothing known.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewright.python_syntax import descendants
from tilewright.source.model import Launch, Module
from tilewright.source.node_memo import memo_of, per_node

_FRESH = frozenset(
    f"torch.{name}" for name in ("empty", "zeros", "ones", "full", "rand", "randn", "arange")
)
_LIKE = frozenset(f"torch.{name}_like" for name in ("empty", "zeros", "ones", "full", "rand"))


@dataclass(frozen=True)
class Assigned:
    """What a name was last given before the launch. ``position`` is its place in a tuple.

    With a position, ``value`` is the whole right-hand side: ``M, K = a.shape`` gives K
    position 1 of ``a.shape``; ``count`` is how many names were unpacked.
    """

    value: ast.expr
    statement: ast.stmt
    position: int | None = None
    count: int = 1


def host_of(module: Module, launch: Launch) -> ast.FunctionDef | None:
    """The function a launch stands in."""
    return module.host_functions.get(launch.host_function or "")


def before_launch(module: Module, launch: Launch) -> Iterator[ast.stmt]:
    """Statements that run before the launch whenever it runs, latest first."""
    host = host_of(module, launch)
    return iter(() if host is None else _statements_before(host, launch.node))


def _statements_before(host: ast.FunctionDef, call: ast.Call) -> tuple[ast.stmt, ...]:
    known: dict[ast.Call, tuple[ast.stmt, ...]] = memo_of(host).setdefault(_statements_before, {})
    if call not in known:
        known[call] = _straight_before(host, call)
    return known[call]


def _straight_before(host: ast.FunctionDef, call: ast.Call) -> tuple[ast.stmt, ...]:
    found: list[ast.stmt] = []
    body: list[ast.stmt] | None = host.body
    while body is not None:
        inner: list[ast.stmt] | None = None
        for statement in body:
            if _holds(statement, call):
                found += _heads(statement)
                inner = _block_with(statement, call)
                break
            found.append(statement)
        body = inner
    return tuple(reversed(found))


def _heads(statement: ast.stmt) -> list[ast.stmt]:
    """What a statement binds before its block runs: a loop's names, or those behind "as"."""
    match statement:
        case ast.For(target=target, iter=over):
            head: ast.stmt = ast.For(target=target, iter=over, body=[], orelse=[])
        case ast.With(items=items):
            head = ast.With(items=items, body=[])
        case _:
            return []
    return [ast.copy_location(head, statement)]


def last_assigned(module: Module, launch: Launch, name: str) -> Assigned | None:
    """What ``name`` was last assigned before the launch; None if that is not certain."""
    for statement in before_launch(module, launch):
        if name not in bound_names(statement):
            continue
        return _assigned(statement, name)
    return None


def resolve(module: Module, launch: Launch, node: ast.expr) -> ast.expr:
    """``node``, or what it was last assigned if it is a name with a plain assignment."""
    for _ in range(8):
        if not isinstance(node, ast.Name):
            break
        found = last_assigned(module, launch, node.id)
        if found is None or found.position is not None:
            break
        node = found.value
    return node


def is_fresh(module: Module, launch: Launch, node: ast.expr) -> bool:
    """Whether an argument is a tensor the host function has just allocated."""
    value = resolve(module, launch, node)
    return module.names.is_call(value, *_FRESH, *_LIKE)


def provably_stride_one(module: Module, launch: Launch, parameter: str) -> bool:
    """Whether the argument of a launch is 1 for every input the host function accepts."""
    node = launch.arguments.get(parameter)
    if node is None:
        return False
    if isinstance(node, ast.Name):
        found = last_assigned(module, launch, node.id)
        if found is None:
            return False
        if found.position is not None:
            return _unpacked_stride_one(module, launch, found)
        node = found.value
    if isinstance(node, ast.Constant):
        return type(node.value) is int and node.value == 1
    tensor, arguments = _method(node, "stride")
    axis = _integer(arguments[0]) if len(arguments) == 1 else None
    if tensor is None or axis is None:
        return False
    return _last_axis_contiguous(module, launch, tensor, axis)


def _unpacked_stride_one(module: Module, launch: Launch, found: Assigned) -> bool:
    tensor, arguments = _method(found.value, "stride")
    if tensor is None or arguments or found.position != found.count - 1:
        return False
    return is_contiguous(module, launch, tensor)


def _last_axis_contiguous(module: Module, launch: Launch, tensor: ast.expr, axis: int) -> bool:
    rank = rank_of(module, launch, tensor)
    is_last = axis == -1 or (rank is not None and axis == rank - 1)
    return is_last and is_contiguous(module, launch, tensor)


def is_contiguous(
    module: Module, launch: Launch, tensor: ast.expr, asked: frozenset[str] = frozenset()
) -> bool:
    """Whether a tensor is contiguous at the launch because the host function saw to it.

    ``asked`` holds the names on which the answer hangs already; none may hang on itself.
    """
    if not isinstance(tensor, ast.Name):
        return _makes_contiguous(module, launch, tensor, asked)
    if tensor.id in asked:
        return False
    for statement in before_launch(module, launch):
        if _asserts_contiguous(statement, tensor.id):
            return True
        if tensor.id in bound_names(statement):
            found = _assigned(statement, tensor.id)
            if found is None:
                return False
            if found.position is not None:
                return _is_saved_contiguous(module, launch, found)
            return _makes_contiguous(module, launch, found.value, asked | {tensor.id})
    return False


def _is_saved_contiguous(module: Module, launch: Launch, found: Assigned) -> bool:
    """Whether a name is taken out of ``ctx.saved_tensors`` and the forward pass of the class saved
    a contiguous tensor in its place."""
    owner, _, method = (launch.host_function or "").rpartition(".")
    forward = module.host_functions.get(f"{owner}.forward")
    is_saved = isinstance(found.value, ast.Attribute) and found.value.attr == "saved_tensors"
    if method != "backward" or forward is None or not is_saved:
        return False
    calls = [node for node in ast.walk(forward) if isinstance(node, ast.Call)]
    saves = [call for call in calls if _is_method(call, "save_for_backward")]
    if len(saves) != 1:
        return False
    given = saves[0].args
    if len(given) != found.count or any(isinstance(one, ast.Starred) for one in given):
        return False
    there = replace(launch, node=saves[0], host_function=f"{owner}.forward")
    return is_contiguous(module, there, given[found.position or 0])


def _makes_contiguous(
    module: Module, launch: Launch, value: ast.expr, asked: frozenset[str]
) -> bool:
    if _is_method(value, "contiguous"):
        return True
    if module.names.is_call(value, *_FRESH):
        return not _has_keyword(value, "memory_format", "layout")
    if module.names.is_call(value, *_LIKE) and isinstance(value, ast.Call) and value.args:
        source = value.args[0]
        # An allocation like a name that is rebound later has the old tensor's strides.
        return (
            isinstance(source, ast.Name)
            and _bound_at_most_once(module, launch, source.id)
            and is_contiguous(module, launch, source, asked)
        )
    return False


def _bound_at_most_once(module: Module, launch: Launch, name: str) -> bool:
    return sum(name in bound_names(s) for s in before_launch(module, launch)) <= 1


def rank_of(module: Module, launch: Launch, tensor: ast.expr) -> int | None:
    """How many dimensions a tensor has, where an unpacked shape or an allocation tells."""
    if not isinstance(tensor, ast.Name):
        return None
    for statement in before_launch(module, launch):
        if isinstance(statement, ast.Assign) and _is_shape_of(statement.value, tensor.id):
            targets = statement.targets[0]
            if isinstance(targets, ast.Tuple) and not _starred(targets):
                return len(targets.elts)
        if tensor.id in bound_names(statement):
            found = _assigned(statement, tensor.id)
            return None if found is None else _allocated_rank(module, found.value)
    return None


def _allocated_rank(module: Module, value: ast.expr) -> int | None:
    if not module.names.is_call(value, *_FRESH) or not isinstance(value, ast.Call):
        return None
    if len(value.args) == 1 and isinstance(value.args[0], ast.Tuple | ast.List):
        return None if _starred(value.args[0]) else len(value.args[0].elts)
    return None


def _is_shape_of(node: ast.expr, tensor: str) -> bool:
    if _is_method(node, "size") and isinstance(node, ast.Call) and not node.args:
        node = node.func
    return (
        isinstance(node, ast.Attribute)
        and node.attr in ("shape", "size")
        and isinstance(node.value, ast.Name)
        and node.value.id == tensor
    )


def _asserts_contiguous(statement: ast.stmt, tensor: str) -> bool:
    """``assert t.is_contiguous()``, or ``if not t.is_contiguous(): t = t.contiguous()``."""
    if isinstance(statement, ast.Assert):
        tests = statement.test
        parts = tests.values if isinstance(tests, ast.BoolOp) and _is_and(tests) else [tests]
        return any(_asks_contiguous(part, tensor) for part in parts)
    if not isinstance(statement, ast.If) or statement.orelse:
        return False
    test = statement.test
    if not isinstance(test, ast.UnaryOp) or not _asks_contiguous(test.operand, tensor):
        return False
    last = statement.body[-1]
    if isinstance(last, ast.Raise):
        return True
    found = _assigned(last, tensor)
    return found is not None and _is_method(found.value, "contiguous")


def _is_and(node: ast.BoolOp) -> bool:
    return isinstance(node.op, ast.And)


def _asks_contiguous(node: ast.expr, tensor: str) -> bool:
    owner, arguments = _method(node, "is_contiguous")
    return isinstance(owner, ast.Name) and owner.id == tensor and not arguments


def _assigned(statement: ast.stmt, name: str) -> Assigned | None:
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return Assigned(statement.value, statement)
    if not isinstance(statement, ast.Assign):
        return None
    for target in statement.targets:
        if isinstance(target, ast.Name) and target.id == name:
            return Assigned(statement.value, statement)
        if isinstance(target, ast.Tuple) and not _starred(target):
            places = [i for i, e in enumerate(target.elts) if isinstance(e, ast.Name)]
            names = [e.id if isinstance(e, ast.Name) else None for e in target.elts]
            if name in names and len(places) == len(names):
                return _part(statement, len(names) - 1 - names[::-1].index(name), len(names))
    return None


def _part(statement: ast.Assign, position: int, count: int) -> Assigned:
    value = statement.value
    if isinstance(value, ast.Tuple) and len(value.elts) == count:
        return Assigned(value.elts[position], statement)
    return Assigned(value, statement, position, count)


@per_node
def bound_names(statement: ast.stmt) -> frozenset[str]:
    """Names a statement may bind, at any depth."""
    defines = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return frozenset(
        node.name if isinstance(node, defines) else node.id
        for node in descendants(statement)
        if isinstance(node, defines)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del))
    )


def _holds(statement: ast.stmt, node: ast.Call) -> bool:
    if not statement.lineno <= node.lineno <= (statement.end_lineno or statement.lineno):
        return False
    return any(child is node for child in descendants(statement))


def _block_with(statement: ast.stmt, node: ast.Call) -> list[ast.stmt] | None:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list) and any(_holds(s, node) for s in block):
            return block
    return None


def _starred(node: ast.Tuple | ast.List) -> bool:
    return any(isinstance(e, ast.Starred) for e in node.elts)


def _is_method(node: ast.expr, name: str) -> bool:
    return _method(node, name)[0] is not None


def _method(node: ast.expr, name: str) -> tuple[ast.expr | None, list[ast.expr]]:
    """Owner and arguments of ``owner.name(...)``; no owner if ``node`` is no such call."""
    func = node.func if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or not isinstance(func, ast.Attribute) or func.attr != name:
        return None, []
    return func.value, node.args


def _has_keyword(node: ast.expr, *names: str) -> bool:
    return isinstance(node, ast.Call) and any(k.arg in names for k in node.keywords)


def _integer(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _integer(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None
