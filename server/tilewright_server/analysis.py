"""Source to issues, once for each text, off the event loop."""

import ast
import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.source.model import Kernel, Module
from tilewright.source.text import Range
from tilewright_server.engine import Engine, parse
from tilewright_server.snapshot import Snapshot

_REMEMBERED = 32


@dataclass(frozen=True)
class Analysis:
    """What the instant tier knows of one text.

    ``facts_keys`` maps a kernel's name to the identity of all that its compiled and measured
    facts depend on in this file: its own text and every statement that is not another kernel.
    """

    module: Module
    issues: tuple[Issue, ...]
    facts_keys: Mapping[str, str]

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


def facts_keys(module: Module) -> dict[str, str]:
    """See ``Analysis.facts_keys``. Comments and layout outside the kernel do not count."""
    entries = {kernel.name for kernel in module.entry_kernels()}
    statements = {
        id(node): ast.dump(node) for node in module.tree.body if not _is_named(node, entries)
    }
    rest = hashlib.sha256("\n".join(statements.values()).encode(errors="replace")).hexdigest()
    return {k.name: f"{k.content_hash}:{rest[:32]}" for k in module.kernels}


def _is_named(node: ast.stmt, names: set[str]) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name in names


class AnalysisService:
    """Analyses by content: equal texts share one result, and one computation while it runs."""

    def __init__(self, engine: Engine, pool: ThreadPoolExecutor) -> None:
        self._engine = engine
        self._pool = pool
        self._done: OrderedDict[tuple[str, str, AnalysisContextKey], Analysis] = OrderedDict()
        self._running: dict[tuple[str, str, AnalysisContextKey], asyncio.Future[Analysis]] = {}

    async def analyze(self, snapshot: Snapshot, context: AnalysisContext) -> Analysis:
        """The analysis of a snapshot, from memory or computed in the pool."""
        key = (snapshot.hash, snapshot.path or snapshot.uri, _context_key(context))
        if (known := self._done.get(key)) is not None:
            self._done.move_to_end(key)
            return known
        running = self._running.get(key)
        if running is None:
            loop = asyncio.get_running_loop()
            running = loop.run_in_executor(self._pool, self._compute, snapshot, context)
            self._running[key] = running
            running.add_done_callback(lambda future: self._keep(key, future))
        return await asyncio.shield(running)

    def _keep(
        self, key: "tuple[str, str, AnalysisContextKey]", future: "asyncio.Future[Analysis]"
    ) -> None:
        self._running.pop(key, None)
        if future.cancelled() or future.exception() is not None:
            return
        self._done[key] = future.result()
        while len(self._done) > _REMEMBERED:
            self._done.popitem(last=False)

    def _compute(self, snapshot: Snapshot, context: AnalysisContext) -> Analysis:
        text = snapshot.text.encode(errors="replace").decode()
        module = parse(text, snapshot.path or snapshot.uri)
        issues = self._engine.analyze(module, context) if module.kernels else ()
        return Analysis(module, issues, facts_keys(module))


AnalysisContextKey = tuple[str, tuple[int, int] | None]


def _context_key(context: AnalysisContext) -> AnalysisContextKey:
    return (str(context.target), context.triton_version)
