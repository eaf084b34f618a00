"""Axes of behaviour, read from texts and compile reports: how a kernel works, not how fast.

The axes of "static" are memory, algorithm and coordination; those of "resources" are shared memory,
programs a compute unit and repeated traffic. Bins are fixed, so that no cell ever moves.
"""

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from tilewright.costs.traffic import memory_bytes, touched_bytes
from tilewright.costs.workload import workload
from tilewright.evaluation.model import Evaluation, StepName
from tilewright.search.node import Idea, Node
from tilewright.serialize import load
from tilewright.source import parse_module
from tilewright.source.called import called_names
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import CompileReport
from tilewright.targets.occupancy import occupancy_of

NAMES = {
    "static": ("memory", "algorithm", "coordination"),
    "resources": ("shared memory", "programs a unit", "repeated traffic"),
}
_DESCRIPTORS = {
    "make_tensor_descriptor", "TensorDescriptor", "make_block_ptr", "load_tensor_descriptor",
    "make_tensor_desc", "experimental_descriptor_load",
}  # fmt: skip
_REDUCTIONS = {
    "sum", "max", "min", "reduce", "argmax", "argmin", "xor_sum", "associative_scan", "cumsum",
    "cumprod", "softmax", "sort", "tensor_reduce", "tensor_partition_reduce",
}  # fmt: skip
_DOTS = {"dot", "dot_scaled", "matmul", "nc_matmul"}
_GROUPED = ("GROUP", "group_size")
_DEEP = 3
"""Stages from which loads run ahead of what uses them."""
_CLEAR = 0.3
"""Of a direction's part along an axis, from where it is worth a sentence."""
_SHARED_BYTES = (1, 48 * 1024, 100 * 1024)
_PROGRAMS = (2, 3, 5)
_TRAFFIC = (1.1, 1.5, 3.0)


class Axes:
    """The behaviour of texts along one set of axes.

    Args:
        strided: whether a text has accesses that are known not to be contiguous.
    """

    def __init__(
        self,
        kind: Literal["static", "resources"],
        path: str,
        strided: Callable[[Module], bool] = lambda module: False,
    ) -> None:
        self._kind = kind
        self._path = path
        self._strided = strided
        self._static: dict[str, tuple[int, ...]] = {}

    def cell(self, text: str, evaluation: Evaluation) -> tuple[int, ...]:
        """The cell of an evaluated text."""
        if self._kind == "static":
            return self._static_cell(text)
        return resources(parse_module(text, self._path), reports_in(evaluation))

    def change(self, node: Node, idea: Idea) -> Sequence[int] | None:
        """How an idea would move a node, where the text that it gives is known."""
        if idea.candidate is None or self._kind != "static":
            return None
        after = self._static_cell(idea.candidate.text)
        return [a - b for a, b in zip(after, node.cell, strict=True)]

    def hints(self, direction: Sequence[float]) -> tuple[str, ...]:
        """The axes along which changes gained in this run."""
        found = []
        for name, value in zip(NAMES[self._kind], direction, strict=True):
            if abs(value) > _CLEAR:
                towards = "more" if value > 0 else "less"
                found.append(f"Changes towards {towards} elaborate {name} gained in this run.")
        return tuple(found)

    def _static_cell(self, text: str) -> tuple[int, ...]:
        if text not in self._static:
            module = parse_module(text, self._path)
            strided = self._strided(module)
            self._static[text] = (_memory(module, strided), _algorithm(module), _order(module))
        return self._static[text]


def reports_in(evaluation: Evaluation) -> tuple[CompileReport, ...]:
    """The compile reports of an evaluation that succeeded."""
    step = evaluation.step(StepName.COMPILE)
    found = step.data.get("reports", ()) if step else ()
    return tuple(one for report in found if (one := load(CompileReport, report)).ok)


def resources(module: Module, reports: Sequence[CompileReport]) -> tuple[int, ...]:
    """By what compilers say: the most of each kernel counts, for programs the least."""
    shared = max((report.shared_bytes or 0 for report in reports), default=0)
    kept = [o.programs for report in reports if (o := occupancy_of(report)) is not None]
    traffic = max((_repeated(module, report) for report in reports), default=1.0)
    return (
        bisect_right(_SHARED_BYTES, shared),
        bisect_right(_PROGRAMS, min(kept, default=1)),
        bisect_right(_TRAFFIC, traffic),
    )


def _repeated(module: Module, report: CompileReport) -> float:
    """Bytes that move, without any cache, over bytes that are touched."""
    kernel = module.kernel(report.kernel)
    if kernel is None or not report.launch.grid:
        return 1.0
    work = workload(module, kernel, report.launch)
    touched = touched_bytes(work, report.launch)
    return memory_bytes(work, report.launch, 1, 0.0) / touched if touched else 1.0


def _memory(module: Module, strided: bool) -> int:
    """0: strided; 1: contiguous; 2: tiles that are used again; 3: loads that run ahead as well."""
    if strided:
        return 0
    kernels = [*module.entry_kernels()]
    reused = any(_is_called(kernel, _DOTS) or _grouped(kernel) for kernel in kernels)
    descriptors = any(name in module.text for name in _DESCRIPTORS)
    if descriptors or (reused and _deepest(module) >= _DEEP):
        return 3
    return 2 if reused else 1


def _algorithm(module: Module) -> int:
    """0: several launches; 1: one; 2: one that walks over its data, or its work, in a loop."""
    launched = {launch.kernel for launch in module.launches if not launch.is_warmup}
    if len(launched) > 1:
        return 0
    kernels = [*module.entry_kernels()]
    if any(_is_persistent(kernel) for kernel in kernels):
        return 3
    looping = any(_is_called(k, _REDUCTIONS | _DOTS) and _loops(k) for k in kernels)
    return 2 if looping else 1


def _order(module: Module) -> int:
    """0: programs on their own; 1: reductions within one; 2: atomics; 3: a queue of work."""
    kernels = [*module.entry_kernels()]
    if any(_is_persistent(kernel) or "warp_specialize" in kernel.text for kernel in kernels):
        return 3
    if any(name.startswith("atomic_") for kernel in kernels for name in called_names(kernel.node)):
        return 2
    return 1 if any(_is_called(kernel, _REDUCTIONS) for kernel in kernels) else 0


def _is_called(kernel: Kernel, names: set[str]) -> bool:
    return bool(called_names(kernel.node) & names)


def _is_persistent(kernel: Kernel) -> bool:
    """Whether a program takes further work after its own, as a loop over programs does."""
    return any("num_programs" in ast.unparse(loop.iter) for loop in _loops(kernel))


def _loops(kernel: Kernel) -> list[ast.For]:
    return [node for node in ast.walk(kernel.node) if isinstance(node, ast.For)]


def _grouped(kernel: Kernel) -> bool:
    return any(name.startswith(_GROUPED) for name in kernel.constexprs)


def _deepest(module: Module) -> int:
    """The most stages that a launch or a configuration asks for."""
    return max(_stages(module), default=0)


def _stages(module: Module) -> Iterator[int]:
    for kernel in module.kernels:
        configs = kernel.autotune.configs if kernel.autotune else None
        for config in configs or ():
            if isinstance(stages := config.options.get("num_stages"), int):
                yield stages
    for launch in module.launches:
        asked = launch.options.get("num_stages")
        if isinstance(asked, ast.Constant) and isinstance(asked.value, int):
            yield asked.value
