"""Calls between files: launches of a kernel in others, and what a host function launches there.

A file is read together with stand-ins of what it imports, at its end: kernels with their
parameters, host functions that come to a launch with a launch in them. The search of one file then
answers, and what it finds in a stand-in is led back to where that is defined. Kernels that are
named through their module (``kernels.scale[grid]``) are not followed.
"""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tilewright.navigation.calls import Caller, Calls, caller_at, incoming, launches, outgoing
from tilewright.navigation.elsewhere import stand_in
from tilewright.navigation.imports import Definition, Sources
from tilewright.source import parse_module
from tilewright.source.callgraph import call_graph
from tilewright.source.model import Module
from tilewright.source.text import LineIndex

_MOST_STEPS = 4
_LAUNCHED = "_tilewright_launched_elsewhere"


@dataclass(frozen=True)
class Place:
    """A caller in a file."""

    path: Path
    caller: Caller


@dataclass(frozen=True)
class FileCalls:
    """Calls of another caller, in whichever file; ``calls.places`` are those of the calling one."""

    path: Path
    calls: Calls


@dataclass(frozen=True)
class _Combined:
    """A file with stand-ins; ``origins``: where each top-level name of those is defined."""

    module: Module
    lines: int
    origins: Mapping[str, Definition]


class ImportedCalls:
    """Calls over the files of a search; it keeps what it read, so one serves one request."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._modules: dict[Path, Module | None] = {}
        self._leading: dict[tuple[Path, str], bool] = {}

    def caller_at(self, path: Path, line: int, column: int) -> Place | None:
        """The kernel or the launching host function that is named at a place of a file."""
        names = self._names_around(path, line)
        combined = self._combined(path, self._followed(path, names))
        found = caller_at(combined.module, line, column) if combined is not None else None
        return self._home(path, combined, found) if combined is not None and found else None

    def outgoing(self, at: Place) -> Iterator[FileCalls]:
        """What a caller launches or calls, here or in files that it imports from."""
        names = self._names_of(at.path, at.caller.name)
        combined = self._combined(at.path, self._followed(at.path, names))
        for calls in outgoing(combined.module, at.caller) if combined is not None else ():
            home = self._home(at.path, combined, calls.other) if combined is not None else None
            if home is not None:
                yield FileCalls(home.path, replace(calls, other=home.caller))

    def incoming(self, at: Place, paths: Iterable[Path]) -> Iterator[FileCalls]:
        """Who launches or calls it in other files."""
        wanted = Definition(at.path, at.caller.name.partition(".")[0])
        for path in paths:
            combined = self._combined(path, self._wanted(path, wanted))
            for local in combined.origins if combined is not None else ():
                yield from self._incoming_in(path, combined, at.caller, local)

    def _incoming_in(
        self, path: Path, combined: _Combined | None, caller: Caller, local: str
    ) -> Iterator[FileCalls]:
        if combined is None:
            return
        _, dot, method = caller.name.partition(".")
        named = Caller(f"{local}{dot}{method}", caller.is_kernel)
        for calls in incoming(combined.module, named):
            places = tuple(place for place in calls.places if place.line <= combined.lines)
            if places:
                yield FileCalls(path, replace(calls, places=places))

    def _home(self, path: Path, combined: _Combined | None, found: Caller) -> Place | None:
        """Where something is defined that a file with stand-ins names; None for our own helper."""
        if combined is None or found.name == _LAUNCHED:
            return None
        local, dot, method = found.name.partition(".")
        origin = combined.origins.get(local)
        if origin is None:
            return Place(path, found)
        return Place(origin.path, Caller(f"{origin.name}{dot}{method}", found.is_kernel))

    def _module(self, path: Path) -> Module | None:
        if path not in self._modules:
            text = self._sources.text(path)
            self._modules[path] = None if text is None else parse_module(text, str(path))
        return self._modules[path]

    def _names_around(self, path: Path, line: int) -> frozenset[str]:
        """The names that the functions around a line use and come to."""
        module = self._module(path)
        functions = module.host_functions if module is not None else {}
        around = [
            name
            for name, node in functions.items()
            if node.lineno <= line <= (node.end_lineno or node.lineno)
        ]
        return frozenset[str]().union(*(self._names_of(path, name) for name in around))

    def _names_of(self, path: Path, function: str) -> frozenset[str]:
        """The names that a host function uses, and those that it comes to in its file."""
        module = self._module(path)
        if module is None:
            return frozenset()
        steps = call_graph(module).reached(function)
        reached = {function, *(step.edge.callee for step in steps)}
        nodes = [node for name, node in module.host_functions.items() if name in reached]
        return _names_in(nodes)

    def _imported(
        self, path: Path, wanted: Callable[[str, str], bool]
    ) -> Iterator[tuple[str, Definition]]:
        """Names that a file has from others of the search, and where those are defined.

        Args:
            wanted: of a name as it is called there and as it is called here.
        """
        for node, alias in self._sources.imports(path):
            local = alias.asname or alias.name
            if not isinstance(node, ast.ImportFrom) or not wanted(alias.name, local):
                continue
            source = self._sources.module_of(path, node)
            found = self._sources.definition(source, alias.name) if source is not None else None
            if found is not None and found.path != path:
                yield local, found

    def _wanted(self, path: Path, wanted: Definition) -> Iterator[tuple[str, Definition, str]]:
        for local, found in self._imported(path, lambda there, _: there == wanted.name):
            if found == wanted:
                yield local, found, self._written(local, found, lambda _: True)

    def _followed(
        self, path: Path, names: Collection[str], steps: int = _MOST_STEPS
    ) -> Iterator[tuple[str, Definition, str]]:
        """Stand-ins of those of some names that are imported kernels or come to a launch."""
        for local, found in self._imported(path, lambda _, here: here in names):
            leads = partial(self._leads, found.path, steps - 1)
            written = self._written(local, found, leads)
            if written:
                yield local, found, written

    def _leads(self, path: Path, steps: int, name: str) -> bool:
        """Whether a host function of a file comes to a launch, through others that it imports."""
        key = (path, name)
        if key not in self._leading:
            self._leading[key] = False  # of a circle of imports
            self._leading[key] = self._comes_to_launch(path, name, steps)
        return self._leading[key]

    def _comes_to_launch(self, path: Path, name: str, steps: int) -> bool:
        module = self._module(path)
        if module is None or launches(module, name):
            return module is not None
        if steps <= 0:
            return False
        names = self._names_of(path, name)
        combined = self._combined(path, self._followed(path, names, steps))
        return combined is not None and launches(combined.module, name)

    def _written(self, local: str, found: Definition, leads: Callable[[str], bool]) -> str:
        """The stand-in of a definition; empty for what has to do with no launch."""
        module = self._module(found.path)
        kernel = module.kernel(found.name) if module is not None else None
        if kernel is not None:
            return stand_in(kernel, None, local, tuned=False)
        functions = module.host_functions if module is not None else {}
        if found.name in functions:
            return _function(local) if leads(found.name) else ""
        methods = [name for name in functions if name.startswith(f"{found.name}.")]
        kept = [name.partition(".")[2] for name in methods if leads(name)]
        bases = self._bases(module, found.name)
        return _class(local, bases, kept) if kept else ""

    def _bases(self, module: Module | None, name: str) -> list[str]:
        tree = module.tree.body if module is not None else []
        nodes = [n for n in tree if isinstance(n, ast.ClassDef) and n.name == name]
        names = module.names if module is not None else None
        found = [names.resolve(base) for node in nodes for base in node.bases] if names else []
        return [base for base in found if base is not None and base.startswith("torch.")]

    def _combined(
        self, path: Path, written: Iterable[tuple[str, Definition, str]]
    ) -> _Combined | None:
        text = self._sources.text(path)
        if text is None:
            return None
        found = list(written)
        origins = {local: definition for local, definition, _ in found}
        helper = f"\n\nimport torch\nimport triton\n@triton.jit\ndef {_LAUNCHED}():\n    pass\n"
        parts = [part for _, _, part in found]
        combined = parse_module("".join((text, helper, *parts)) if found else text, str(path))
        return _Combined(combined, len(LineIndex(text).lines), origins)


def _names_in(nodes: Iterable[ast.AST]) -> frozenset[str]:
    names = (n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name))
    return frozenset(name.id for name in names)


def _function(name: str) -> str:
    return f"\n\ndef {name}(*arguments):\n    {_LAUNCHED}[(1,)]()\n"


def _class(name: str, bases: list[str], methods: list[str]) -> str:
    body = "".join(
        f"    def {method}(self, *arguments):\n        {_LAUNCHED}[(1,)]()\n"
        for method in methods
        if "." not in method
    )
    return f"\n\nclass {name}({', '.join(bases)}):\n{body or '    pass'}\n"
