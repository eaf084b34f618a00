"""What was found in kernels before: an edit re-analyses the kernel it touches and no other."""

import ast
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable

from tilewright.analysis.flow import pure_helpers
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.source.model import Kernel, Module

_KEPT = 1024

_Key = tuple[str, int, int, str]


class Remembered:
    """The issues of single kernels, by everything they depend on. Safe between threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, tuple[Issue, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, kernel: Kernel, around: str, find: Callable[[], Iterable[Issue]]
    ) -> tuple[Issue, ...]:
        """The issues of a kernel whose surroundings are ``around``, found now if need be."""
        key = (kernel.text, kernel.range.line, kernel.range.column, around)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        issues = tuple(find())
        with self._lock:
            self._known[key] = issues
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return issues


def surroundings(module: Module, context: AnalysisContext) -> str:
    """The identity of all that issues of a kernel depend on beside its own text and place.

    Of other kernels only matters which are free of side effects.
    """
    kernels = {id(kernel.node) for kernel in module.kernels}
    parts = [repr(context), repr(sorted(module.names.origins.items()))]
    parts.append(repr(sorted(pure_helpers(module))))
    for statement in module.tree.body:
        if id(statement) not in kernels:
            first, last = _lines(statement)
            text = "\n".join(module.index.lines[first - 1 : last])
            parts.append(f"{first}:{text}")
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()


def _lines(statement: ast.stmt) -> tuple[int, int]:
    """First and last line of a statement with its decorators."""
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        first = min([first, *(d.lineno for d in statement.decorator_list)])
    return first, last
