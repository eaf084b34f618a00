"""What was found in kernels before: an edit re-analyses the kernel it touches and no other."""

import ast
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from tilewright.analysis.flow import pure_helpers
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.analysis.places import Layout
from tilewright.source.model import Kernel, Module

_KEPT = 1024

_Key = tuple[str, str]


class Remembered:
    """The issues of single kernels, by everything they depend on. Safe between threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, tuple[Layout, tuple[Issue, ...]]] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self,
        kernel: Kernel,
        surroundings: "Surroundings",
        find: Callable[[], Iterable[Issue]],
    ) -> tuple[Issue, ...]:
        """The issues of a kernel in its surroundings, found now if need be."""
        key = (kernel.text, surroundings.of(kernel))
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
        if known is not None:
            layout, issues = known
            moved = tuple(m for i in issues if (m := layout.moved(i, surroundings.layout)))
            if len(moved) == len(issues):
                return moved
        found = tuple(find())
        with self._lock:
            self._known[key] = (surroundings.layout, found)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found


class Surroundings:
    """All that issues of a file's kernels depend on beside a kernel's own text.

    That is every statement that is no kernel, the helpers a kernel calls and those they call,
    which kernels call others, and the context. Which lines they stand on does not matter.
    """

    def __init__(self, module: Module, context: AnalysisContext) -> None:
        self.layout = Layout.of(module)
        self._texts: dict[str, str] = {}
        for kernel in module.kernels:
            self._texts[kernel.name] = self._texts.get(kernel.name, "") + kernel.text
        self._calls = _calls(module)
        self._common = self._hash_common(module, context)

    def of(self, kernel: Kernel) -> str:
        """The identity of what surrounds one kernel."""
        place = f"{self._common}:{self.layout.place_of(kernel.range)}"
        helpers = _reached(kernel.name, self._calls)
        if not helpers:
            return place
        texts = "\0".join(f"{name}:{self._texts[name]}" for name in sorted(helpers))
        return f"{place}:{_digest(texts)}"

    def _hash_common(self, module: Module, context: AnalysisContext) -> str:
        kernels = {id(kernel.node) for kernel in module.kernels}
        parts = [repr(context), repr(sorted(module.names.origins.items()))]
        parts.append(repr(sorted(pure_helpers(module) & self._called())))
        parts.append(repr(sorted((name, sorted(to)) for name, to in self._calls.items() if to)))
        for statement, first in zip(module.tree.body, self.layout.starts, strict=True):
            if id(statement) not in kernels:
                last = statement.end_lineno or statement.lineno
                parts.append("\n".join(module.index.lines[first - 1 : last]))
        return _digest("\0".join(parts))

    def _called(self) -> frozenset[str]:
        return frozenset().union(*self._calls.values())


def _calls(module: Module) -> Mapping[str, frozenset[str]]:
    """The file's kernels that each kernel names in its body."""
    known = {kernel.name for kernel in module.kernels}
    calls: dict[str, frozenset[str]] = dict.fromkeys(known, frozenset())
    for kernel in module.kernels:
        calls[kernel.name] |= known & _names_in(kernel.node)
    return calls


@lru_cache(maxsize=1024)
def _names_in(node: ast.FunctionDef) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def _reached(name: str, calls: Mapping[str, frozenset[str]]) -> set[str]:
    found: set[str] = set()
    pending = [name]
    while pending:
        new = calls[pending.pop()] - found
        found |= new
        pending.extend(new)
    return found - {name}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
