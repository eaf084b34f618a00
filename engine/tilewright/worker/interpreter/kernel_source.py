"""The source of a kernel as Triton's interpreter runs it, without a trace of that in its module.

Triton's own rewriting leaves all that its interpreter imports in the user's module, knows
``tl.constexpr`` by that one spelling, and runs helpers without their closures. Here a kernel runs
in a namespace of its own above its module's, and its parameters are what the compiler takes them
for.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
import textwrap
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any
from unittest import mock

import triton
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.errors import InterpreterError
from triton.runtime.interpreter import FunctionRewriter, GridExecutor, InterpretedFunction
from triton.runtime.jit import JITFunction

from ..protocol import NotInterpretedError
from . import batches

_ASSIGNED, _TYPED, _COMPARED = "_tilewright_assigned", "_tilewright_typed", "_InterpreterComparison"
_UNUSED = "_tilewright_result_unused"


@contextlib.contextmanager
def rewritten() -> Iterator[None]:
    """Kernels and their helpers run from here; ``triton.language`` need not be visible as such."""
    patch_lang = interpreter._patch_lang
    depth = 0

    language = _Language(lambda: patch_lang(_SEEN))

    def patched(function: Any) -> Any:
        return language.patched()

    def helper(function: Any, *args: Any, **kwargs: Any) -> Any:
        """A helper within a kernel, for whose launch the language is patched already."""
        if depth:
            return function.rewrite()(*args, **kwargs)
        scope = patched(function)
        try:
            return function.rewrite()(*args, **kwargs)
        finally:
            if scope is not None:
                scope.restore()

    def launch(executor: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        depth += 1
        try:
            return launched(executor, *args, **kwargs)
        except InterpreterError as error:
            lacking = _lacking(error)
            if lacking is None:
                raise
            raise NotInterpretedError(
                f"Triton's interpreter cannot run {executor.fn.__name__}: {lacking}"
            ) from error
        finally:
            depth -= 1

    launched = GridExecutor.__call__
    with (
        mock.patch.object(FunctionRewriter, "rewrite_ast", _rewrite),
        mock.patch.object(interpreter, "_patch_lang", patched),
        mock.patch.object(InterpretedFunction, "__call__", helper),
        mock.patch.object(GridExecutor, "__call__", launch),
    ):
        yield


def _lacking(error: BaseException) -> str | None:
    """What the interpreter has no code for, where that has ended a launch and nothing else."""
    while error.__cause__ is not None:
        error = error.__cause__
    innermost = traceback.extract_tb(error.__traceback__)[-1].filename
    text = " ".join(str(error).split())
    is_users = not innermost.startswith(_NOT_USERS)
    if is_users or not (isinstance(error, NotImplementedError) or _UNKNOWN.search(text)):
        return None
    return text


_UNKNOWN = re.compile(
    r"^Unsupported data type|^unsupported (rmwOp|semantic)|'InterpreterBuilder' object has no attr"
)
_NOT_USERS = (str(Path(str(triton.__file__)).parent), str(Path(__file__).parents[1]))


class _Language:
    """Triton's language as interpreted kernels find it: what is changed for a launch is looked up
    once, as that takes longer than a small launch."""

    def __init__(self, patch: Callable[[], Any]) -> None:
        self._patch = patch
        self._changes: list[tuple[Any, str, Any, Any]] = []

    def patched(self) -> Any:
        """Change it; what is returned changes it back, where this Triton keeps account of that."""
        if not self._changes or any(
            _member(o, name) is not was for o, name, was, _ in self._changes
        ):
            scope = self._patch()
            made = getattr(scope, "_changes", ())
            self._changes = [(o, name, was, getattr(o, name)) for o, name, was in _firsts(made)]
            return scope
        scope = interpreter._LangPatchScope()
        for owner, name, _, now in self._changes:
            scope.set_attr(owner, name, now)
        return scope


def _firsts(changes: Iterable[tuple[Any, str, Any]]) -> Iterator[tuple[Any, str, Any]]:
    """The first change of each member: what it was before all of them."""
    known = set()
    for owner, name, was in changes:
        if (id(owner), name) not in known:
            known.add((id(owner), name))
            yield owner, name, was


def _member(owner: Any, name: str) -> Any:
    return getattr(owner, name, interpreter._MISSING)


class _Seen:
    """As much of a function as Triton looks at for the names that it has of the language."""

    def __init__(self) -> None:
        self.__globals__ = {"tl": tl, "core": tl.core}


_SEEN = _Seen()


def _named() -> dict[int, tuple[Any, str]]:
    """Where functions of the language are, which the interpreter exchanges there for its own."""
    special = (
        "range", "static_range", "static_assert", "static_print", "reduce", "associative_scan",
        "multiple_of", "max_contiguous", "max_constancy",
    )  # fmt: skip
    owners: tuple[ModuleType, ...] = (tl.math, tl.core, tl)
    return {
        id(member): (owner, name)
        for owner in owners
        for name, member in inspect.getmembers(owner)
        if tl.core.is_builtin(member) or name in special
    }


_NAMED = _named()


class _Namespace(dict[str, Any]):
    """The globals of a rewritten kernel: a few names of ours, then those of its own module and
    closure as they are at that time."""

    def __init__(self, function: FunctionType) -> None:
        own = function.__globals__
        super().__init__(
            {
                "__builtins__": own.get("__builtins__", __builtins__),
                "__name__": own.get("__name__"),
                _ASSIGNED: _assigned,
                _TYPED: _typed,
                _UNUSED: batches.result_unused,
                _COMPARED: getattr(interpreter, _COMPARED, None),
            }
        )
        self._own = own
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
        self._cells = dict(cells)

    def __missing__(self, name: str) -> Any:
        cell = self._cells.get(name)
        if cell is None and name not in self._own and name in batches.BUILTINS:
            return batches.BUILTINS[name]
        value = self._own[name] if cell is None else cell.cell_contents
        where = _NAMED.get(id(value))
        return value if where is None else getattr(*where)


def _rewrite(rewriter: Any) -> Any:
    """What the interpreter calls in the place of a kernel or of a helper."""
    function = rewriter.fn
    try:
        lines, first = inspect.getsourcelines(function)
        found = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, TypeError, SyntaxError):  # made by code: Triton runs these as they are, too
        return function
    if not isinstance(found, ast.FunctionDef):
        return function
    params = {param.name: param for param in JITFunction(function).params}
    typed = {name: str(p.annotation_type) for name, p in params.items() if _is_typed(p)}
    tree = ast.Module([_plain(found, typed)], [])
    ast.increment_lineno(ast.fix_missing_locations(tree), first - 1)
    local: dict[str, Any] = {}
    code = compile(tree, inspect.getsourcefile(function) or "<kernel>", "exec", dont_inherit=True)
    exec(code, _Namespace(function), local)
    made = local[function.__name__]
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    made.__module__ = function.__module__
    made.__annotations__ = {name: "constexpr" for name, p in params.items() if p.is_constexpr}
    return made


def _is_typed(param: Any) -> bool:
    """Whether an argument that is no pointer gets the type that the kernel's text gives it."""
    kind = param.annotation_type
    return not param.is_constexpr and bool(kind) and kind in _TYPES


_TYPES: dict[str, Any] = {
    "u1": tl.int1, "i8": tl.int8, "i16": tl.int16, "i32": tl.int32, "i64": tl.int64,
    "u8": tl.uint8, "u16": tl.uint16, "u32": tl.uint32, "u64": tl.uint64,
    "fp16": tl.float16, "bf16": tl.bfloat16, "fp32": tl.float32, "f32": tl.float32,
    "fp64": tl.float64,
}  # fmt: skip


def _plain(function: ast.FunctionDef, typed: dict[str, str]) -> ast.FunctionDef:
    """The function without what is evaluated where it stands: decorators, defaults, annotations."""
    made = _Text().visit(function)
    assert isinstance(made, ast.FunctionDef)
    made.decorator_list, made.returns = [], None
    of = made.args
    for argument in (*of.posonlyargs, *of.args, *of.kwonlyargs):
        argument.annotation = None
    of.defaults = [ast.Constant(None) for _ in of.defaults]
    of.kw_defaults = [None if one is None else ast.Constant(None) for one in of.kw_defaults]
    line = made.body[0]
    for name, kind in typed.items():
        call = ast.Call(
            ast.Name(_TYPED, ast.Load()), [ast.Name(name, ast.Load()), ast.Constant(kind)], []
        )
        statement = ast.Assign([ast.Name(name, ast.Store())], call)
        made.body.insert(0, ast.copy_location(statement, line))
    return made


class _Text(interpreter.ASTTransformer):  # type: ignore[misc]
    """Triton's changes to a text, and those that it leaves out."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:  # noqa: N802 - ast's own name
        node.targets = [self.visit(target) for target in node.targets]
        node.value = ast.Call(ast.Name(_ASSIGNED, ast.Load()), [self.visit(node.value)], [])
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:  # noqa: N802 - ast's own name
        """An atomic operation that is a statement by itself is known as one when it is made."""
        self.generic_visit(node)
        if sum(map(_is_atomic, ast.walk(node))) != 1 or not _is_atomic(node.value):
            return node
        call = ast.Expr(ast.Call(ast.Name(_UNUSED, ast.Load()), [], []))
        return [ast.copy_location(call, node), node]

    def visit_For(self, node: ast.For) -> ast.AST:  # noqa: N802 - ast's own name
        """A loop's variable is a scalar to the compiler, with the members that scalars have."""
        is_range = isinstance(node.iter, ast.Call) and _ends_with_range(node.iter.func)
        name = node.target.id if isinstance(node.target, ast.Name) else None
        used = is_range and name is not None and any(_asks(one, name) for one in node.body)
        self.generic_visit(node)
        if used and name is not None:
            call = ast.Call(ast.Name(_ASSIGNED, ast.Load()), [ast.Name(name, ast.Load())], [])
            first = ast.Assign([ast.Name(name, ast.Store())], call)
            node.body.insert(0, ast.copy_location(first, node.body[0]))
        return node


def _is_atomic(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return str(name).startswith("atomic_")


def _ends_with_range(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name == "range"


def _asks(statement: ast.stmt, name: str) -> bool:
    """Whether a member of something that is computed from ``name`` is asked for."""
    return any(
        isinstance(node, ast.Attribute)
        and any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node.value))
        for node in ast.walk(statement)
    )


def _assigned(value: Any) -> Any:
    """What the compiler makes of a value that is given a name: numbers are scalars."""
    if type(value) in (tuple, tl.tuple):
        return type(value)([_assigned(one) for one in value])
    return interpreter.interpreter_semantic.to_tensor(value, False)


def _typed(value: Any, kind: str) -> Any:
    """An argument in the type that its parameter is annotated with."""
    if not isinstance(value, tl.tensor) or value.dtype.is_ptr():
        return value
    return interpreter.interpreter_semantic.cast(value, _TYPES[kind])
