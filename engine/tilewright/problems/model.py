"""What a kernel is run on: an entry point, and cases of inputs the candidate cannot touch."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tilewright.errors import InputError
from tilewright.targets.model import Target

CAPTURED, SMALL_CAPTURED = "captured", "captured-small"
RAGGED = "ragged"
SCALED = "scaled"
DimScalar = int | float | bool | str
# Two lists deep, spelled out: pydantic cannot serialize an alias that names itself.
Dim = DimScalar | tuple[DimScalar | tuple[DimScalar, ...], ...]


class ProblemError(InputError):
    """A problem spec that cannot be used."""


class NoSpecError(ProblemError):
    """YAML that is no spec of a kernel, or no YAML at all: perhaps it belongs to something else."""


class EntryKind(StrEnum):
    """How the entry point is called: ``f(*inputs)``, ``Model(*init_args).forward(*inputs)``, or,
    of a problem made from captured launches, ``kernel[grid](...)`` as each case says."""

    FUNCTION = "function"
    MODEL = "model"
    LAUNCH = "launch"


@dataclass(frozen=True)
class Entry:
    """The callable that a problem runs.

    Attributes:
        path: None for the file under test itself.
        preferred: taken where a file defines it, as KernelBench's kernels do ``ModelNew``.
        layout: file whose functions bring inputs into a kernel's layout and results back, as
            NKIBench's references have them.
    """

    kind: EntryKind
    name: str
    path: str | None = None
    preferred: str | None = None
    layout: str | None = None

    def name_in(self, defined: Collection[str]) -> str:
        """The name that it has in a file that defines these."""
        return self.preferred if self.preferred in defined and self.preferred else self.name


@dataclass(frozen=True)
class Facts:
    """What a spec states of an input, which its callers see to and no kernel has to check.

    Attributes:
        align: bytes that its address and the strides of its rows are multiples of; 0: any.
        contiguous: rows lie one after the other.
        finite: neither infinities nor NaN.
        nonnegative, sorted, unique: of its numbers; ``sorted`` along the last dimension.
    """

    align: int = 0
    contiguous: bool = False
    finite: bool = False
    nonnegative: bool = False
    sorted: bool = False
    unique: bool = False


@dataclass(frozen=True)
class Input:
    """One argument of the entry point.

    Attributes:
        shape: extents; empty for a 0-d tensor.
        dtype: torch's attribute name: "float16", "int64", "bool".
        low, high: bounds for integers, upper one excluded; None where the spec gives none.
        transforms: AI Bench's ``inits``, applied in order ("softmax", "abs", "normalize", ...).
        value: a plain Python scalar passed as it is; shape and dtype are then unused.
        values: of an integer tensor, all of them in order.
        ascending: integers are drawn and put in order.
        mean, std: of floats, which then lie within ``low`` and ``high``, both included.
        strides: in elements, where the tensor is not dense and in order.
        facts: what the spec states of it.
    """

    name: str
    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    low: int | float | None = None
    high: int | float | None = None
    transforms: tuple[str, ...] = ()
    value: int | float | bool | str | None = None
    values: tuple[int, ...] = ()
    ascending: bool = False
    mean: float | None = None
    std: float | None = None
    strides: tuple[int, ...] | None = None
    facts: Facts = field(default_factory=Facts)


@dataclass(frozen=True)
class View:
    """A tensor argument of a kernel: a view of one of the case's inputs, which is its storage.

    Attributes:
        name: the kernel's parameter.
        input: the input it lies in; views of the same input share memory.
        offset, shape, strides: in elements of ``dtype``.
        block: of a tensor descriptor over the view.
    """

    name: str
    input: str
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block: tuple[int, ...] | None = None


@dataclass(frozen=True)
class LaunchCase:
    """One captured launch of a kernel, to be made again.

    Attributes:
        values: scalars and constexprs by parameter, in the worker's JSON form.
        options: compiler options that were passed or came from a configuration.
        site: function that launched it, as its qualified name; None where it is not known.
        grid_reads: the arguments that the grid was computed from; None where it was no function.
    """

    kernel: str
    grid: tuple[int, ...]
    views: tuple[View, ...]
    values: Mapping[str, int | float | bool | str | None]
    options: Mapping[str, int | float | bool | str]
    site: str | None = None
    grid_reads: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Call:
    """A recorded call of a function, to be made again.

    Attributes:
        arguments: a template as the worker records and fills it, as JSON; names in it are inputs.
    """

    function: str
    arguments: str


@dataclass(frozen=True)
class Case:
    """One shape a problem is run at.

    Attributes:
        category: the spec's variant category ("ci", "bench-gpu").
        index: position in that category, list-of-dims expanded.
        dtype: of model parameters and of inputs that inherit it; None if the spec gives none.
        inputs: in argument order. Empty with ``inputs_from_module``: KernelBench's ``get_inputs``;
            ``dims`` are then values of the module's constants in place of its own, or what
            ``get_inputs`` takes.
        init_args: constructor arguments of a Model.
        init_named: such by name.
        flop, mem_bytes: of one call, None if the spec gives none.
        rtol, atol: tolerances of the spec or its defaults.
        launch: of a problem made from captured launches: what is launched on the inputs.
        call: of a problem made from tests: which function is called, and how.
    """

    category: str
    index: int
    dims: Mapping[str, Dim]
    dtype: str | None
    inputs: tuple[Input, ...]
    init_args: tuple[Dim, ...] = ()
    init_named: Mapping[str, Dim] = field(default_factory=dict)
    inputs_from_module: bool = False
    flop: float | None = None
    mem_bytes: float | None = None
    rtol: float = 1e-2
    atol: float = 1e-5
    memory_format: str | None = None
    launch: LaunchCase | None = None
    call: Call | None = None

    @property
    def name(self) -> str:
        called = f" {self.call.function}" if self.call is not None else ""
        return f"{self.category}[{self.index}]{called}"


@dataclass(frozen=True)
class Ragged:
    """Variants of a small case whose extents are multiples of no tile.

    What lies in one tuple of cases under one name are alternatives, of which a check takes one.

    Attributes:
        primes: all extents are primes.
        thin: one extent is 1, the others are primes; for the first extent, then for the last.
        single: one extent at a time at the prime below.
        far: the extent that indices go up to (``range: [0, ROWS]``) is beyond 16 bits, the others
            are few.
        tied: all extents at primes but those that are a multiple of another one wherever the spec
            gives them; asked where the original does not stand ``primes``.
        kept: what was not varied freely, and why, in sentences.
    """

    primes: tuple[Case, ...] = ()
    thin: tuple[tuple[Case, ...], ...] = ()
    single: tuple[Case, ...] = ()
    far: tuple[Case, ...] = ()
    tied: tuple[Case, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sizes:
    """Cases of a module that makes its own inputs, at one size."""

    cases: tuple[Case, ...]
    ragged: "Ragged | None" = None


@dataclass(frozen=True)
class PytestFile:
    """Tests of the file under test.

    Attributes:
        path: absolute.
        test: what follows ``::``, without it; empty for all of the file.
        line: of the test, else 1.
        conftests: those whose fixtures the tests may use, the outermost first.
        text: of the tests and the conftests, for the problem's identity.
        passed: the tests that passed with the original, once they ran; each has to pass with a
            candidate.
    """

    path: str
    test: str = ""
    line: int = 1
    conftests: tuple[str, ...] = ()
    text: str = ""
    passed: tuple[str, ...] = ()


@dataclass(frozen=True)
class OwnRule:
    """The verdict of a benchmark itself, reported next to Tilewright's; it decides nothing.

    Attributes:
        name: of the benchmark.
        tolerance: most of the Euclidean norm of the error over that of the reference, in each
            output.
        seeds: of numpy's generator, before the module makes its inputs.
        refused: what a kernel's text, without comments, may not hold.
    """

    name: str
    tolerance: float
    seeds: tuple[int, ...]
    refused: str = ""


@dataclass(frozen=True)
class Problem:
    """A spec, read and resolved. ``cases`` keeps the spec's order of categories.

    Attributes:
        path: the spec file, the KernelBench module, or the folder of captured launches.
        content_hash: of the spec's text and everything it names, for the store and certificates.
        entry: what is called in the file under test.
        reference: an independent implementation for the oracle, if there is one.
        warnings: what was odd but usable (unknown fields, coerced numbers).
        text: of the file that captured launches were made with; None for other problems.
        target: the chip that the spec says it is for.
        ragged: small cases at extents that fit no tile; None where shapes come from no dimensions.
        sizes: of a module that makes its own inputs, its own size and smaller ones, of which the
            first that is small enough and works is to be taken.
        task: text that makes a file under test whole where it has no model of its own.
        allow: what the project permits candidates to do (``permissions``).
        facts: what the spec states of its inputs and the checks keep to, in sentences.
        has_tests: whether tests below the part under test say what it is called with.
        interpreted: small cases at extents that the interpreter finishes; none where they are so.
        pytest: tests that have to pass; where there are no cases, their calls become these.
        own_rule: of a benchmark that judges by a rule of its own.
    """

    path: str
    content_hash: str
    entry: Entry
    reference: Entry | None
    cases: Mapping[str, tuple[Case, ...]]
    default_category: str
    warnings: tuple[str, ...] = field(default=())
    text: str | None = None
    ragged: "Ragged | None" = None
    target: Target | None = None
    sizes: tuple[Sizes, ...] = ()
    task: str | None = None
    allow: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    has_tests: bool = False
    interpreted: tuple[Case, ...] = ()
    pytest: PytestFile | None = None
    own_rule: OwnRule | None = None

    @property
    def is_captured(self) -> bool:
        """Whether it was made from captured launches."""
        return self.entry.kind is EntryKind.LAUNCH

    def check_cases(self) -> tuple[Case, ...]:
        """Small cases: category ``ci``, else ``simple-cpu``, ``bench-cpu``."""
        category = small_category(self.cases)
        return self.cases[category] if category is not None else ()

    def interpreted_cases(self) -> tuple[Case, ...]:
        """The small cases, at smaller extents where they are too much for the interpreter."""
        return self.interpreted or self.check_cases()

    def measured_cases(self) -> tuple[Case, ...]:
        """Cases to time on a device: the default category."""
        return self.cases.get(self.default_category, ())

    def compiled_cases(self) -> tuple[Case, ...]:
        """Cases that show every kernel to the compiler: the first, or the first of each kernel."""
        cases = self.measured_cases() or self.check_cases()
        if not self.is_captured:
            return cases[:1]
        kernels = {case.launch.kernel: case for case in reversed(cases) if case.launch}
        return tuple(case for case in cases if case in kernels.values())


def small_category(cases: Collection[str]) -> str | None:
    """The category whose cases the interpreter can finish."""
    known = ("ci", "simple-cpu", "bench-cpu", SMALL_CAPTURED)
    return next((category for category in known if category in cases), None)
