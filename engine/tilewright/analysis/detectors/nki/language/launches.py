"""Where kernels are called from: instructions on the host, grids inside kernels."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import finding_at
from tilewright.analysis.detectors.nki.kernels import Reports, flavoured, nki_detector
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nki import Flow
from tilewright.analysis.nki.flavour import flavour_of
from tilewright.knowledge.nki import NkiFile, nki_interface
from tilewright.source.model import Language, Module

_INSTRUCTIONS = frozenset({"tile", "tensor", "nothing", "index", "number"})
_HARMLESS = frozenset({"nki.language.no_reorder", "nki.isa.get_nc_version"})


@nki_detector("nki_nested_launch", flavoured)
def nested_launch(module: Module, flow: Flow) -> Reports:
    kernels = {k.name for k in module.kernels if k.language is Language.NKI}
    for call in flow.calls:
        func = call.node.func
        if not isinstance(func, ast.Subscript) or not isinstance(func.value, ast.Name):
            continue
        if func.value.id in kernels and func.value not in flow.bound:
            text = (
                f"{func.value.id} is called with a grid from inside a kernel: the grid is laid "
                f"over the cores when the outermost kernel starts, and cannot be again."
            )
            yield call.node, text


@detector("nki_call_outside_kernel", whole_file=True)
def call_outside_kernel(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    flavour = flavour_of(module)
    if flavour is None:
        return
    offers = nki_interface(flavour.value)
    called = _called_at_top_level(module)
    for name, function in module.host_functions.items():
        call = called.get(name)
        if call is None or function.decorator_list:
            continue
        node = _instruction(module, function, offers)
        if node is not None:
            text = (
                f"{name} uses {ast.unparse(node.func)} and is called at line {call.lineno} as a "
                f"plain Python function: instructions exist only inside a kernel, decorated with "
                f"nki.jit."
            )
            yield finding_at(module, None, node, text)


def _called_at_top_level(module: Module) -> dict[str, ast.Call]:
    """Functions that the file's own statements call, as a script does."""
    found: dict[str, ast.Call] = {}
    for statement in module.tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                found.setdefault(node.func.id, node)
    return found


def _instruction(module: Module, function: ast.FunctionDef, offers: NkiFile) -> ast.Call | None:
    """The first instruction that a function would run itself."""
    inner = {id(n) for d in ast.walk(function) if _is_definition(d, function) for n in ast.walk(d)}
    kernels = {id(kernel.node) for kernel in module.kernels}
    # What a kernel within takes from around it are indices, which are traced where they are used.
    kinds = _INSTRUCTIONS - {"index"} if inner & kernels else _INSTRUCTIONS
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and id(node) not in inner:
            dotted = module.names.resolve(node.func) or ""
            if dotted not in _HARMLESS and offers.makes(dotted) in kinds:
                return node
    return None


def _is_definition(node: ast.AST, function: ast.FunctionDef) -> bool:
    return isinstance(node, ast.FunctionDef | ast.Lambda) and node is not function
