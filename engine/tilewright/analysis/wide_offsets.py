"""How a file says that offsets are 64 bits wide; what one kernel says matters to the others."""

from tilewright.analysis.per_kernel import per_module
from tilewright.source.model import Module

WIDENED_IDS = tuple(
    f"program_id({axis}).to(tl.int64)" for axis in (0, 1, 2, "axis=0", "axis=1", "axis=2")
)
"""How files widen program ids."""
WIDE_ANNOTATION = ": tl.int64"
"""How files declare wide strides."""
WIDE_TYPES = ("int64", "i64", "uint64")


@per_module
def widening_kernels(module: Module) -> tuple[frozenset[str], ...]:
    """The parameters of each kernel that widens its program id in so many words."""
    if not any(map(module.lookup.says, WIDENED_IDS)):
        return ()
    return tuple(
        frozenset(parameter.name for parameter in kernel.parameters)
        for kernel in module.kernels
        if _widens(kernel.text)
    )


def _widens(text: str) -> bool:
    """Whether code says it: files keep the wide form in comments where a chip lacks 64 bits."""
    if not any(words in text for words in WIDENED_IDS):
        return False
    code = [line.partition("#")[0] for line in text.splitlines()]
    return any(words in line for line in code for words in WIDENED_IDS)
