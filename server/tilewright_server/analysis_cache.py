"""Source to issues, once for each text, off the event loop."""

import ast
import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.analysis.suppression import Notice
from tilewright.lru import LruDict
from tilewright.source import parse_module
from tilewright.source.device_names import DeviceName, device_names
from tilewright.source.languages import may_hold_kernels
from tilewright.source.model import Kernel, Module
from tilewright.source.text import Range
from tilewright_server.backend import Engine
from tilewright_server.snapshot import Snapshot

Result = TypeVar("Result")

_DOCUMENTS = 64
_OF_EACH = 8
_CONTENTS: LruDict[tuple[int, int | None, str], bytes] = LruDict(2048)


@dataclass(frozen=True)
class Parsed:
    """A text's kernels, before anything is said of them.

    ``device_names`` are the vendors' devices that the text names.
    """

    module: Module
    device_names: tuple[DeviceName, ...]

    @property
    def facts_keys(self) -> Mapping[str, str]:
        """The identity of all that compiled and measured facts depend on in this file, by kernel.

        That is the kernel's own text and every statement that is not another kernel. Comments and
        layout outside the kernel do not count. Computed when facts are looked up.
        """
        memo = self.module.memo
        if _facts_keys not in memo:
            memo[_facts_keys] = _facts_keys(self.module)
        return cast("Mapping[str, str]", memo[_facts_keys])

    def take_facts_keys(self, keys: Mapping[str, str]) -> None:
        """Use these keys: those of the text before one of its other statements stopped parsing."""
        self.module.memo[_facts_keys] = {**self.facts_keys, **keys}


@dataclass(frozen=True)
class Analysis(Parsed):
    """Results of the instant tier for one text, and its context.

    ``silenced`` are issues that the project does not want to hear of. ``notices`` are about what
    the person wrote for Tilewright, such as a misspelt directive.
    """

    issues: tuple[Issue, ...]
    context: AnalysisContext
    silenced: frozenset[str] = frozenset()
    notices: tuple[Notice, ...] = ()

    def host_ranges(self, kernel: str) -> tuple[Range, ...]:
        """The launches of a kernel and the host functions around them."""
        launches = self.module.launches_of(kernel)
        wrappers = {launch.host_function for launch in launches if launch.host_function}
        functions = self.module.host_functions
        return tuple(launch.range for launch in launches) + tuple(
            self.module.index.range_of(functions[name]) for name in wrappers if name in functions
        )

    def kernel_near(self, place: Range) -> Kernel | None:
        """The kernel whose text, launch or host function a range touches."""
        for kernel in self.module.kernels:
            if kernel.range.overlaps(place):
                return kernel
        for kernel in self.module.kernels:
            if any(r.overlaps(place) for r in self.host_ranges(kernel.name)):
                return kernel
        return None


def _facts_keys(module: Module) -> dict[str, str]:
    entries = {kernel.name for kernel in module.entry_kernels()}
    rest = hashlib.sha256()
    for node in module.tree.body:
        if not _is_named(node, entries):
            rest.update(_content(module, node))
    return {k.name: f"{k.content_hash}:{rest.hexdigest()[:32]}" for k in module.kernels}


def _content(module: Module, node: ast.stmt) -> bytes:
    """A digest of a statement's syntax, found again by its text."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    lines = module.index.lines[first - 1 : node.end_lineno]
    key = (node.col_offset, node.end_col_offset, "\n".join(lines))
    known = _CONTENTS.get(key)
    if known is None:
        known = hashlib.sha256(ast.dump(node).encode(errors="replace")).digest()
        _CONTENTS.put(key, known)
    return known


def _is_named(node: ast.stmt, names: set[str]) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name in names


class AnalysisService:
    """Analyses by content: equal texts share one result, and one computation while it runs."""

    def __init__(self, engine: Engine, pool: ThreadPoolExecutor) -> None:
        self._engine = engine
        self._pool = pool
        self._done: LruDict[str, LruDict[_Key, Any]] = LruDict(_DOCUMENTS)
        self._running: dict[_Key, asyncio.Future[Any]] = {}

    async def parse(self, snapshot: Snapshot) -> Parsed:
        """The kernels of a snapshot."""
        return await self._once(_key(snapshot, "parse"), partial(self._in_pool, _parse, snapshot))

    async def analyze(
        self,
        snapshot: Snapshot,
        parsed: Parsed,
        context: AnalysisContext,
        silenced: frozenset[str] = frozenset(),
    ) -> Analysis:
        """The issues of a parsed snapshot under a context, without those that are silenced."""
        key = _key(snapshot, repr(context), *sorted(silenced))

        async def compute() -> Analysis:
            found = await self._in_pool(self._engine.findings, parsed.module, context, silenced)
            names, issues = parsed.device_names, found.issues
            return Analysis(parsed.module, names, issues, context, silenced, found.notices)

        return await self._once(key, compute)

    def _in_pool(self, work: Callable[..., Result], *arguments: Any) -> "asyncio.Future[Result]":
        return asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    async def _once(self, key: "_Key", compute: Callable[[], Awaitable[Result]]) -> Result:
        known = self._done.get(key[0])
        done: Result | None = None if known is None else known.get(key)
        if done is not None:
            return done
        running: asyncio.Future[Result] | None = self._running.get(key)
        if running is None:
            running = asyncio.ensure_future(compute())
            self._running[key] = running
            running.add_done_callback(lambda future: self._keep(key, future))
        # One caller's cancellation must not take the result from the others.
        return await asyncio.shield(running)

    def _keep(self, key: "_Key", future: "asyncio.Future[Any]") -> None:
        self._running.pop(key, None)
        if future.cancelled() or future.exception() is not None:
            return
        known = self._done.get(key[0]) or LruDict[_Key, Any](_OF_EACH)
        known.put(key, future.result())
        self._done.put(key[0], known)


_Key = tuple[str, ...]


def _key(snapshot: Snapshot, *what: str) -> _Key:
    """The document first: each keeps some of its versions."""
    return (snapshot.path or snapshot.uri, snapshot.hash, *what)


def _parse(snapshot: Snapshot) -> Parsed:
    text = snapshot.readable
    if not may_hold_kernels(text):
        text = ""
    module = parse_module(text, snapshot.path or snapshot.uri)
    return Parsed(module, device_names(module))
