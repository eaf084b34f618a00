"""Local names of a host function that are tensors according to the text."""

import ast

from tilewright.evaluation.rules.allowlists import (
    CALLED_TELLING,
    COMPUTING,
    SHAPING,
    TELLING,
    TORCH_MADE,
)
from tilewright.evaluation.rules.view import Function, View

_ROUNDS = 4
_INSTANCES = {"self", "cls", "ctx"}
_NO_TENSOR = ("item", "tolist", "numpy", "_version", "untyped_storage", "storage")


def tensor_names(view: View, function: Function) -> frozenset[str]:
    """Parameters and locals that are tensors: annotated so, used so, or made from such."""
    known = {
        argument.arg
        for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if argument.annotation is not None and "Tensor" in ast.unparse(argument.annotation)
    }
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in TELLING:
                known |= {name} & view.locals_of(function) - _INSTANCES
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)):
                if attr in CALLED_TELLING:
                    known |= {name} & view.locals_of(function) - _INSTANCES
    for _ in range(_ROUNDS):
        before = len(known)
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and is_tensor(view, node.value, frozenset(known)):
                known |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if len(known) == before:
            break
    return frozenset(known)


def is_tensor(view: View, node: ast.AST, known: frozenset[str]) -> bool:
    """Whether an expression is certainly a tensor, given names that are."""
    match node:
        case ast.Name(id=name):
            return name in known
        case ast.Call(func=ast.Attribute() as called):
            return _gives_tensor(view, called, known)
        case ast.Attribute(value=owner, attr="T" | "mT" | "data"):
            return is_tensor(view, owner, known)
        case ast.Subscript(value=owner):
            return is_tensor(view, owner, known)
        case ast.BinOp(left=left, right=right):
            return is_tensor(view, left, known) or is_tensor(view, right, known)
        case ast.UnaryOp(operand=operand):
            return is_tensor(view, operand, known)
        case ast.IfExp(body=body, orelse=other):
            return is_tensor(view, body, known) or is_tensor(view, other, known)
    return False


def _gives_tensor(view: View, called: ast.Attribute, known: frozenset[str]) -> bool:
    dotted = view.dotted(called)
    if dotted is not None and dotted.startswith("torch."):
        return dotted in TORCH_MADE or (dotted.count(".") == 1 and called.attr in COMPUTING)
    if _is_of_module(view, called):
        return False
    if called.attr in COMPUTING:
        return called.attr not in _NO_TENSOR and not is_limits(view, called.value)
    return called.attr in SHAPING and is_tensor(view, called.value, known)


def is_limits(view: View, node: ast.AST) -> bool:
    """Whether an expression is the limits of a dtype, which have a ``max`` and a ``min``."""
    return isinstance(node, ast.Call) and view.dotted(node.func) in ("torch.finfo", "torch.iinfo")


def _is_of_module(view: View, node: ast.AST) -> bool:
    """Whether a name is a module's other than torch's: ``math.sqrt`` gives no tensor."""
    dotted = view.dotted(node)
    return dotted is not None and dotted.partition(".")[0] in {"math", *view.modules} - {"torch"}
