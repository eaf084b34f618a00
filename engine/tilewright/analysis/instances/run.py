"""Faults of a kernel that show at sizes chosen for one of its launches."""

import ast
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tilewright.analysis.flow import flow_of
from tilewright.analysis.instances.host import Call, Host
from tilewright.analysis.instances.kernel import KernelPrograms
from tilewright.analysis.instances.model import (
    UNKNOWN,
    Function,
    Infeasible,
    Known,
    Open,
    Storage,
    Unfollowed,
    keys_of,
)
from tilewright.analysis.instances.operators import FAILURES, LEAST_SCALED, is_block
from tilewright.analysis.instances.outcomes import record_of
from tilewright.analysis.instances.record import Outside, Record, Shared
from tilewright.analysis.instances.sizes import Shape, Sizes, is_callers_number
from tilewright.analysis.instances.tiles import Lanes, Mismatch
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.per_kernel import per_module
from tilewright.source.host_reads import note_host_read
from tilewright.source.model import Kernel, Launch, Module
from tilewright.source.node_memo import per_text
from tilewright.source.parse import module_constants

_MOST_ELEMENTS = 20_000
_ATTEMPTS = 8
_MOST_HOSTS = 2
_MAKERS = frozenset(
    f"{new}{name}" for new in ("", "new_") for name in ("empty", "zeros", "ones", "full")
)
_STEPS = 8_000
"""What all evaluations of a kernel with a host function may take: expressions, and lanes in 16."""
_GREATEST_BLOCK = 1 << 13


@dataclass(frozen=True)
class Unwritten:
    """An element of an allocation that no program stores."""

    node: ast.Call
    storage: Storage
    element: int
    count: int


@dataclass(frozen=True)
class Faults:
    """What goes wrong at the sizes chosen: ``sizes`` are they, in words.

    ``scale`` is what the text's lengths of blocks were divided by; ``is_ragged`` where some sizes
    are no multiples of blocks.
    """

    launch: Launch
    sizes: str
    scale: int = 1
    is_padded: bool = False
    is_ragged: bool = False
    outside: tuple[Outside, ...] = ()
    unwritten: tuple[Unwritten, ...] = ()
    shared: tuple[Shared, ...] = ()


@dataclass
class _Run:
    """One evaluation of a host function with all programs of a kernel."""

    host: Host
    record: Record
    launch: Launch


@per_module
def _known_faults(module: Module) -> dict[str, tuple[Faults, ...]]:
    return {}


def faults_of(module: Module, kernel: Kernel) -> tuple[Faults, ...]:
    """What goes wrong at a launch of the file; looked for once for each parsed file."""
    known = _known_faults(module)
    note_host_read()
    if kernel.qualified_name not in known:
        known[kernel.qualified_name] = _faults(module, kernel)
    return known[kernel.qualified_name]


def _faults(module: Module, kernel: Kernel) -> tuple[Faults, ...]:
    if len(module.lookup.named[kernel.name]) != 1 or kernel.other_decorators:
        return ()
    hosts: dict[str, None] = {}
    for launch in module.launches_of(kernel.name):
        if launch.is_certain and launch.host_function in module.host_functions:
            hosts[launch.host_function or ""] = None
    found: list[Faults] = []
    for name in list(hosts)[:_MOST_HOSTS]:
        found += _Instances(module, kernel, module.host_functions[name]).faults()
    return tuple(found)


@dataclass
class _Instances:
    """A kernel and a host function that launches it."""

    module: Module
    kernel: Kernel
    function: ast.FunctionDef
    greatest: int = field(default=1)
    pointers: frozenset[str] = frozenset()
    steps: int = _STEPS

    def faults(self) -> Iterator[Faults]:
        """The faults at the first sizes that show any."""
        self.pointers = _pointers(self.module, self.kernel)
        first = self._attempt(Sizes(), is_host_only=True)
        if first is None:
            return
        sizes = replace(first[1], scale=_scale(self.module, self.kernel, self.function))
        for kind, is_padded in self._kinds(sizes):
            again = self._attempt(sizes.again(kind=kind, is_padded=is_padded))
            faults = None if again is None else self._confirmed(*again)
            if faults is not None:
                yield faults
            if faults is not None or again is None:
                return

    def _kinds(self, sizes: Sizes) -> Iterator[tuple[Shape, bool]]:
        """The kinds of sizes to try; which sizes are ragged is known after the first ones."""
        yield Shape.WHOLE, False
        last = Shape.WHOLE
        if sizes.ragged - sizes.powers:
            yield Shape.ODD, False
            yield (last := Shape.EVEN), False
        attributes = nodes_like(self.function, ast.Attribute)
        is_strided = any(node.attr == "stride" for node in attributes)
        if is_strided:
            yield last, True

    def _confirmed(self, run: _Run, sizes: Sizes) -> Faults | None:
        """The faults that are there as well at other sizes of the kind.

        Those where sizes that are not ragged are long, and where the caller's numbers are 1.
        """
        record = run.record
        shared = {} if record.is_ordered else dict(record.shared)
        # Lengths that the text states are not scaled with its blocks.
        outside = {
            node: fault
            for node, fault in record.outside.items()
            if sizes.scale == 1 or keys_of(fault.storage.size)
            if run.host.unread.isdisjoint(keys_of(fault.storage.size))
        }
        unwritten = list(self._unwritten(run))
        others = [sizes.again(block=max(LEAST_SCALED, self.greatest))] if outside or shared else []
        if sizes.has_callers_numbers and (outside or shared or unwritten):
            others.append(sizes.again(is_least=True))
        for other in others:
            again = self._attempt(other)
            known = Record() if again is None else again[0].record
            outside = {n: o for n, o in outside.items() if n in known.outside}
            shared = {n: s for n, s in shared.items() if n in known.shared}
        for other in (sizes.again(), *others[1:]) if unwritten else ():
            exact = self._attempt(other, is_exact=True)
            unwritten = [] if exact is None else list(self._unwritten(exact[0]))
            if not unwritten:
                break
        unwritten = [one for one in unwritten if not self._hangs_on_others(one, sizes)]
        if not outside and not shared and not unwritten:
            return None
        return Faults(
            run.launch,
            sizes.spelled(),
            sizes.scale,
            sizes.is_padded,
            sizes.kind is not Shape.WHOLE,
            tuple(outside.values()),
            tuple(unwritten),
            tuple(shared.values()),
        )

    def _hangs_on_others(self, fault: Unwritten, sizes: Sizes) -> bool:
        """Whether another tensor that is longer fills a buffer: callers may see to that."""
        for key in sizes.of_others(fault.storage.size):
            again = self._attempt(sizes.again(long=frozenset((key,))), is_exact=True)
            if again is not None and not any(True for _ in self._unwritten(again[0])):
                return True
        return False

    def _unwritten(self, run: _Run) -> Iterator[Unwritten]:
        record = run.record
        for storage in run.host.storages:
            written = record.written.get(storage)
            if not storage.is_unset or storage.is_shared or storage.size is None:
                continue
            if written is None or not written.is_known or not record.is_complete:
                continue
            # A number of elements that the text states is its author's choice.
            if storage.size > _MOST_ELEMENTS or not keys_of(storage.size):
                continue
            left = [e for e in range(storage.size) if e not in written.elements]
            if left:
                node = next(iter(written.nodes))
                yield Unwritten(node, storage, left[0], len(left))

    def _attempt(
        self, sizes: Sizes, *, is_exact: bool = False, is_host_only: bool = False
    ) -> tuple[_Run, Sizes] | None:
        """One evaluation; sizes that the text refuses are replaced by such as it takes."""
        for _ in range(_ATTEMPTS):
            try:
                return self._run(sizes, is_exact, is_host_only), sizes
            except Infeasible as refused:
                if not _adapted(sizes, refused):
                    return None
                sizes = sizes.again()
            except (Unfollowed, Mismatch, RecursionError, *FAILURES):
                return None
        return None

    def _run(self, sizes: Sizes, is_exact: bool, is_host_only: bool) -> _Run:
        record = Record()
        host = Host(self.module, self.function, self.kernel.name, sizes)
        launches: list[Launch] = []

        def launched(host: Host, call: Call) -> None:
            launches.append(call.launch)
            if is_host_only:
                return
            record.take(self._programs(host, call, Lanes(is_exact=is_exact)))
            if record.is_full:
                raise Unfollowed("too many accesses")

        host.evaluate(launched)
        if not launches:
            raise Unfollowed("no launch")
        return _Run(host, record, launches[0])

    def _programs(self, host: Host, call: Call, lanes: Lanes) -> Record:
        """What the programs of a launch touch."""
        meta = self._arguments(host, call)
        grid = host.grid(call.launch, meta)
        numbers = [int(v) for v in meta.values() if is_block(v)]
        literals = [n // host.scale for n in _blocks_in(self.kernel.node)]
        self.greatest = max([1, *(n for n in (*numbers, *literals) if n <= _GREATEST_BLOCK)])
        _trust(meta, grid, host)
        programs = KernelPrograms(
            self.module, self.kernel, meta, grid, host.scale, lanes, self.pointers
        )
        programs.steps = self.steps
        try:
            return record_of(self.module, self.kernel, programs)
        finally:
            self.steps = programs.steps
            host.sizes.mark_ragged(programs.asked)

    def _number(self, host: Host, name: str, value: Known) -> Known:
        """A parameter of the host function that the kernel does not use as an address."""
        number = host.number(value) if name not in self.pointers else UNKNOWN
        parameter = self.kernel.parameter(name)
        if parameter is not None and parameter.is_constexpr and is_callers_number(number):
            raise Unfollowed("a block or a choice that the caller makes")
        if not isinstance(value, Open) or name in self.pointers:
            return value
        return UNKNOWN if isinstance(number, Open) else number

    def _arguments(self, host: Host, call: Call) -> dict[str, Known]:
        """The kernel's arguments by name: of the launch, the tuner, heuristics and defaults."""
        meta = {name: self._number(host, name, v) for name, v in call.arguments.items()}
        for name, value in self._tuned(host).items():
            meta.setdefault(name, value)
        for parameter in self.kernel.parameters:
            if parameter.name not in meta and parameter.default is not None:
                tree = ast.parse(parameter.default, mode="eval").body
                meta[parameter.name] = host.value(tree)
        for name, expression in self.kernel.heuristic_values.items():
            function = host.value(expression)
            known = isinstance(function, Function)
            meta[name] = host.apply(function, [meta]) if known else UNKNOWN
        for parameter in self.kernel.parameters:
            meta.setdefault(parameter.name, UNKNOWN)
        return meta

    def _tuned(self, host: Host) -> dict[str, Known]:
        tuned = self.kernel.autotune
        if tuned is None:
            return {}
        if not tuned.configs:
            raise Unfollowed("configurations that are not written out")
        numbers = [
            {
                name: 16 if value is None else host.scaled(value)
                for name, value in config.values.items()
            }
            for config in tuned.configs
        ]
        return min(
            numbers, key=lambda c: math.prod(v for v in c.values() if type(v) is int and v > 0)
        )


def _trust(meta: dict[str, Known], grid: tuple[int, ...], host: Host) -> None:
    """Tensors of the caller end where the text says only if the kernel is given all their sizes.

    Any other size may be one that the caller has to choose like those of another tensor.
    """
    passed = frozenset[str]().union(*map(keys_of, (*meta.values(), *grid)))
    for storage in host.storages:
        if storage.made is None and not keys_of(storage.size) <= passed:
            storage.size = None


def _blocks(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Literals that may be lengths of blocks."""
    for inner in nodes:
        value = inner.value if isinstance(inner, ast.Constant) else None
        if isinstance(value, int) and is_block(value):
            yield value


@per_text
def _blocks_in(function: ast.FunctionDef) -> tuple[int, ...]:
    return tuple(_blocks(nodes_like(function, ast.Constant)))


@per_text
def _extents_in(function: ast.FunctionDef) -> tuple[int, ...]:
    """The stated extents of tensors that a host function makes: ``torch.empty(n, 8)``."""
    made = (
        call
        for call in nodes_like(function, ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _MAKERS
    )
    return tuple(_blocks(node for call in made for part in call.args for node in ast.walk(part)))


@per_text
def _has_bits(function: ast.FunctionDef) -> bool:
    """Whether bits of numbers are taken anywhere, or powers."""
    return any(map(_takes_bits, nodes_like(function, ast.BinOp)))


@per_text
def _splits_lanes(kernel: ast.FunctionDef) -> bool:
    """Whether lanes of a stated number may be rows and columns: ``arange(0, 16) // 4``."""
    calls = nodes_like(kernel, ast.Call)
    has_lanes = any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "arange"
        and isinstance(call.args[-1] if call.args else None, ast.Constant)
        for call in calls
    )
    return has_lanes and any(
        isinstance(node.op, ast.FloorDiv | ast.Mod) and isinstance(node.right, ast.Constant)
        for node in nodes_like(kernel, ast.BinOp)
    )


@per_text
def _words_of(function: ast.FunctionDef) -> frozenset[str]:
    return frozenset(node.id for node in nodes_like(function, ast.Name))


def _scale(module: Module, kernel: Kernel, function: ast.FunctionDef) -> int:
    """What all lengths of blocks can be divided by, so that few lanes tell the same.

    1 where bits of indices are taken, powers of numbers, or parts of a number of lanes that the
    text states: these do not follow.
    """
    functions = [function, kernel.node, *(helper.node for helper in module.helpers_of(kernel))]
    if any(map(_has_bits, functions)) or _splits_lanes(kernel.node):
        return 1
    constants = module_constants(module.tree)
    words = frozenset().union(*map(_words_of, functions)) & constants.keys()
    found = [number for inner in functions[1:] for number in _blocks_in(inner)]
    found += Counter(_blocks_in(function)) - Counter(_extents_in(function))
    found += _blocks(node for word in words for node in ast.walk(constants[word]))
    tuned = kernel.autotune.configs if kernel.autotune is not None else None
    for config in tuned or ():
        found += [v for v in config.values.values() if isinstance(v, int) and is_block(v)]
    lengths = set(found)
    if any(one * two in lengths for one in lengths for two in lengths):
        # A length that is a product of two others would be made too short by less than these.
        return 1
    return max(1, min(found, default=LEAST_SCALED) // LEAST_SCALED)


def _takes_bits(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.RShift() | ast.LShift() | ast.BitAnd(), right=ast.Constant()):
            return True
        case ast.BinOp(op=ast.Pow(), left=ast.Constant()):
            return True
    return False


def _pointers(module: Module, kernel: Kernel) -> frozenset[str]:
    """The parameters that a kernel uses as addresses, or gives to functions of its own."""
    flow = flow_of(module, kernel)
    found = {access.base for access in flow.accesses if access.base is not None}
    for node in nodes_like(kernel.node, ast.Call):
        name = module.names.resolve(node.func) or ""
        if "." in name and not name.endswith(("make_block_ptr", "make_tensor_descriptor")):
            continue
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        found.update(n.id for arg in given for n in ast.walk(arg) if isinstance(n, ast.Name))
    free = {p.name for p in kernel.parameters if not p.is_constexpr}
    return frozenset(found & free)


def _adapted(sizes: Sizes, refused: Infeasible) -> bool:
    """Take note of what the text demands; whether that is anything new."""
    if refused.same is not None:
        one, two = refused.same
        if one not in sizes.aliases and one != two:
            sizes.aliases[one] = two
            return True
        return False
    if refused.multiples:
        new = {k: n for k, n in refused.multiples.items() if sizes.multiples.get(k) != n}
        sizes.multiples.update(new)
        return bool(new)
    if refused.length is not None:
        names = sizes.named(refused.length) - sizes.powers
        sizes.powers |= names
        return bool(names)
    return False
