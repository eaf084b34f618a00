"""Importing the file under test and finding its entry point."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from unittest import mock

from ..protocol import JobError

if TYPE_CHECKING:
    from ..messages.parts import Entry


@contextlib.contextmanager
def standing_in(modules: Mapping[str, ModuleType]) -> Iterator[None]:
    """Have imports find these modules under these names. What else is imported meanwhile stays
    known: a kept report depends on its files."""
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def load_module(path: str) -> ModuleType:
    """Import a file by its path; what it imports from its own folder or package is found."""
    file = Path(path)
    if not file.is_file():
        raise JobError(f"there is no file {path}")
    if (file.parent / "__init__.py").is_file() and _needs_package(file):
        return _load_member(file)
    place = hashlib.sha256(str(file).encode()).hexdigest()[:8]
    name = f"under_test_{re.sub(r'[^0-9A-Za-z]', '_', file.stem)}_{place}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise JobError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent))
    spec.loader.exec_module(module)
    return module


def _needs_package(file: Path) -> bool:
    """Whether a file imports by relative names, or by the name of the package it is in."""
    root = file.parent
    while (root.parent / "__init__.py").is_file():
        root = root.parent
    own = rf"^\s*(?:from\s+\.|(?:from|import)\s+{re.escape(root.name)}\b)"
    return re.search(own, file.read_text("utf-8-sig", errors="replace"), re.MULTILINE) is not None


def load_for(entry: Entry | None, path: str) -> ModuleType:
    """The module of a job; of one that launches by itself, no more than it defines."""
    launches = entry is not None and entry.get("kind") == "launch"
    return load_definitions(path) if launches else load_module(path)


class _FirstLaunch(BaseException):
    """A script began to do its work; nothing that catches errors may catch this."""


def load_definitions(path: str) -> ModuleType:
    """Import a file to compile what it defines: a script that launches on import stops there."""
    from triton.runtime.autotuner import Autotuner

    def stop(kernel: Any, *args: Any, **kwargs: Any) -> None:
        raise _FirstLaunch

    with contextlib.ExitStack() as stack:
        for launcher in (*launchable_types(), Autotuner):
            stack.enter_context(mock.patch.object(launcher, "run", stop))
        try:
            return load_module(path)
        except _FirstLaunch:
            partly = (m for m in list(sys.modules.values()) if getattr(m, "__file__", "") == path)
            found = next(partly, None)
            if found is None:
                raise JobError(f"{path} launches kernels while it is imported") from None
            return found


def launchable_types() -> tuple[Any, ...]:
    """What a kernel may be; the interpreter needs numpy, which a compiler's environment lacks."""
    from triton.runtime.jit import JITFunction

    interpreter = sys.modules.get("triton.runtime.interpreter")
    return (JITFunction, interpreter.InterpretedFunction) if interpreter else (JITFunction,)


def _load_member(file: Path) -> ModuleType:
    """Import a file as a member of its package, under a name that no other copy of it has."""
    name, root = file.stem, file.parent
    while (root / "__init__.py").is_file():
        name, root = f"{root.name}.{name}", root.parent
    above = f"under_test_{hashlib.sha256(str(root).encode()).hexdigest()[:8]}"
    if above not in sys.modules:
        sys.modules[above] = ModuleType(above)
        sys.modules[above].__path__ = [str(root)]
    sys.path.append(str(root))
    return importlib.import_module(f"{above}.{name}")


def find_entry(entry: Entry, module: ModuleType) -> Any:
    """The object an entry names, in the module or in the entry's own file."""
    if path := entry.get("path"):
        module = load_module(path)
    for name in filter(None, (entry.get("preferred"), entry["name"])):
        if hasattr(module, name):
            return getattr(module, name)
    raise JobError(f"{module.__file__} defines no {entry['name']!r}")


def find_kernel(module: ModuleType, name: str) -> Any:
    """The ``JITFunction`` called ``name``, unwrapped from autotune and heuristics decorators."""
    kinds = launchable_types()
    found = unwrap(getattr(module, name, None))
    if isinstance(found, kinds):
        return found
    loaded = [unwrap(value) for value in vars(module).values()]
    everywhere = [*loaded, *gc.get_objects()]
    named = [x for x in everywhere if isinstance(x, kinds) and x.fn.__name__ == name]
    # Below a library's own wrapper it is known by its file: others may have the same name.
    own = [value for value in named if value.fn.__code__.co_filename == module.__file__]
    if named:
        return (own or named)[0]
    raise JobError(f"{module.__file__} has no @triton.jit kernel {name!r}")


def unwrap(kernel: Any) -> Any:
    """The innermost launchable below Autotuner and Heuristics."""
    from triton.runtime.autotuner import Autotuner, Heuristics

    while isinstance(kernel, Autotuner | Heuristics):
        kernel = kernel.fn
    return kernel
