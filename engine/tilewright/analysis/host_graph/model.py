"""The graph of a host function: values it makes, and every use of each."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from tilewright.analysis.host_graph.roles import Role
from tilewright.analysis.values import reached
from tilewright.source.model import Launch


class Origin(StrEnum):
    """How a value comes to be."""

    PARAMETER = "parameter"
    ATTRIBUTE = "attribute"
    """``self.weight``: state that outlives the call."""
    ALLOCATED = "allocated"
    """A new tensor that nothing has computed: ``torch.empty``, ``torch.zeros_like``."""
    VIEW = "view"
    """Another shape or other strides over the same memory; perhaps a copy (``reshape``)."""
    COMPUTED = "computed"
    """What a torch operation or an operator returns."""
    JOINED = "joined"
    """One of several values: after a conditional, around a loop, in a tuple."""
    NUMBER = "number"
    """A size, a literal, a dtype: nothing that is in device memory."""
    UNKNOWN = "unknown"


class UseKind(StrEnum):
    """What is done with a value."""

    LAUNCH = "launch"
    OPERATION = "operation"
    """A torch operation, a method or an operator reads it."""
    IN_PLACE = "in place"
    """The host changes it: ``x.zero_()``, ``x[0] = 1``, ``x += y``."""
    SHAPE = "shape"
    """Only its shape, strides, dtype, device or address is asked for."""
    ESCAPE = "escape"
    """It is returned, stored elsewhere, or given to code that is not known."""


@dataclass(frozen=True)
class Place:
    """Where in the function: a number in program order, and the enclosing blocks."""

    order: int
    branches: tuple[int, ...]
    loops: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class HostValue:
    """A value of a host function.

    Attributes:
        operation: what made it: a dotted name ("torch.relu"), a method (".float"), an operator
            ("Mult"), "[]", or the dotted text of an attribute ("self.weight").
        sources: the values it is made from.
        node: the expression that made it; None for parameters and joins.
    """

    origin: Origin
    operation: str
    sources: tuple["HostValue", ...]
    node: ast.expr | None
    place: Place

    @property
    def is_number(self) -> bool:
        return self.origin is Origin.NUMBER


@dataclass(frozen=True, eq=False)
class Use:
    """One use of a value. ``result`` is what the operation made of it.

    For a launch: which one, the kernel's parameter, and what the kernel does with it.
    """

    value: HostValue
    kind: UseKind
    node: ast.expr | ast.stmt
    place: Place
    result: HostValue | None = None
    launch: Launch | None = None
    parameter: str | None = None
    role: Role | None = None


@dataclass
class HostGraph:
    """All values and uses of one host function, in program order.

    ``guards`` has the conditional of each branch number; ``names`` what each name was given,
    ``returned`` what each return hands out.
    """

    node: ast.FunctionDef
    values: list[HostValue] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    guards: dict[int, ast.If] = field(default_factory=dict)
    names: dict[str, list[HostValue]] = field(default_factory=dict)
    returned: dict[ast.Return, HostValue] = field(default_factory=dict)
    _uses_of: dict[HostValue, list[Use]] = field(default_factory=dict)
    _aliases: dict[HostValue, list[HostValue]] = field(default_factory=dict)

    def add_value(self, value: HostValue) -> HostValue:
        self.values.append(value)
        if value.origin in (Origin.VIEW, Origin.JOINED):
            for source in value.sources:
                self._aliases.setdefault(source, []).append(value)
        return value

    def add_use(self, use: Use) -> None:
        self.uses.append(use)
        self._uses_of.setdefault(use.value, []).append(use)

    def direct_uses(self, value: HostValue) -> list[Use]:
        """Uses of exactly this value."""
        return self._uses_of.get(value, [])

    def family(self, value: HostValue) -> Iterator[HostValue]:
        """The value and whatever may share its memory later: views of it, joins with it."""
        return reached(value, lambda current: self._aliases.get(current, ()))

    def data_uses(self, value: HostValue) -> list[Use]:
        """Uses of the memory of a value, through views and joins, in program order."""
        found = [
            use
            for member in self.family(value)
            for use in self._uses_of.get(member, ())
            if use.kind is not UseKind.SHAPE
        ]
        return sorted(found, key=lambda use: use.place.order)

    def root(self, value: HostValue) -> HostValue:
        """The value whose memory a view shows."""
        while value.origin is Origin.VIEW and value.sources:
            value = value.sources[0]
        return value
