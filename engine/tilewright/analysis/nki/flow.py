"""The interpretation of an NKI kernel, made once."""

from tilewright.analysis.nki.flavour import flavour_of
from tilewright.analysis.nki.model import Flow
from tilewright.analysis.nki.parameters import bind_parameters
from tilewright.analysis.nki.state import State
from tilewright.analysis.nki.statements import run_block
from tilewright.analysis.per_kernel import per_kernel
from tilewright.source.model import Kernel, Module
from tilewright.source.parse import module_constants


@per_kernel
def nki_flow(module: Module, kernel: Kernel) -> Flow:
    """What happens in an NKI kernel; computed once for each parsed kernel."""
    node = kernel.node
    flavour = flavour_of(module)
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
