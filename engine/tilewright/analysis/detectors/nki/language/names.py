"""Names and arguments that the imported NKI package does not have."""

import ast
import difflib
from collections.abc import Iterator

from tilewright.analysis.detectors.common import finding_at
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nki.flavour import flavour_of
from tilewright.analysis.per_kernel import per_module
from tilewright.knowledge.nki import NkiFile, Signature, nki_interface
from tilewright.source.model import Kernel, Module, NkiFlavour
from tilewright.source.names import public

_MODULES = ("nki.language", "nki.isa")
_LIKE = 0.8
_TARGET = "dst"
"""Where the newer package writes results to; what returns one in the older does not have it."""


def _interfaces(module: Module) -> tuple[NkiFile, NkiFile] | None:
    """What the file's package offers, and what the other does."""
    own = flavour_of(module)
    if own is None:
        return None
    other = NkiFlavour.NKI if own is NkiFlavour.NEURONXCC else NkiFlavour.NEURONXCC
    return nki_interface(own.value), nki_interface(other.value)


def _kernel_at(module: Module, node: ast.expr) -> Kernel | None:
    return module.kernel_at(node.lineno)


def _mentions(module: Module) -> Iterator[tuple[ast.expr, str]]:
    """Where a name of NKI is looked up in its module, or imported from it."""
    for node in _of_interest(module):
        if isinstance(node, ast.Attribute):
            dotted = module.names.resolve(node)
            if dotted is not None and dotted.startswith("nki."):
                yield node, dotted
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            owner = node.module.removeprefix("neuronxcc.")
            for alias in node.names if owner in _MODULES else ():
                name = ast.copy_location(ast.Name(alias.name, ast.Load()), alias)
                yield name, public(f"{owner}.{alias.name}")


@per_module
def _of_interest(module: Module) -> tuple[ast.Attribute | ast.Call | ast.ImportFrom, ...]:
    kinds = ast.Attribute | ast.Call | ast.ImportFrom
    return tuple(n for n in ast.walk(module.tree) if isinstance(n, kinds))


def _missing(dotted: str, own: NkiFile) -> bool:
    """Whether a name is looked up in a module or an enumeration that does not have it."""
    owner, _, name = dotted.rpartition(".")
    if name.startswith("_") or name == "*" or name in own.unsupported_dtypes:
        return False
    return (owner in _MODULES or owner in own.members) and dotted not in own.names


@detector("nki_unknown_name", whole_file=True)
def unknown_name(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    interfaces = _interfaces(module)
    if interfaces is None:
        return
    own, other = interfaces
    for node, dotted in _mentions(module):
        if _missing(dotted, own) and dotted not in other.names:
            text = (
                f"{own.imports}{dotted.removeprefix('nki')} does not exist{_nearest(dotted, own)}."
            )
            yield finding_at(module, _kernel_at(module, node), node, text)


def _came_later(dotted: str, own: NkiFile) -> bool:
    """Whether late releases of neuronxcc.nki may have it too; par_dim has an issue of its own."""
    newer_instruction = own.flavour == "neuronxcc" and dotted.startswith("nki.isa.")
    return newer_instruction or dotted == "nki.language.par_dim"


def _nearest(dotted: str, own: NkiFile) -> str:
    owner, _, name = dotted.rpartition(".")
    siblings = {n.rpartition(".")[2] for n in own.names if n.rpartition(".")[0] == owner}
    close = difflib.get_close_matches(name, siblings, 1, 0.7)
    if close:
        return f"; the nearest name is {close[0]}"
    elsewhere = [m for m in _MODULES if m != owner and f"{m}.{name}" in own.names]
    return f"; {elsewhere[0]} has one" if elsewhere else ""


@detector("nki_other_package", whole_file=True)
def other_package(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    interfaces = _interfaces(module)
    if interfaces is None:
        return
    own, other = interfaces
    for node, dotted in _mentions(module):
        if _missing(dotted, own) and dotted in other.names and not _came_later(dotted, own):
            text = (
                f"{dotted.rpartition('.')[2]} belongs to {other.imports}, and this file is written "
                f"for {own.imports}, which has no such name."
            )
            yield finding_at(module, _kernel_at(module, node), node, text)
    for call, dotted in _calls(module, own):
        if _fault(call, own.functions[dotted].signatures, own.earlier_keywords) is None:
            continue
        theirs = other.functions.get(dotted)
        if theirs is not None and _fault(call, theirs.signatures, strict=True) is None:
            text = (
                f"{dotted.rpartition('.')[2]} is called here as {other.imports} has it; that of "
                f"{own.imports} takes ({own.functions[dotted].takes[0]})."
            )
            yield finding_at(module, _kernel_at(module, call), call, text)


@detector("nki_wrong_arguments", whole_file=True)
def wrong_arguments(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    interfaces = _interfaces(module)
    if interfaces is None:
        return
    own, other = interfaces
    for call, dotted in _calls(module, own):
        fault = _fault(call, own.functions[dotted].signatures, own.earlier_keywords)
        theirs = other.functions.get(dotted)
        if fault is None:
            continue
        if theirs is not None and _fault(call, theirs.signatures, strict=True) is None:
            continue
        name = dotted.rpartition(".")[2]
        text = f"{name} {fault}; it takes ({own.functions[dotted].takes[0]})."
        yield finding_at(module, _kernel_at(module, call), call, text)


def _calls(module: Module, own: NkiFile) -> Iterator[tuple[ast.Call, str]]:
    """Calls of the package's functions, those that make decorators apart."""
    for node in _of_interest(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            dotted = module.names.resolve(node.func)
            function = own.functions.get(dotted or "")
            if dotted is not None and function is not None and dotted.startswith(_MODULES):
                yield node, dotted


def _fault(
    call: ast.Call,
    signatures: tuple[Signature, ...],
    earlier: tuple[str, ...] = (),
    strict: bool = False,
) -> str | None:
    """Why a call fits none of a function's forms, said of the newest; None where it fits one."""
    faults = [_misfit(call, signature, earlier, strict) for signature in signatures]
    return None if None in faults else faults[0]


def _misfit(
    call: ast.Call, signature: Signature, earlier: tuple[str, ...], strict: bool
) -> str | None:
    spread = any(isinstance(a, ast.Starred) for a in call.args)
    open_ended = any(k.arg is None for k in call.keywords)
    if not signature.is_variadic and not spread and len(call.args) > len(signature.positional):
        return f"is given {len(call.args)} positional arguments"
    by_place = set(signature.positional[: len(call.args)])
    for keyword in call.keywords:
        if keyword.arg in earlier:
            continue
        fault = _keyword_fault(keyword.arg, by_place, signature, strict)
        if fault is not None:
            return fault
    named = {k.arg for k in call.keywords}
    missing = [n for n in signature.required if n not in by_place and n not in named]
    if missing and not spread and not open_ended:
        return f"is not given {missing[0]}"
    return None


def _keyword_fault(
    name: str | None, by_place: set[str], signature: Signature, strict: bool
) -> str | None:
    if name is None:
        return None
    if name in by_place:
        return f"is given {name} twice"
    if name in signature.names:
        return None
    if signature.is_open and not strict and name != _TARGET:
        close = difflib.get_close_matches(name, signature.names, 1, _LIKE)
        return f"has no parameter {name}, only {close[0]}" if close else None
    return f"has no parameter {name}"
