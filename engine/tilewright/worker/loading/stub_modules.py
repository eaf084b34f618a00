"""Importing a kernel's file where torch, and whatever else its host code needs, is not installed.

A compiler wants the kernels alone. What the file imports and this interpreter lacks is answered by
names that resolve to more names, may be called, subclassed and used as decorators, and say so
clearly where a real value would be needed. They are gone again once the file is imported.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from ..protocol import JobError
from . import entry_point

Answers = Mapping[str, Any]

_CALCULATIONS = (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv",
    "mod", "rmod", "pow", "rpow", "matmul", "rmatmul", "or", "ror", "and", "rand", "neg", "invert",
    "getitem",
)  # fmt: skip
_REAL_VALUES = (
    "bool", "int", "float", "index", "len", "iter", "lt", "le", "gt", "ge", "contains", "format",
)  # fmt: skip


def load_module(path: str, answers: Answers) -> tuple[ModuleType, list[str]]:
    """(the imported file, the libraries that were stood in for).

    Args:
        answers: values of dotted names that host code asks for while it is imported, such as
            ``torch.__version__`` and ``torch.cuda.is_available()``.

    Raises:
        JobError: the file needs a real value of an absent library, or more than this Triton has.
    """
    absent: list[str] = [] if installed("torch") else ["torch"]
    while True:
        try:
            with standing_in(absent, answers):
                return entry_point.load_definitions(path), absent
        except ModuleNotFoundError as error:
            root = (error.name or "").partition(".")[0]
            if not root or root in absent or root == "triton" or installed(root):
                raise
            absent.append(root)


def installed(name: str) -> bool:
    """Whether this interpreter finds a library."""
    if name in sys.builtin_module_names:  # in the interpreter itself, on no path
        return True
    return importlib.machinery.PathFinder.find_spec(name) is not None


@contextlib.contextmanager
def standing_in(roots: Sequence[str], answers: Answers) -> Iterator[None]:
    """Answer imports of these libraries, and of all below them, while the block runs."""
    finder = _Finder(roots, answers)
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] in roots]:
            del sys.modules[name]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module below the absent libraries."""

    def __init__(self, roots: Sequence[str], answers: Answers) -> None:
        self._roots = frozenset(roots)
        self._answers = answers

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in self._roots:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _AbsentModule(spec.name, self._answers)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


class _AbsentModule(ModuleType):
    """A module whose every attribute is there."""

    def __init__(self, name: str, answers: Answers) -> None:
        super().__init__(name)
        self._answers = answers

    def __getattr__(self, name: str) -> Any:
        return _resolve(f"{self.__name__}.{name}", name, self._answers)


class Absent:
    """A value of an absent library, known by its dotted name alone."""

    def __init__(self, path: str, answers: Answers) -> None:
        self._path = path
        self._answers = answers

    def __getattr__(self, name: str) -> Any:
        return _resolve(f"{self._path}.{name}", name, self._answers)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = "…" if args or kwargs else ""
        path = f"{self._path}({given})"
        return self._answers[path] if path in self._answers else Absent(path, self._answers)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (_AbsentType(self._path.rpartition(".")[2].rstrip("()…"), (), {}),)

    def __enter__(self) -> Absent:
        return self

    def __exit__(self, *error: object) -> None:
        """Ends no more than the block."""

    def __repr__(self) -> str:
        return f"<{self._path}, not installed here>"


class _AbsentType(type):
    """A class of an absent library, to derive from; ``Derived.apply`` and the like are there."""

    def __getattr__(cls, name: str) -> Any:
        return _resolve(f"{cls.__name__}.{name}", name, {})


def is_absent(value: Any) -> bool:
    """Whether a value stands in for one of a library that is not here."""
    return isinstance(value, Absent | _AbsentModule | _AbsentType)


def _resolve(path: str, name: str, answers: Answers) -> Any:
    if path in answers:
        return answers[path]
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(f"{path} is not known: the library is not installed here")
    return Absent(path, answers)


def _calculated(name: str) -> Callable[..., Absent]:
    def calculate(value: Absent, *others: Any) -> Absent:
        return Absent(f"{value._path}.{name}", value._answers)

    return calculate


def _needed(value: Absent, *others: Any) -> Any:
    root = value._path.partition(".")[0]
    raise JobError(
        f"not compiled for this chip: the value of {value._path} is needed, and the interpreter "
        f"that compiles has no {root} ({sys.executable}); install it there, or move it into a "
        "function that host code alone calls"
    )


for _name in _CALCULATIONS:
    setattr(Absent, f"__{_name}__", _calculated(f"__{_name}__"))
for _name in _REAL_VALUES:
    setattr(Absent, f"__{_name}__", _needed)
