"""Why neighbours of a tile are no neighbours to the compiler, and what a launch without that is."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from tilewright.analysis.flow import flow_of
from tilewright.analysis.tiles import Polynomial, TileFacts
from tilewright.analysis.values import Access, Value, walk
from tilewright.compiled.model import Subject
from tilewright.targets.model import ArgumentFacts, LaunchFacts

_DIVISOR = 16


class Kind(StrEnum):
    """What the compiler does not know."""

    STRIDE = "stride"
    POINTER = "pointer"
    STEP = "step"
    BOUND = "bound"


@dataclass(frozen=True)
class Cause:
    """An argument of which the compiler lacks a fact; ``axis`` is the tile's that it concerns."""

    kind: Kind
    argument: ArgumentFacts
    axis: int

    @property
    def hidden(self) -> bool:
        """Whether the launch states the fact and the kernel's text keeps it from the compiler."""
        return self.kind is Kind.STRIDE and self.argument.value == 1


def accesses_on(subject: Subject, line: int) -> tuple[Access, ...]:
    """The loads and stores of the kernel that begin on a line."""
    flow = flow_of(subject.module, subject.kernel)
    return tuple(a for a in flow.accesses if a.node.lineno == line and a.kind != "atomic")


def causes_of(subject: Subject, access: Access) -> tuple[Cause, ...]:
    """What keeps an access narrow; empty where nothing that an argument could change does.

    An address that is loaded, or taken modulo something, has no cause here: it is what it is.
    """
    facts = subject.tiles.facts_of(access.pointer)
    if not facts.shape or facts.strides is None:
        return ()
    axis = _contiguous(facts)
    if axis is None:
        strided = tuple(_strided(subject, facts))
        # An inferred launch says of a stride only that it is 1.
        return tuple(c for c in strided if c.argument.value == 1) if subject.inferred else strided
    if hidden := tuple(_hidden_ones(subject, access.pointer, axis)):
        return hidden
    if subject.inferred:
        return ()
    found = [*_unaligned_base(subject, facts, axis), *_unaligned_steps(subject, facts, axis)]
    if access.mask is not None:
        found += _ragged(subject, access.mask, axis)
    return tuple({(c.kind, c.argument.name): c for c in found}.values())


def without_causes(launch: LaunchFacts, causes: Iterable[Cause]) -> LaunchFacts:
    """The launch with the missing facts stated."""
    known = {c.argument.name: _stated(c) for c in causes}
    return replace(launch, arguments=tuple(known.get(a.name, a) for a in launch.arguments))


def _stated(cause: Cause) -> ArgumentFacts:
    if cause.kind is Kind.STRIDE:
        return replace(cause.argument, kind="constexpr", type="constexpr", value=1)
    return replace(cause.argument, divisible_by_16=True)


def _contiguous(facts: TileFacts) -> int | None:
    """The axis along which neighbours are known to lie next to each other."""
    strides = facts.strides or ()
    axes = [n for n, s in enumerate(strides) if s is not None and s.number == 1]
    return axes[-1] if axes else None


def _strided(subject: Subject, facts: TileFacts) -> Iterator[Cause]:
    """Strides that are one argument each, of the axes that have an extent."""
    for axis, stride in enumerate(facts.strides or ()):
        if stride is None or (facts.shape or ())[axis] == 1:
            continue
        argument = _alone(subject, stride)
        if argument is not None:
            yield Cause(Kind.STRIDE, argument, axis)


def _hidden_ones(subject: Subject, pointer: Value, axis: int) -> Iterator[Cause]:
    """Factors of an address that are 1 at the launch and that the JIT may not fold."""
    for value in walk(pointer):
        for operand in value.operands if value.is_binary("Mult") else ():
            argument = _integer(subject, operand)
            if argument is not None and argument.value == 1 and _is_typed(subject, argument.name):
                yield Cause(Kind.STRIDE, argument, axis)


def _is_typed(subject: Subject, name: str) -> bool:
    """Whether an annotation or do_not_specialize keeps the JIT from looking at a value."""
    if name in (subject.kernel.do_not_specialize or ()):
        return True
    given = subject.kernel.node.args
    arguments = (*given.posonlyargs, *given.args, *given.kwonlyargs)
    return any(a.arg == name and a.annotation is not None for a in arguments)


def _alone(subject: Subject, polynomial: Polynomial) -> ArgumentFacts | None:
    """The integer argument that a polynomial is."""
    parts = list(polynomial)
    if len(parts) != 1 or parts[0][1] != 1 or len(parts[0][0]) != 1:
        return None
    return _integer(subject, parts[0][0][0])


def _integer(subject: Subject, value: Value) -> ArgumentFacts | None:
    """The run-time integer argument that a value is."""
    found = subject.launch.argument(str(value.detail)) if value.op == "param" else None
    return found if found is not None and found.kind == "int" else None


def _unaligned_base(subject: Subject, facts: TileFacts, axis: int) -> Iterator[Cause]:
    argument = subject.launch.argument(facts.base) if facts.base else None
    if argument is not None and argument.kind == "tensor" and not argument.divisible_by_16:
        yield Cause(Kind.POINTER, argument, axis)


def _unaligned_steps(subject: Subject, facts: TileFacts, axis: int) -> Iterator[Cause]:
    """Arguments in the distance between two runs of neighbours that are not known to be even."""
    if facts.affine is None:
        return
    steps = [term.coefficient for term in facts.affine.terms if term.axis != axis]
    for step in (*steps, facts.affine.constant):
        for factors, coefficient in step:
            yield from _uneven(subject, factors, coefficient, axis)


def _uneven(
    subject: Subject, factors: tuple[Value, ...], coefficient: int, axis: int
) -> Iterator[Cause]:
    if coefficient % _DIVISOR == 0 or any(_is_even(subject, f) for f in factors):
        return
    arguments = [_integer(subject, factor) for factor in factors]
    known = [a for a in arguments if a is not None]
    if len(known) == 1:
        yield Cause(Kind.STEP, known[0], axis)


def _is_even(subject: Subject, value: Value) -> bool:
    return subject.tiles.facts_of(value).divisibility % _DIVISOR == 0


def _ragged(subject: Subject, mask: Value, axis: int) -> Iterator[Cause]:
    """Bounds along the axis at which a run of neighbours may be cut."""
    for value in walk(mask):
        if value.op != "compare" or len(value.operands) != 2:
            continue
        sides = [subject.tiles.facts_of(operand) for operand in value.operands]
        if not any(_runs_along(side, axis) for side in sides):
            continue
        for operand in value.operands:
            for part in walk(operand):
                argument = _integer(subject, part)
                if argument is not None and not argument.divisible_by_16:
                    yield Cause(Kind.BOUND, argument, axis)


def _runs_along(facts: TileFacts, axis: int) -> bool:
    """Whether a value differs along an axis; one of lower rank is taken to be expanded later."""
    if not facts.shape:
        return False
    if facts.affine is not None:
        return any(term.axis == axis for term in facts.affine.terms)
    return True


def against_the_order(subject: Subject, access: Access) -> str:
    """The axis that an fp32 operand of wgmma is contiguous along, if it is not K; else empty.

    PTX ISA, wgmma.mma_async: operands of 16 bits may lie in either order, all others along K only.
    """
    facts = subject.tiles.facts_of(access.pointer)
    if not any("wgmma" in line.tensor for line in subject.report.lines):
        return ""
    if facts.dtype != "fp32" or facts.strides is None or len(facts.strides) != 2:
        return ""
    axis = _contiguous(facts)
    for _, dot, _ in flow_of(subject.module, subject.kernel).calls("triton.language.dot"):
        for operand, (wrong, name) in zip(dot.positional, ((0, "M"), (1, "N")), strict=False):
            if operand is access.result and axis == wrong:
                return name
    return ""
