"""Objects of a module that could hold state between calls, and their names."""

import ast

from tilewright.evaluation.rules.allowlists import listed
from tilewright.evaluation.rules.view import View, base_of, line_of

CACHES = ("functools.lru_cache", "functools.cache", "functools.cached_property")
_UNCHANGING = listed(
    "bool int float str tuple frozenset len max min round math.sqrt math.log math.log2 "
    "triton.language.constexpr triton.cdiv triton.next_power_of_2 torch.device torch.iinfo "
    "torch.finfo logging.getLogger typing.TypeVar"
)
_ADVANCING = listed("enumerate zip map filter iter reversed")
_GIVING = ("torch.", "triton.runtime.", "triton.driver.")


def is_plain(view: View, value: ast.AST) -> bool:
    """Whether a module-level expression is immutable according to the text."""
    match value:
        case ast.Constant() | ast.Lambda() | ast.JoinedStr() | ast.Compare():
            return True
        case ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.ClassDef():
            return True
        case ast.Call():
            return view.dotted(value.func) in _UNCHANGING or _is_frozen(view, value)
        case ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
            return all(is_plain(view, part) for part in parts)
        case ast.BinOp(left=one, right=other) | ast.IfExp(body=one, orelse=other):
            return is_plain(view, one) and is_plain(view, other)
        case ast.UnaryOp(operand=one) | ast.NamedExpr(value=one):
            return is_plain(view, one)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return _is_of_library(view, value)
    return False


def _is_frozen(view: View, call: ast.Call) -> bool:
    """Whether a call makes a frozen dataclass or a named tuple of the file's from plain values."""
    made = view.globals.get(call.func.id, ()) if isinstance(call.func, ast.Name) else ()
    values = (*call.args, *(keyword.value for keyword in call.keywords))
    return (
        bool(made)
        and all(isinstance(one, ast.ClassDef) and _keeps_nothing(view, one) for one in made)
        and all(is_plain(view, value) for value in values)
    )


def _keeps_nothing(view: View, owner: ast.ClassDef) -> bool:
    if "typing.NamedTuple" in map(view.dotted, owner.bases):
        return True
    return any(
        isinstance(one, ast.Call)
        and view.dotted(one.func) == "dataclasses.dataclass"
        and any(k.arg == "frozen" and ast.unparse(k.value) == "True" for k in one.keywords)
        for one in owner.decorator_list
    )


def _is_of_library(view: View, value: ast.expr) -> bool:
    """A name of a library, a part of what one gave (but for containers), a global that is plain."""
    base = base_of(value)
    if isinstance(base, ast.Call):
        return (view.dotted(base.func) or "").startswith(_GIVING)
    if not isinstance(base, ast.Name) or view.dotted(base) == "typing.Annotated":
        return False
    bound = view.globals.get(base.id, ())
    before = [one for one in bound if line_of(one) < line_of(value)]
    if base is not value and any(isinstance(one, ast.Call) for one in before):
        return all(isinstance(one, ast.expr) and _is_of_library(view, one) for one in before)
    return all(is_plain(view, one) for one in before)


def keepers(view: View) -> frozenset[str]:
    """Names of the module for what could be changed or keep something."""
    return frozenset(
        name
        for name, values in view.globals.items()
        if any(not is_plain(view, value) for value in values)
    )


def is_advancing(view: View, name: str) -> bool:
    """Whether a module-level name is an iterator: reading it advances it."""
    for value in view.globals.get(name, ()):
        if isinstance(value, ast.GeneratorExp):
            return True
        if isinstance(value, ast.Call):
            called = view.dotted(value.func) or ""
            if called in _ADVANCING or called.startswith("itertools."):
                return True
    return False


def cached_functions(view: View) -> frozenset[str]:
    """Functions with cached results: a change of one is seen by later calls."""
    return frozenset(
        function.name
        for function in view.functions()
        if isinstance(function, ast.FunctionDef)
        for decorator in function.decorator_list
        if view.dotted(decorator.func if isinstance(decorator, ast.Call) else decorator) in CACHES
    )
