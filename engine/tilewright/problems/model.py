"""What a kernel is run on: an entry point, and cases of inputs the candidate cannot touch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tilewright.errors import InputError

DimScalar = int | float | bool | str
# Two lists deep, spelled out: pydantic cannot serialize an alias that names itself.
Dim = DimScalar | tuple[DimScalar | tuple[DimScalar, ...], ...]


class ProblemError(InputError):
    """A problem spec that cannot be used."""


class EntryKind(StrEnum):
    """How the entry point is called: ``f(*inputs)``, or ``Model(*init_args).forward(*inputs)``."""

    FUNCTION = "function"
    MODEL = "model"


@dataclass(frozen=True)
class Entry:
    """The callable that a problem runs; ``path`` is None for the file under test itself."""

    kind: EntryKind
    name: str
    path: str | None = None


@dataclass(frozen=True)
class Input:
    """One argument of the entry point.

    Attributes:
        shape: extents; empty for a 0-d tensor.
        dtype: torch's attribute name: "float16", "int64", "bool".
        low, high: bounds for integers, upper one excluded; None where the spec gives none.
        transforms: AI Bench's ``inits``, applied in order ("softmax", "abs", "normalize", ...).
        value: a plain Python scalar passed as it is; shape and dtype are then unused.
    """

    name: str
    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    low: int | float | None = None
    high: int | float | None = None
    transforms: tuple[str, ...] = ()
    value: int | float | bool | str | None = None


@dataclass(frozen=True)
class Case:
    """One shape a problem is run at.

    Attributes:
        category: the spec's variant category ("ci", "bench-gpu").
        index: position in that category, list-of-dims expanded.
        dtype: of model parameters and of inputs that inherit it; None if the spec gives none.
        inputs: in argument order. Empty with ``inputs_from_module``: KernelBench's ``get_inputs``.
        init_args: constructor arguments of a Model.
        flop, mem_bytes: of one call, None if the spec gives none.
        rtol, atol: tolerances of the spec or its defaults.
    """

    category: str
    index: int
    dims: Mapping[str, Dim]
    dtype: str | None
    inputs: tuple[Input, ...]
    init_args: tuple[Dim, ...] = ()
    inputs_from_module: bool = False
    flop: float | None = None
    mem_bytes: float | None = None
    rtol: float = 1e-2
    atol: float = 1e-5
    memory_format: str | None = None

    @property
    def name(self) -> str:
        return f"{self.category}[{self.index}]"


@dataclass(frozen=True)
class Problem:
    """A spec, read and resolved. ``cases`` keeps the spec's order of categories.

    Attributes:
        path: the spec file, or the KernelBench module.
        content_hash: of the spec's text and everything it names, for the store and certificates.
        entry: what is called in the file under test.
        reference: an independent implementation for the oracle, if there is one.
        warnings: what was odd but usable (unknown fields, coerced numbers).
    """

    path: str
    content_hash: str
    entry: Entry
    reference: Entry | None
    cases: Mapping[str, tuple[Case, ...]]
    default_category: str
    warnings: tuple[str, ...] = field(default=())

    def check_cases(self) -> tuple[Case, ...]:
        """Cases the interpreter can finish: category ``ci``, else ``simple-cpu``, ``bench-cpu``."""
        for category in ("ci", "simple-cpu", "bench-cpu"):
            if category in self.cases:
                return self.cases[category]
        return ()

    def measured_cases(self) -> tuple[Case, ...]:
        """Cases to time on a device: the default category."""
        return self.cases.get(self.default_category, ())
