"""What goes wrong in a launch at sizes that were chosen for it, in words."""

import ast
from collections.abc import Callable, Iterable, Iterator

from tilewright.analysis.instances import Faults, faults_of
from tilewright.analysis.instances.model import Storage
from tilewright.analysis.instances.record import Outside, Program
from tilewright.analysis.instances.sizes import is_callers_number
from tilewright.analysis.model import Finding, Related
from tilewright.knowledge.model import ADVICE
from tilewright.source.model import Kernel, Launch, Module

_DOES = {"load": "reads", "store": "writes", "atomic": "updates"}


def outside(module: Module, kernel: Kernel, kinds: Iterable[str]) -> Iterator[Finding]:
    """The first access of these kinds that leaves its tensor at sizes the text allows."""
    for faults in faults_of(module, kernel):
        for fault in () if faults.is_padded else faults.outside:
            if fault.kind in kinds:
                yield Finding(
                    module.index.range_of(fault.node),
                    f"With {_sizes(faults)} program {_program(fault.program)} "
                    f"{_DOES[fault.kind]} element {fault.element} of {_named(fault.storage)}, "
                    f"which has {fault.storage.size}.",
                    kernel.name,
                    related=_launched(faults),
                    severity=ADVICE if _may_be_excluded(faults, fault) else None,
                )
                return


def _may_be_excluded(faults: Faults, fault: Outside) -> bool:
    """Whether callers may exclude it: they pass whole blocks, or as many elements as they say."""
    return (faults.is_ragged and _is_bare(fault.node)) or is_callers_number(fault.storage.size)


def _is_bare(node: ast.Call) -> bool:
    """Whether an access checks nothing: its author may pass whole blocks only."""
    keywords = {keyword.arg for keyword in node.keywords}
    return len(node.args) < 2 + (_name(node) == "store") and not keywords & {
        "mask", "boundary_check", "other"
    }  # fmt: skip


def _name(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def with_other_strides(module: Module, kernel: Kernel) -> Iterator[Finding]:
    """An access that leaves its allocation where the rows of an input are not next to another."""
    for faults in faults_of(module, kernel):
        for fault in faults.outside if faults.is_padded else ():
            if fault.storage.made is not None:
                yield Finding(
                    module.index.range_of(fault.node),
                    f"With {_sizes(faults)}, and rows of what is passed with a gap between them, "
                    f"this {fault.kind} goes to element {fault.element} of "
                    f"{_named(fault.storage)}, which has {fault.storage.size}: it multiplies by a "
                    "stride of another tensor.",
                    kernel.name,
                    related=_launched(faults),
                    severity=ADVICE,
                )
                return


def unwritten(
    module: Module, kernel: Kernel, is_read: Callable[[Launch, ast.expr | None], bool]
) -> Iterator[Finding]:
    """The first buffer that torch.empty makes, something reads and the programs do not fill."""
    for faults in faults_of(module, kernel):
        for fault in () if faults.is_padded else faults.unwritten:
            if not is_read(faults.launch, fault.storage.made):
                continue
            yield Finding(
                module.index.range_of(fault.node),
                f"With {_sizes(faults)} no program writes element {fault.element} of "
                f"{_named(fault.storage)}, which has {fault.storage.size}: {fault.count} of them "
                "stay as they were in memory.",
                kernel.name,
                related=_launched(faults),
            )
            return


def shared(module: Module, kernel: Kernel) -> Iterator[Finding]:
    """The first element that two programs, or two lanes, store different values to."""
    for faults in faults_of(module, kernel):
        # Past the end of a row lanes meet those of the next one.
        is_said = faults.is_padded or bool(faults.outside)
        for fault in () if is_said else faults.shared:
            one, two = fault.programs
            where = f"element {fault.element} of {_named(fault.storage)}"
            if one == two:
                said = f"two lanes of one store write {where}"
            elif fault.is_read:
                said = (
                    f"program {_program(one)} reads {where} and program {_program(two)} writes it "
                    f"on line {fault.other.lineno}, and nothing orders the two"
                )
            else:
                said = f"programs {_program(two)} and {_program(one)} both write {where}"
            yield Finding(
                module.index.range_of(fault.node),
                f"With {_sizes(faults)} {said}: what stays is a matter of chance"
                f"{'' if fault.is_read else ', unless the values are equal'}.",
                kernel.name,
                related=_launched(faults),
                severity=None if fault.is_read else ADVICE,
            )
            return


def _sizes(faults: Faults) -> str:
    known = faults.sizes or "the sizes passed"
    scaled = f" and blocks {faults.scale} times shorter" if faults.scale > 1 else ""
    return f"{known}{scaled}"


def _program(program: Program) -> str:
    axes = list(program)
    while len(axes) > 1 and axes[-1] == 0:
        axes.pop()
    return str(axes[0]) if len(axes) == 1 else f"({', '.join(map(str, axes))})"


def _named(storage: Storage) -> str:
    return "what the host allocates" if storage.made is not None else storage.name


def _launched(faults: Faults) -> tuple[Related, ...]:
    return (Related("launched here", faults.launch.range),)
