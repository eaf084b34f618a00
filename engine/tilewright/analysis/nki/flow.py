"""The interpretation of an NKI kernel, made once."""

import ast

from tilewright.analysis.nki.catalogue import ISA, KEYWORD_DST, NL
from tilewright.analysis.nki.model import Flow
from tilewright.analysis.nki.parameters import bind_parameters
from tilewright.analysis.nki.state import State
from tilewright.analysis.nki.statements import run_block
from tilewright.analysis.per_kernel import per_kernel
from tilewright.source.model import Kernel, Module, NkiFlavour
from tilewright.source.parse import module_constants

_OLD_ONLY = (NL + "par_dim", NL + "load", NL + "arange")


@per_kernel
def nki_flow(module: Module, kernel: Kernel) -> Flow:
    """What happens in an NKI kernel; computed once for each parsed kernel."""
    node = kernel.node
    flavour = module.nki_flavour or _flavour(module, node)
    state = State(module.names, flavour, module_constants(module.tree))
    bind_parameters(state, node)
    run_block(state, node.body)
    return Flow(
        flavour=flavour,
        operations=tuple(state.operations),
        storages=tuple(state.storages),
        loops=tuple(state.all_loops),
        returned=tuple(state.returned),
        known=dict(state.known),
        program=dict(state.program),
        complete=state.complete,
    )


def _flavour(module: Module, node: ast.FunctionDef) -> NkiFlavour | None:
    """Told from the calls where the file imports neither package, as in a snippet."""
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    names = {module.names.resolve(call.func) or "" for call in calls}
    for call in calls:
        dotted = module.names.resolve(call.func) or ""
        keywords = {keyword.arg for keyword in call.keywords}
        if dotted.startswith(ISA) and dotted not in KEYWORD_DST and "dst" in keywords:
            return NkiFlavour.NKI
    return NkiFlavour.NEURONXCC if names & set(_OLD_ONLY) else None
