"""What addresses and the host code's allocations say of each other: strides, extents, ends."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.analysis.detectors.correctness.index_steps import KernelSizes, Step, kernel_sizes
from tilewright.analysis.host_sizes import HostSizes, HostTensor, is_called_once, quotients
from tilewright.analysis.tiles import ONE, Polynomial
from tilewright.analysis.values import Access, Flow, Value
from tilewright.source.model import Kernel, Launch, Module


@dataclass(frozen=True)
class Walked:
    """An access to a tensor whose shape the host code states, with all its steps."""

    access: Access
    launch: Launch
    sizes: KernelSizes
    tensor: HostTensor
    shape: tuple[Polynomial, ...]
    strides: tuple[Polynomial, ...]
    steps: list[Step]
    offset: Polynomial

    @property
    def is_stated(self) -> bool:
        """Whether the tensor is an allocation that states its shape itself."""
        node = self.tensor.node
        return isinstance(node, ast.Call) and "_like" not in ast.unparse(node.func)

    @property
    def allocated(self) -> str:
        """The allocation, as it is written."""
        return "" if self.tensor.node is None else ast.unparse(self.tensor.node)


def walked(
    module: Module, kernel: Kernel, flow: Flow, *, asks_callers: bool = False
) -> Iterator[Walked]:
    """The accesses to tensors of stated shapes at each launch of the file."""
    is_known = len(module.lookup.named[kernel.name]) == 1 and flow.writes
    for launch in module.launches_of(kernel.name) if is_known else ():
        if not launch.is_certain or launch.host_function is None:
            continue
        if asks_callers and not is_called_once(module, launch):
            continue
        sizes: KernelSizes | None = None
        tensors: dict[str, HostTensor | None] = {}
        for access in flow.accesses:
            given = launch.arguments.get(access.base or "")
            if given is None or access.base is None:
                continue
            sizes = sizes or kernel_sizes(module, kernel, launch, asks_callers=asks_callers)
            if access.base not in tensors:
                tensors[access.base] = sizes.host.tensor(given)
            tensor = tensors[access.base]
            if tensor is None or not tensor.shape or not tensor.strides:
                continue
            found = sizes.steps(access)
            if found is not None:
                yield Walked(access, launch, sizes, tensor, tensor.shape, tensor.strides, *found)


def axis_of(walk: Walked, step: Step) -> int | None:
    """The one axis of the tensor that an index moves along, by its stride."""
    axes = [
        axis
        for axis, stride in enumerate(walk.strides)
        if stride == step.stride and walk.shape[axis] != ONE
    ]
    return axes[0] if len(axes) == 1 else None


def is_beyond(sizes: HostSizes, reached: Polynomial, extent: Polynomial) -> bool:
    """Whether an index surely takes, or may take, values past the end of an axis.

    Numbers are compared; so are one size rounded up and the same rounded down, and sums.
    """
    difference = (reached - extent).number
    if difference is not None:
        return difference > 0
    for name, one, two in quotients(sizes, reached):
        for other, below, divisor in quotients(sizes, extent):
            if (name, other) == ("cdiv", "floordiv") and (one, two) == (below, divisor):
                return True
    return False


def spelled(sizes: HostSizes, size: Polynomial) -> str:
    """A size as one would write it on the host."""
    terms = []
    for factors, coefficient in sorted(size, key=lambda term: -len(term[0])):
        names = [_name(sizes, value) for value in factors]
        if coefficient != 1 or not names:
            names.insert(0, str(coefficient))
        terms.append(" * ".join(names))
    return " + ".join(terms) or "0"


def _name(sizes: HostSizes, value: Value) -> str:
    if value in sizes.rounding:
        name, one, two = sizes.rounding[value]
        if name in ("floordiv", "mod"):
            sign = "//" if name == "floordiv" else "%"
            return f"({spelled(sizes, one)} {sign} {spelled(sizes, two)})"
        inner = spelled(sizes, one) + (
            "" if name == "next_power_of_2" else f", {spelled(sizes, two)}"
        )
        return f"{name}({inner})"
    text = str(value.detail)
    tensor, sign, axis = text.rpartition(" ")
    tensor = tensor.partition("@")[0] + tensor[tensor.rfind(".") :] if "@" in tensor else tensor
    if not sign:
        return text.partition("@")[0]
    if tensor.endswith(".stride"):
        return f"{tensor}({axis})"
    return f"{tensor}.numel()" if axis == "#" else f"{tensor}[{axis}]"
