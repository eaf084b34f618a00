"""Preconditions that the text of kernel and launches answers: calls, loops, tuning, options."""

import ast
import builtins
from collections.abc import Iterator

from tilewright.analysis.detectors.common import decorators_known, nodes_of
from tilewright.analysis.detectors.settings import settings_of
from tilewright.analysis.preconditions.model import Answer, Parameters, Subject, whole, words
from tilewright.source.model import Kernel, Module

_LANGUAGES = ("triton.", "nki.")
_UNROLLED = ("triton.language.static_range", "nki.language.static_range")
_PROGRAM_ID = "triton.language.program_id"


def calls(subject: Subject, parameters: Parameters) -> Answer:
    """The kernel, or a jit function it calls, calls one of the named functions."""
    return _calls(subject, words(parameters, "calls"), in_loop=False)


def calls_in_loop(subject: Subject, parameters: Parameters) -> Answer:
    """The same inside a loop."""
    return _calls(subject, words(parameters, "calls"), in_loop=True)


def calls_none(subject: Subject, parameters: Parameters) -> Answer:
    """The kernel calls none of them, nor do the functions it calls."""
    found = _calls(subject, words(parameters, "calls"), in_loop=False)
    return Answer(None if found.holds is None else not found.holds, found.reason)


def _calls(subject: Subject, wanted: tuple[str, ...], *, in_loop: bool) -> Answer:
    module, kernel = subject.module, subject.kernel
    where = " in a loop" if in_loop else ""
    for each in (kernel, *module.helpers_of(kernel)):
        inside = _in_loops(each) if in_loop and each is kernel else None
        for node in nodes_of(each.node):
            if module.names.is_call(node, *wanted) and (inside is None or node in inside):
                line = getattr(node, "lineno", each.range.line)
                return Answer(True, f"{each.name} calls {_last(module, node)}{where} (line {line})")
    for other in _unknown_calls(subject):
        return Answer(None, f"{other} is defined elsewhere")
    named = ", ".join(name.rpartition(".")[2] for name in wanted)
    return Answer(False, f"{kernel.name} does not call {named}{where}")


def _last(module: Module, node: ast.AST) -> str:
    dotted = module.names.resolve(node.func) if isinstance(node, ast.Call) else None
    return (dotted or "it").rpartition(".")[2]


def _in_loops(kernel: Kernel) -> set[ast.AST]:
    loops = (n for n in nodes_of(kernel.node) if isinstance(n, ast.For | ast.While))
    return {inner for loop in loops for part in loop.body for inner in ast.walk(part)}


def _unknown_calls(subject: Subject) -> Iterator[str]:
    """Functions called by name that are neither the language's nor in this file."""
    module = subject.module
    known = {k.name for k in module.kernels} | {a for k in module.kernels for a in k.aliases}
    for node in nodes_of(subject.kernel.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            dotted = module.names.resolve(node.func) or node.func.id
            is_ours = node.func.id in known or hasattr(builtins, node.func.id)
            if not is_ours and not dotted.startswith(_LANGUAGES):
                yield node.func.id


def has_loop(subject: Subject, parameters: Parameters) -> Answer:
    """The kernel has a loop that runs, as against one that is unrolled."""
    names = subject.module.names
    for node in nodes_of(subject.kernel.node):
        if isinstance(node, ast.While) or (
            isinstance(node, ast.For) and not names.is_call(node.iter, *_UNROLLED)
        ):
            return Answer(True, f"the loop on line {node.lineno}")
    return Answer(False, f"{subject.kernel.name} has no loop that runs")


def program_axes(subject: Subject, parameters: Parameters) -> Answer:
    """How many axes of the grid the kernel asks for."""
    names, axes = subject.module.names, set()
    for node in nodes_of(subject.kernel.node):
        if isinstance(node, ast.Call) and names.is_call(node, _PROGRAM_ID):
            given = [*node.args, *(k.value for k in node.keywords if k.arg == "axis")]
            if len(given) != 1 or not isinstance(given[0], ast.Constant):
                return Answer(None, f"line {node.lineno} asks for an axis that is computed")
            axes.add(given[0].value)
    if not axes and subject.module.helpers_of(subject.kernel):
        return Answer(None, "helpers may ask for program ids")
    wanted = whole(parameters, "axes")
    return Answer(len(axes) == wanted, f"{subject.kernel.name} asks for {len(axes)} axes")


def is_tuned(subject: Subject, parameters: Parameters) -> Answer:
    """The kernel has Triton's own autotuner."""
    kernel = subject.kernel
    if kernel.autotune is not None:
        return Answer(True, f"{kernel.name} is decorated with triton.autotune")
    if not decorators_known(subject.module, kernel):
        return Answer(None, "another decorator may tune it")
    return Answer(False, f"{kernel.name} has no autotune decorator")


def not_tuned(subject: Subject, parameters: Parameters) -> Answer:
    """The kernel has no autotuner."""
    found = is_tuned(subject, parameters)
    return Answer(None if found.holds is None else not found.holds, found.reason)


def launched_here(subject: Subject, parameters: Parameters) -> Answer:
    """The file launches the kernel, and shows all arguments of each launch."""
    launches = subject.module.launches_of(subject.kernel.name)
    if not launches:
        return Answer(None, "this file has no launch of the kernel")
    hidden = next((x for x in launches if not x.is_complete or not x.is_certain), None)
    if hidden is not None:
        return Answer(None, f"the launch on line {hidden.range.line} hides some arguments")
    return Answer(True, f"{len(launches)} launch(es) in this file")


def option_unstated(subject: Subject, parameters: Parameters) -> Answer:
    """Neither launches nor configurations state a compiler option."""
    option = str(parameters["option"])
    kernel = subject.kernel
    if kernel.autotune is not None and kernel.autotune.configs is None:
        return Answer(None, "the list of configurations is computed")
    for config in (kernel.autotune.configs or ()) if kernel.autotune is not None else ():
        if option in config.options or option in config.values:
            return Answer(False, f"the configuration on line {config.range.line} states {option}")
    for launch in subject.module.launches_of(kernel.name):
        if option in launch.options or option in launch.arguments:
            return Answer(False, f"the launch on line {launch.range.line} states {option}")
    if launched_here(subject, parameters).holds is None and kernel.autotune is None:
        return Answer(None, "no complete launch is in this file")
    return Answer(True, f"no launch states {option}")


def state_argument(subject: Subject, parameters: Parameters) -> Answer:
    """A launch passes an attribute of ``self``: what outlives the call."""
    launches = subject.module.launches_of(subject.kernel.name)
    for launch in launches:
        for name, node in launch.arguments.items():
            inner = (n for n in ast.walk(node) if isinstance(n, ast.Attribute))
            if any(isinstance(n.value, ast.Name) and n.value.id == "self" for n in inner):
                return Answer(True, f"{name} is {subject.text(node)} (line {launch.range.line})")
    return Answer(None, "no launch in this file passes an attribute of self directly")


def warps_at_most(subject: Subject, parameters: Parameters) -> Answer:
    """Every launch in every configuration keeps the limit."""
    maximum = whole(parameters, "maximum")
    found = [s.warps for s in settings_of(subject.module, subject.kernel, subject.context)]
    known = [warps for warps in found if warps is not None]
    if any(warps > maximum for warps in known):
        return Answer(False, f"there are {max(known)} warps")
    if not found or len(known) != len(found):
        return Answer(None, "the number of warps is not known everywhere")
    return Answer(True, f"there are at most {max(known)} warps")


def captured(subject: Subject, parameters: Parameters) -> Answer:
    """A launch was captured at the problem's shapes."""
    if any(launch.kernel == subject.kernel.name for launch in subject.context.launches):
        return Answer(True, "a captured launch states shapes and strides")
    return Answer(None, "no launch of it has been captured")


def package(subject: Subject, parameters: Parameters) -> Answer:
    """Which of the two NKI packages the file imports."""
    flavour = subject.module.nki_flavour
    if flavour is None:
        return Answer(None, "the file imports both NKI packages, or none")
    return Answer(flavour.value == str(parameters["package"]), f"the file imports {flavour.value}")
