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
    flow, unknown = _flow(subject), 0
    for view in _operands(flow, parameters):
        side = _side(flow, view, axis)
        if side is not None and least <= side <= most:
            return Answer(True, f"{operand} has {side} elements along axis {axis}")
        unknown += side is None
    if unknown:
        return Answer(None, f"the extent of {operand} is not known")
    return Answer(False, f"no {operand} has from {least} to {most} elements along axis {axis}")


def _side(flow: Flow, view: View, axis: int) -> int | None:
    sides = flow.numbers(view.shape)
    if sides is None:
        return None
    if axis == 0:
        return sides[0]
    free = [side for side in sides[1:] if side is not None]
    return prod(free) if len(free) == len(sides) - 1 else None


def nki_dtype(subject: Subject, parameters: Parameters) -> Answer:
    """An operand has one of some element types."""
    wanted, operand = words(parameters, "dtypes"), str(parameters["operand"])
    found = {view.dtype for view in _operands(_flow(subject), parameters)}
    fitting = found & set(wanted)
    if fitting:
        return Answer(True, f"{operand} is {', '.join(map(str, fitting))}")
    if None in found:
        return Answer(None, f"the element type of {operand} is not known")
    return Answer(False, f"no {operand} is {' or '.join(wanted)}")


def nki_memory(subject: Subject, parameters: Parameters) -> Answer:
    """An operand lies in HBM, SBUF or PSUM."""
    wanted, operand = str(parameters["memory"]), str(parameters["operand"])
    found = {view.memory for view in _operands(_flow(subject), parameters)}
    if any(memory is not None and memory.value == wanted for memory in found):
        return Answer(True, f"{operand} is in {wanted}")
    if None in found:
        return Answer(None, f"the memory of {operand} is not known")
    return Answer(False, f"no {operand} is in {wanted}")


def _operands(flow: Flow, parameters: Parameters) -> Iterator[View]:
    """The tensors that instructions of a name are given as one of their arguments."""
    name = str(parameters["call"])
    for operation in flow.operations:
        view = operation.operands.get(str(parameters["operand"]))
        if operation.name == name and view is not None:
            yield view


def _flow(subject: Subject) -> Flow:
    return nki_flow(subject.module, subject.kernel)
