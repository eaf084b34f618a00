"""Detector of stores that are read back, by other threads or programs, with no barrier between."""

from tilewright.analysis.detectors.common import triton_kernels
from tilewright.analysis.detectors.correctness.locks import is_one_warp
from tilewright.analysis.detectors.program_counts import is_one_program
from tilewright.analysis.detectors.registry import Reports, kernel_detector
from tilewright.analysis.model import Related
from tilewright.analysis.values import Access, Flow, Value, values_within, walk
from tilewright.source.model import Kernel, Module


@kernel_detector("missing_barrier", triton_kernels)
def missing_barrier(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """A load that may reach what other threads, or other programs, have stored before."""
    stores: dict[str, list[Access]] = {}
    for access in flow.accesses:
        if access.kind == "store" and access.base is not None:
            stores.setdefault(access.base, []).append(access)
    # Programs wait for each other with atomics, or with loads that ask memory anew.
    waits = any(a.kind == "atomic" or (a.kind == "load" and _is_anew(a)) for a in flow.accesses)
    loads = [a for a in flow.loads if a.base in stores] if stores and not waits else []
    for load in loads:
        found = _read_back(module, kernel, flow, load, stores[load.base or ""])
        if found is not None:
            store, who = found
            text = (
                f"This load reads what {who} may not have stored yet on line "
                f"{store.node.lineno}: nothing makes it wait for them."
            )
            yield load.node, text, (Related("stored here", module.index.range_of(store.node)),)
            break


def _read_back(
    module: Module, kernel: Kernel, flow: Flow, load: Access, stores: list[Access]
) -> tuple[Access, str] | None:
    """The store that a load reads back, and who did it."""
    for store in stores:
        if store.order > load.order or not _are_in_order(store, load):
            continue
        if any(store.order < order < load.order for order, _ in flow.may_write_unknown):
            continue
        if _is_of_other_programs(module, kernel, store, load):
            return store, "other programs"
        if _is_of_other_threads(store, load) and not is_one_warp(module, kernel):
            return store, "other threads of the program"
    return None


def _is_anew(load: Access) -> bool:
    return any(k.arg in ("volatile", "sem") for k in load.node.keywords)


def _are_in_order(store: Access, load: Access) -> bool:
    """Whether the load runs behind the store, whenever the store runs before it."""
    return load.branches[: len(store.branches)] == store.branches


def _is_of_other_programs(module: Module, kernel: Kernel, store: Access, load: Access) -> bool:
    """``store(part + pid, x)``, then ``load(part + arange(0, N))`` in the same kernel."""
    launches = module.launches_of(kernel.name)
    if any(is_one_program(module, launch) for launch in launches):
        return False
    if "program_id" in {v.op for v in walk(load.pointer)} | _operations(load.mask):
        return False
    written, read = _addends(store.pointer), _addends(load.pointer)
    if store.branches:
        return False  # A condition may leave one program only.
    own = [v for v in written - read if _has(v, "program_id")]
    spread = [v for v in read - written if v.op in ("arange", "loop_index")]
    return len(own) == len(written - read) > 0 and len(spread) == len(read - written) > 0


def _is_of_other_threads(store: Access, load: Access) -> bool:
    """A single place of a row is stored and the row is loaded, or the other way round."""
    written, read = _addends(store.pointer), _addends(load.pointer)
    common, one, two = written & read, written - read, read - written
    if _is_own_place_of_all(one, two):
        return True
    if len(common) < 2 or any(_has(v, "arange") for v in common):
        return False
    for single, spread in ((one, two), (two, one)):
        is_row = len(spread) == 1 and next(iter(spread)).op == "arange"
        is_place = len(single) == 1 and next(iter(single)).op == "load"
        if is_row and is_place and not any(_has(v, "arange") for v in single):
            return not _is_compared(next(iter(single)), store, load)
    return False


def _is_own_place_of_all(written: set[Value], read: set[Value]) -> bool:
    """``store(x + arange(0, N), ...)``, then ``load(x + pid)``: one of all places is read back."""
    return [v.op for v in written] == ["arange"] and [v.op for v in read] == ["program_id"]


def _is_compared(place: Value, store: Access, load: Access) -> bool:
    """Whether a mask asks where the single place is: it may leave out just that place."""
    masks = [mask for mask in (store.mask, load.mask) if mask is not None]
    compared = [v for mask in masks for v in walk(mask) if v.op == "compare"]
    return any(part is place for v in compared for part in walk(v) if part.op == "load")


def _operations(mask: Value | None) -> set[str]:
    return set() if mask is None else {v.op for v in walk(mask)}


def _has(value: Value, operation: str) -> bool:
    return any(v.op == operation for v in walk(value))


def _addends(pointer: Value) -> set[Value]:
    """What is added up; added axes and casts are left aside."""
    return {v for v in values_within(pointer, _is_sum) if not _is_sum(v)}


def _is_sum(value: Value) -> bool:
    return value.is_binary("Add") or (value.op in ("expand", "cast") and bool(value.operands))
