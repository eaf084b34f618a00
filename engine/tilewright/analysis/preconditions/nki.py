"""Preconditions on NKI instructions, from the interpretation of the kernel."""

from collections.abc import Iterator
from math import prod

from tilewright.analysis.nki import Flow, View, nki_flow
from tilewright.analysis.preconditions.model import Answer, Parameters, Subject, whole, words


def nki_complete(subject: Subject, parameters: Parameters) -> Answer:
    """Nothing is called whose effects on tensors are unknown."""
    if _flow(subject).complete:
        return Answer(True, "every call is an instruction that is known")
    return Answer(None, "a call in it may change tensors in ways unknown here")


def nki_side(subject: Subject, parameters: Parameters) -> Answer:
    """An axis of an operand has so many elements; axis 1 is all of the free dimensions."""
    least, most = whole(parameters, "least"), whole(parameters, "most")
    axis, operand = whole(parameters, "axis"), str(parameters["operand"])
    flow = _flow(subject)
    sides = [_side(flow, view, axis) for view in _operands(flow, parameters)]
    fitting = next((side for side in sides if side is not None and least <= side <= most), None)
    if fitting is not None:
        return Answer(True, f"{operand} has {fitting} elements along axis {axis}")
    if None in sides:
        return Answer(None, f"the extent of {operand} is not known")
    return Answer(False, f"no {operand} has from {least} to {most} elements along axis {axis}")


def _side(flow: Flow, view: View | None, axis: int) -> int | None:
    sides = None if view is None else flow.numbers(view.shape)
    if sides is None:
        return None
    if axis == 0:
        return sides[0]
    free = [side for side in sides[1:] if side is not None]
    return prod(free) if len(free) == len(sides) - 1 else None


def nki_dtype(subject: Subject, parameters: Parameters) -> Answer:
    """An operand has one of some element types."""
    views = _operands(_flow(subject), parameters)
    found = {None if view is None else view.dtype for view in views}
    return _membership(found, words(parameters, "dtypes"), str(parameters["operand"]))


def nki_memory(subject: Subject, parameters: Parameters) -> Answer:
    """An operand lies in HBM, SBUF or PSUM."""
    views = _operands(_flow(subject), parameters)
    memories = {None if view is None else view.memory for view in views}
    found = {None if memory is None else memory.value for memory in memories}
    return _membership(found, words(parameters, "memory"), str(parameters["operand"]))


def _membership(found: set[str | None], wanted: tuple[str, ...], operand: str) -> Answer:
    fitting = sorted(name for name in found if name in wanted and name is not None)
    if fitting:
        return Answer(True, f"{operand} is {' and '.join(fitting)}")
    if None in found:
        return Answer(None, f"what {operand} is, is not known")
    return Answer(False, f"no {operand} is {' or '.join(wanted)}")


def _operands(flow: Flow, parameters: Parameters) -> Iterator[View | None]:
    """What instructions of a name are given as one of their arguments; None where unknown."""
    name, operand = str(parameters["call"]), str(parameters["operand"])
    for operation in flow.operations:
        if operation.name == name:
            yield operation.operands.get(operand)


def _flow(subject: Subject) -> Flow:
    return nki_flow(subject.module, subject.kernel)
