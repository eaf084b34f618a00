"""Detector of locks that a program releases while its own warps may still write."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from tilewright.analysis.detectors.common import TL, source_numbers, triton_kernels
from tilewright.analysis.detectors.correctness.trial_sums import is_compiled
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.detectors.sizes import elements_of
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles import tiles_of
from tilewright.analysis.values import Access, Flow, walk
from tilewright.knowledge.model import ADVICE
from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Module

_WAITS = (TL + "atomic_cas", TL + "atomic_xchg", TL + "atomic_add")
_WITHOUT_BARRIER = ((3, 2), (3, 9))
"""The first version that puts none before an atomic behind a loop of atomic_cas, and the first that
does again."""
_WARP = 32
_RELEASES = (TL + "atomic_xchg", TL + "atomic_cas", TL + "atomic_add")


@detector("lock_without_barrier")
def lock_without_barrier(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A store under a lock with no barrier between it and the release.

    Triton 3.1 and 3.9 put one before that atomic for NVIDIA's chips, where it is advice.
    """
    version, (first, end) = context.triton_version, _WITHOUT_BARRIER
    has_barrier = version is not None and not first <= version < end
    for kernel, flow in triton_kernels(module):
        for finding in _released(module, kernel, flow):
            yield replace(finding, severity=ADVICE) if has_barrier else finding


def _released(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    atomics = [a for a in flow.writes if a.kind == "atomic"]
    for waited in _waits(module, flow, atomics) if len(atomics) > 1 else ():
        release = _release(module, atomics, waited)
        store = None if release is None else _last_store(flow, waited, release)
        if release is None or store is None or is_one_warp(module, kernel):
            continue
        if kernel.autotune and not is_compiled(kernel, release.node, kernel.autotune.configs):
            continue
        counts = _elements_stored(module, kernel, store)
        if counts and max(counts) <= _WARP:
            continue
        yield Finding(
            module.index.range_of(release.node),
            f"One thread releases the lock, and other threads of the program may still be at "
            f"the store on line {store.node.lineno}: without tl.debug_barrier() before this, "
            "the next program reads old values.",
            kernel.name,
            related=(Related("stored here", module.index.range_of(store.node)),),
            # The thread that releases the lock is of the first warp: what one warp stores is there.
            severity=None if counts and min(counts) > _WARP else ADVICE,
        )
        break


def _waits(module: Module, flow: Flow, atomics: list[Access]) -> Iterator[Access]:
    """Atomics that a loop asks again and again, until they say that the lock is free."""
    for loop in flow.loops.values():
        if not isinstance(loop.node, ast.While):
            continue
        asked = {id(node) for node in ast.walk(loop.node)}
        is_spinning = all(isinstance(s, ast.Pass | ast.Assign) for s in loop.node.body)
        for access in atomics if is_spinning else ():
            if id(access.node) in asked and module.names.is_call(access.node, *_WAITS):
                yield access


def _release(module: Module, atomics: list[Access], waited: Access) -> Access | None:
    """The atomic on the same lock behind the wait, which always follows it."""
    for access in atomics:
        if (
            access.order > waited.order
            and access.pointer is waited.pointer
            and access.branches == waited.branches
            and access.loops == waited.loops[: len(access.loops)]
            and module.names.is_call(access.node, *_RELEASES)
        ):
            return access
    return None


def _last_store(flow: Flow, waited: Access, release: Access) -> Access | None:
    """The last store under the lock, where nothing that may be a barrier follows it."""
    stores = [
        a
        for a in flow.writes
        if a.kind == "store"
        and waited.order < a.order < release.order
        and a.base is not None
        and not _is_one_place(a)
    ]
    if not stores:
        return None
    last = max(stores, key=lambda store: store.order)
    is_followed = any(last.order < order < release.order for order, _ in flow.may_write_unknown)
    return None if is_followed else last


def _is_one_place(store: Access) -> bool:
    """Whether it stores a single value, which the thread that releases the lock does itself."""
    parts = list(walk(store.pointer))
    return all(v.op in ("param", "const", "program_id", "binary", "cast") for v in parts)


def _elements_stored(module: Module, kernel: Kernel, store: Access) -> list[int]:
    """How many elements a store has at each launch and configuration; none where one is unknown."""
    shape = tiles_of(module, kernel).facts_of(store.pointer).shape
    counts = [elements_of(shape, numbers) for _, numbers in source_numbers(module, kernel)]
    known = [count for count in counts if count is not None]
    return known if len(known) == len(counts) else []


def is_one_warp(module: Module, kernel: Kernel) -> bool:
    """Whether every launch of the file asks for a single warp."""
    launches = module.launches_of(kernel.name)
    given = [(launch, launch.options.get("num_warps")) for launch in launches]
    warps = [None if node is None else resolve(module, launch, node) for launch, node in given]
    return bool(launches) and all(isinstance(w, ast.Constant) and w.value == 1 for w in warps)
