"""The interpretation of an NKI kernel, made once."""

from tilewright.analysis.nki.flavour import flavour_of
from tilewright.analysis.nki.flow import Flow
from tilewright.analysis.nki.parameters import bind_parameters
from tilewright.analysis.nki.state import State
from tilewright.analysis.nki.statements import run_block
from tilewright.analysis.per_kernel import per_kernel
from tilewright.source.model import Kernel, Module
from tilewright.source.parse import module_constants


@per_kernel
def nki_flow(module: Module, kernel: Kernel) -> Flow:
    """What happens in an NKI kernel; computed once for each parsed kernel."""
    flow = Flow(flavour_of(module))
    state = State(module.names, flow, module_constants(module.tree))
    bind_parameters(state, kernel.node)
    run_block(state, kernel.node.body)
    return flow
