"""Whether a jit function is surely launched, so that its parameters are what a launch passes."""

from tilewright.analysis.model import AnalysisContext
from tilewright.source.model import Kernel, Module


def is_launched(module: Module, kernel: Kernel, context: AnalysisContext) -> bool:
    """Whether the file launches or tunes it, or a launch was captured.

    Parameters of other jit functions may be tiles or constexprs, as their callers have it.
    """
    if kernel.autotune is not None or kernel.heuristics:
        return True
    if kernel.name in module.lookup.launches:
        return True
    return any(launch.kernel == kernel.name for launch in context.launches)
