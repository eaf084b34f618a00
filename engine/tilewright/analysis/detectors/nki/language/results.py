"""What a kernel writes and returns: arguments, outputs, and the memory they live in."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import source_of
from tilewright.analysis.detectors.nki.kernels import (
    DESCRIBING,
    Reports,
    nki_detector,
    older,
)
from tilewright.analysis.detectors.registry import kernel_detector
from tilewright.analysis.nki import Fact, Flow, Kind
from tilewright.analysis.nki.model import HBM, SHARED_HBM, LoopKind
from tilewright.analysis.nodes import nodes_like
from tilewright.source.model import Kernel, Language, Module

_ON_CHIP = {"nki.language.sbuf": "SBUF", "nki.language.psum": "PSUM"}
_OLD_DECORATORS = ("torch_neuronx.nki_jit", "torch_neuronx.xla_impl.ops.nki_jit")


def _is_mutable(module: Module, kernel: Kernel, name: str) -> bool:
    args = kernel.node.args
    for parameter in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        if parameter.arg == name and parameter.annotation is not None:
            return "mutable" in source_of(module, parameter.annotation)
    return False


def _is_plain_jit(module: Module, kernel: Kernel) -> bool:
    """Decorated by nki.jit itself: the older nki_jit and the runners take outputs as arguments."""
    if any(name in module.names.imports for name in _OLD_DECORATORS):
        return False
    for decorator in kernel.node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if module.names.resolve(target) == "nki.jit":
            return not _allows_writing(decorator)
    return False


def _allows_writing(decorator: ast.expr) -> bool:
    """Whether a flag of the compiler lets the kernel write to its arguments."""
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    return any(
        isinstance(k.value, ast.Constant) and "mutable" in str(k.value.value)
        for k in keywords
        if k.arg == "experimental_flags"
    )


def _stores(flow: Flow) -> Iterator[tuple[Fact, ast.expr]]:
    """What in HBM is written to."""
    for call in flow.calls_of("nki.language.store", "nki.isa.dma_copy", "nki.language.atomic_rmw"):
        target = call.argument("dst")
        if target is None and call.node.args:
            target = call.node.args[0]
        if target is not None:
            yield flow.fact(target).storage, target


@kernel_detector("nki_immutable_parameter", older)
def immutable_parameter(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    if _is_called(module, kernel) or not _is_plain_jit(module, kernel) or not flow.returns:
        return
    seen: set[str] = set()
    for fact, node in _stores(flow):
        name = fact.name
        if fact.kind is not Kind.ARGUMENT or name is None or name in seen:
            continue
        if _is_mutable(module, kernel, name):
            continue
        seen.add(name)
        text = (
            f"{name} is an argument, which a kernel may only read: declare it "
            f"nt.mutable_tensor and return it, or write to an output of its own."
        )
        yield node, text


@kernel_detector("nki_mutable_not_returned", older)
def mutable_not_returned(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    returned = _returned_names(flow)
    if returned is None:
        return
    args = kernel.node.args
    for parameter in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        if parameter.annotation is None or parameter.arg in returned:
            continue
        if "mutable_tensor" in source_of(module, parameter.annotation):
            text = (
                f"{parameter.arg} is declared mutable and no return names it: what the kernel "
                f"writes to it is part of its result."
            )
            yield parameter.annotation, text


def _returned_names(flow: Flow) -> set[str] | None:
    """The names that returns give; None where something else is returned too."""
    names: set[str] = set()
    for statement in flow.returns:
        value = statement.value
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
        for part in parts:
            if isinstance(part, ast.Name):
                names.add(part.id)
            elif part is not None and not isinstance(part, ast.Constant):
                return None
    return names


def _returned(flow: Flow) -> Iterator[tuple[ast.Name, Fact]]:
    for statement in flow.returns:
        value = statement.value
        for part in value.elts if isinstance(value, ast.Tuple | ast.List) else [value]:
            if isinstance(part, ast.Name):
                yield part, flow.fact(part)


@kernel_detector("nki_output_not_written", older)
def output_not_written(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    if not _always_fails(kernel.node.body):
        yield from _not_written(flow)


def _always_fails(body: list[ast.stmt]) -> bool:
    """Whether a kernel raises an error whatever it is given, as one still to be written does."""
    return any(
        isinstance(statement, ast.Raise)
        or (isinstance(statement, ast.For | ast.With) and _always_fails(statement.body))
        for statement in body
    )


def _not_written(flow: Flow) -> Iterator[tuple[ast.expr, str]]:
    for name, fact in _returned(flow):
        if fact.kind is not Kind.TENSOR or fact.buffer not in HBM or fact.node is None:
            continue
        if name.id not in flow.hidden and not _is_used(flow, fact):
            text = (
                f"{name.id} is returned and nothing is ever stored to it: its memory is undefined."
            )
            yield fact.node, text


def _is_used(flow: Flow, fact: Fact) -> bool:
    """Whether a tensor is named anywhere but in a return or to ask for its shape."""
    harmless: set[int] = set()
    for statement in flow.returns:
        harmless.update(id(node) for node in ast.walk(statement))
    for node in flow.facts:
        if isinstance(node, ast.Attribute) and node.attr in DESCRIBING:
            harmless.add(id(node.value))
    return any(
        read.binding.fact.storage is fact and id(read.node) not in harmless for read in flow.reads
    )


@nki_detector("nki_shared_hbm_in_loop", older)
def shared_hbm_in_loop(module: Module, flow: Flow) -> Reports:
    for call in flow.calls:
        fact = flow.fact(call.node)
        if fact.kind is not Kind.TENSOR or fact.buffer != SHARED_HBM:
            continue
        region = next((r for r in call.path if r.loop or r.closes), None)
        if region is not None and not (region.loop and region.loop.kind is LoopKind.OTHER):
            block = "loop" if region.loop else "branch"
            text = (
                f"This shared_hbm tensor is made inside the {block} at line "
                f"{region.node.lineno}: outputs are laid out once, at the kernel's top level."
            )
            yield call.node, text


@kernel_detector("nki_returned_buffer", older)
def returned_buffer(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    if _is_called(module, kernel) or not _is_plain_jit(module, kernel):
        return
    if _is_simulated(kernel):
        return
    for name, fact in _returned(flow):
        where = _ON_CHIP.get(fact.buffer or "") if fact.kind is Kind.TENSOR else None
        if fact.kind is Kind.TILE and fact.node is not None:
            where = "SBUF or PSUM"
        if where is not None:
            text = (
                f"{name.id} lives in {where}, whose contents end with the kernel: store it to "
                f"a tensor in nl.shared_hbm and return that."
            )
            yield name, text


def _is_simulated(kernel: Kernel) -> bool:
    """Whether the kernel runs in the simulator, which hands back tiles as well."""
    return any(
        k.arg == "mode" and isinstance(k.value, ast.Constant) and k.value.value == "simulation"
        for decorator in kernel.node.decorator_list
        if isinstance(decorator, ast.Call)
        for k in decorator.keywords
    )


def _is_called(module: Module, kernel: Kernel) -> bool:
    """Whether a kernel of the file names this one: it then runs inside of that."""
    return any(
        node.id == kernel.name
        for other in module.kernels
        if other.language is Language.NKI
        for node in nodes_like(other.node, ast.Name)
    )
