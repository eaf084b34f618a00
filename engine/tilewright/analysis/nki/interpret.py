"""The interpretation of an NKI kernel, made once; with its arguments, where they are known."""

from collections.abc import Mapping

from tilewright.analysis.nki.affine import Affine, Symbol, SymbolKind
from tilewright.analysis.nki.constants import constants_around
from tilewright.analysis.nki.flavour import flavour_of
from tilewright.analysis.nki.flow import Flow
from tilewright.analysis.nki.helpers import follow, helper_functions
from tilewright.analysis.nki.parameters import Given, bind_parameters
from tilewright.analysis.nki.state import State
from tilewright.analysis.nki.statements import run_block
from tilewright.analysis.per_kernel import per_kernel
from tilewright.source.model import Kernel, Module


@per_kernel
def nki_flow(module: Module, kernel: Kernel) -> Flow:
    """What happens in an NKI kernel; computed once for each parsed kernel."""
    return _interpreted(module, kernel, None, ())


def launched_flow(
    module: Module, kernel: Kernel, given: Mapping[str, Given], grid: tuple[int, ...] = ()
) -> Flow:
    """What happens in one launch, so that sizes and branches that depend on arguments are known.

    Args:
        given: arguments by parameter; one that is missing has its default, or stays unknown.
        grid: of the launch, programs by axis; one program where it is empty.
    """
    return _interpreted(module, kernel, given, grid)


def _interpreted(
    module: Module, kernel: Kernel, given: Mapping[str, Given] | None, grid: tuple[int, ...]
) -> Flow:
    flow = Flow(flavour_of(module))
    for axis, programs in enumerate(grid):
        symbol = Symbol(("num_programs", axis), SymbolKind.OTHER, f"nl.num_programs({axis})")
        flow.known[symbol] = Affine.of(programs)
    state = State(
        module.names,
        flow,
        constants_around(module, kernel),
        helpers=helper_functions(module),
        follow=follow,
    )
    bind_parameters(state, kernel.node, given)
    run_block(state, kernel.node.body)
    return flow
