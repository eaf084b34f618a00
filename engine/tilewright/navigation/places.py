"""The name at a place: of a kernel, or of a parameter of one."""

from dataclasses import dataclass

from tilewright.navigation.kernels import kernel_uses, launch_place, word_at
from tilewright.navigation.model import Role, Use, Uses
from tilewright.navigation.parameters import parameter_uses
from tilewright.source.model import Kernel, Module


@dataclass(frozen=True)
class Found:
    """A name at a place: the kernel it is of, and the parameter where it is one."""

    kernel: Kernel
    parameter: str | None
    use: Use
    uses: Uses


def name_at(module: Module, line: int, column: int) -> Found | None:
    """The kernel or the parameter of a kernel that is named at a place."""
    word = word_at(module.index, line, column)
    if word is None:
        return None
    return _kernel_at(module, line, column, word) or _parameter_at(module, line, column, word)


def _kernel_at(module: Module, line: int, column: int, word: str) -> Found | None:
    for kernel in module.kernels:
        if word in (kernel.name, *kernel.aliases):
            uses = kernel_uses(module, kernel)
            use = uses.use_at(line, column)
            if use is not None:
                return Found(kernel, None, use, uses)
    for launch in module.launches:
        place = launch_place(module.index, launch)
        launched = module.kernel(launch.kernel)
        if launched is not None and launch.is_certain and place.contains(line, column):
            return Found(launched, None, Use(place, Role.LAUNCH), kernel_uses(module, launched))
    return None


def _parameter_at(module: Module, line: int, column: int, word: str) -> Found | None:
    for kernel in module.kernels:
        if kernel.parameter(word) is not None:
            uses = parameter_uses(module, kernel, word)
            use = uses.use_at(line, column)
            if use is not None:
                return Found(kernel, word, use, uses)
    return None
