"""What came of a launch before: versions of a file that launch a kernel alike share its programs.

A kernel's programs follow from its text, from what its names stand for and from the arguments, in
which no node and no line has a part. What they touch is kept with numbers in the place of nodes
and tensors, and read as of those of the version that asks.
"""

import ast
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from tilewright.analysis.instances.kernel import KernelPrograms
from tilewright.analysis.instances.model import (
    Dim,
    Dotted,
    Infeasible,
    Known,
    Storage,
    Tensor,
    Unfollowed,
    Unknown,
)
from tilewright.analysis.instances.record import Outside, Program, Record, Shared, Written
from tilewright.analysis.instances.tiles import Mismatch, Pointer
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.per_kernel import per_module
from tilewright.lru import LruDict
from tilewright.source.model import Kernel, Module
from tilewright.source.parse import module_constants

_KEPT = 128
_Error = Infeasible | Unfollowed | Mismatch
_GIVEN_UP = (Infeasible, Unfollowed, Mismatch)
_NO_LINE_ALONE = ('"""', "'''", "\\\n")
"""In a text with one of these, an empty line may be a part of a value or of a statement."""


@dataclass(frozen=True)
class _Outcome:
    """A record with numbers for nodes and storages, or the error that ended the launch."""

    error: _Error | None
    asked: frozenset[str]
    steps: int
    outside: tuple[tuple[int, str, int, Program, int], ...] = ()
    shared: tuple[tuple[int, int, int, tuple[tuple[Program, Program], int, bool]], ...] = ()
    written: tuple[tuple[int, frozenset[int], bool, tuple[int, ...]], ...] = ()
    is_complete: bool = True
    is_ordered: bool = False
    count: int = 0


_OUTCOMES: LruDict[Hashable, _Outcome] = LruDict(_KEPT)


def record_of(module: Module, kernel: Kernel, programs: KernelPrograms) -> Record:
    """What the programs of a launch touch, which are run unless a launch like it was before.

    Either way ``programs`` has the steps that are left, and the sizes that were asked for.

    Raises:
        Infeasible, Unfollowed, Mismatch: as ``programs`` does.
    """
    launch = _Launch(module, kernel, programs)
    known = None if launch.key is None else _OUTCOMES.get(launch.key)
    if known is None:
        return launch.run()
    programs.steps = known.steps
    programs.asked |= known.asked
    if known.error is not None:
        raise _again(known.error)
    return launch.record(known)


class _Launch:
    """A launch of a kernel. ``key`` is equal for those alike; None where that cannot be derived."""

    def __init__(self, module: Module, kernel: Kernel, programs: KernelPrograms) -> None:
        self._module, self._kernel, self._programs = module, kernel, programs
        self._storages: dict[Storage, int] = {}
        spelled = [(name, self._spelled(value)) for name, value in programs.arguments.items()]
        how = (programs.grid, programs.scale, programs.lanes.is_exact, programs.steps)
        is_told = all(spelling is not None for _, spelling in spelled)
        subject = _subject(module, kernel.name)
        self.key = (subject, tuple(spelled), how, programs.pointers) if is_told else None

    def run(self) -> Record:
        """Run the programs, and keep what comes of it."""
        try:
            record = self._programs.run_all()
        except _GIVEN_UP as error:
            self._keep(self._ended(error=_again(error)))
            raise
        self._keep(self._outcome(record))
        return record

    def _keep(self, outcome: _Outcome | None) -> None:
        if self.key is not None and outcome is not None:
            _OUTCOMES.put(self.key, outcome)

    def _ended(self, error: _Error | None) -> _Outcome:
        return _Outcome(error, frozenset(self._programs.asked), self._programs.steps)

    def _spelled(self, value: Known) -> Hashable:
        """A value without what is of one version alone; None where it cannot be derived so."""
        if isinstance(value, Dim):
            return Dim, int(value), value.keys, value.is_raised
        if value is None or isinstance(value, bool | int | float | str):
            return type(value), repr(value)
        if isinstance(value, Unknown):
            return Unknown
        if isinstance(value, Dotted):
            return Dotted, value.name
        if isinstance(value, tuple):
            parts = tuple(map(self._spelled, value))
            return None if None in parts else (tuple, parts)
        if isinstance(value, Pointer):
            tensor, offset = self._tensor(value.tensor), self._spelled(value.offset)
            return None if tensor is None or offset is None else (Pointer, tensor, offset)
        return None

    def _tensor(self, tensor: Tensor) -> Hashable:
        storage = tensor.storage
        number = self._storages.setdefault(storage, len(self._storages))
        lengths = self._spelled((storage.size, tensor.shape, tensor.strides, tensor.offset))
        return None if lengths is None else (number, storage.name, tensor.key, lengths)

    def _calls(self) -> Sequence[ast.Call]:
        """What the kernel and the functions that it calls may access memory with."""
        family = _family(self._module, self._kernel.name)
        return tuple(chain.from_iterable(nodes_like(k.node, ast.Call) for k in family))

    def _outcome(self, record: Record) -> _Outcome | None:
        nodes = {node: number for number, node in enumerate(self._calls())}
        tensors = self._storages
        if not _is_within(record, nodes, tensors):
            return None
        return replace(
            self._ended(error=None),
            outside=tuple(
                (nodes[o.node], o.kind, tensors[o.storage], o.program, o.element)
                for o in record.outside.values()
            ),
            shared=tuple(
                (nodes[s.node], nodes[s.other], tensors[s.storage], s.where)
                for s in record.shared.values()
            ),
            written=tuple(
                (tensors[t], frozenset(w.elements), w.is_known, tuple(nodes[n] for n in w.nodes))
                for t, w in record.written.items()
            ),
            is_complete=record.is_complete,
            is_ordered=record.is_ordered,
            count=record.count,
        )

    def record(self, known: _Outcome) -> Record:
        """What came of a launch like it, as of this one."""
        calls, tensors, record = self._calls(), tuple(self._storages), Record()
        for node, kind, tensor, program, element in known.outside:
            call = calls[node]
            record.outside[call] = Outside(call, kind, tensors[tensor], program, element)
        for one, two, tensor, where in known.shared:
            shared = Shared(calls[one], calls[two], tensors[tensor], *where)
            record.shared[shared.node, shared.other] = shared
        for tensor, elements, is_known, stores in known.written:
            by = dict.fromkeys(calls[node] for node in stores)
            record.written[tensors[tensor]] = Written(set(elements), is_known, by)
        record.is_complete, record.is_ordered = known.is_complete, known.is_ordered
        record.count = known.count
        return record


def _is_within(
    record: Record, nodes: Mapping[ast.Call, int], tensors: Mapping[Storage, int]
) -> bool:
    """Whether a record is about these calls and tensors alone."""
    touched = {outside.storage for outside in record.outside.values()} | record.written.keys()
    touched |= {shared.storage for shared in record.shared.values()}
    pairs = chain.from_iterable(record.shared)
    stores = chain.from_iterable(written.nodes for written in record.written.values())
    return touched <= tensors.keys() and nodes.keys() >= {*record.outside, *pairs, *stores}


def _again(error: _Error) -> _Error:
    """The same error without the frames that it was raised in, which hold the file's version."""
    if isinstance(error, Infeasible):
        return Infeasible(str(error), error.length, error.same, dict(error.multiples))
    if isinstance(error, Mismatch):
        return Mismatch(error.one, error.two)
    return Unfollowed(str(error))


@per_module
def _family(module: Module, name: str) -> tuple[Kernel, ...]:
    """A kernel and the file's jit functions that it can call, in the order of their names."""
    kernel = module.lookup.named[name][0]
    found, pending = {kernel.name: kernel}, [kernel]
    while pending:
        for used in _names_in(pending.pop()):
            called = module.lookup.kernels.get(module.names.origins.get(used, used))
            if called is not None and called.name not in found:
                found[called.name] = called
                pending.append(called)
    return (kernel, *(found[called] for called in sorted(found) if called != name))


def _names_in(kernel: Kernel) -> frozenset[str]:
    return frozenset(node.id for node in nodes_like(kernel.node, ast.Name))


@per_module
def _subject(module: Module, name: str) -> Hashable:
    """All that a kernel's programs depend on in the text, without lines."""
    family = _family(module, name)
    names = frozenset().union(*map(_names_in, family))
    constants = dict(_constants(module, names))
    spelled = sorted((constant, ast.dump(node)) for constant, node in constants.items())
    for value in constants.values():
        names |= {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    origins = sorted((used, to) for used, to in module.names.origins.items() if used in names)
    called = [
        (one.name, one.aliases, len(module.lookup.named[one.name]) == 1, _layout_free(one.text))
        for one in family
    ]
    return repr((called, spelled, origins))


def _constants(module: Module, names: frozenset[str]) -> Iterator[tuple[str, ast.expr]]:
    """The file's constants of these names, and those that they are made of."""
    constants = module_constants(module.tree)
    seen, pending = set[str](), list(names)
    while pending:
        name = pending.pop()
        if name in constants and name not in seen:
            seen.add(name)
            yield name, constants[name]
            pending += [n.id for n in ast.walk(constants[name]) if isinstance(n, ast.Name)]


def _layout_free(text: str) -> str:
    """A text without the empty lines and the lines of comments, where these mean nothing."""
    if any(mark in text for mark in _NO_LINE_ALONE):
        return text
    lines = text.splitlines()
    return "\n".join(line for line in lines if line.strip() and line.lstrip()[0] != "#")
