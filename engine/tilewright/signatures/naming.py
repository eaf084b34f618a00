"""Constants that nothing states, by what the kernel uses them for or by their names."""

from tilewright.signatures.names import AXIS, DEPTH, FACTOR, FLAG, SIZE, STRIDE, TYPE
from tilewright.signatures.roles import Literal, Roles
from tilewright.signatures.styles import Style
from tilewright.source.model import Kernel

SHALLOW = 32
FEW = 4
NO_SOURCE = "nothing in the file states it"
_FLOAT_TYPE = "triton.dtype:fp32"


def by_name(
    name: str, kernel: Kernel, roles: Roles, style: Style, extent: int
) -> tuple[Literal, str]:
    """A constant by what it is used for, else by its name; and why.

    Args:
        extent: of tiles, where nothing states one.
    """
    if name in roles.unrolled:
        return FEW, f"assumed: it counts an unrolled loop; {NO_SOURCE}"
    if name in roles.types:
        return _FLOAT_TYPE, "assumed: an element type"
    if name in roles.sizes:
        return _size(name, style, extent), f"assumed: an extent of tiles; {NO_SOURCE}"
    if name in roles.compared:
        given = roles.compared[name]
        return given[-1 if style.flags else 0], "assumed: the kernel compares it with this"
    if TYPE.search(name):
        return _FLOAT_TYPE, "assumed: an element type"
    if name in roles.tests or FLAG.search(name):
        return style.flags, f"assumed: a condition; {NO_SOURCE}"
    return _by_spelling(name, kernel, style, extent)


def _by_spelling(name: str, kernel: Kernel, style: Style, extent: int) -> tuple[Literal, str]:
    if AXIS.search(name):
        return 0, f"assumed: an axis of a tile; {NO_SOURCE}"
    if STRIDE.search(name):
        value = 1 if _is_last_stride(name, kernel) else extent
        return value, f"assumed: a stride; {NO_SOURCE}"
    if FACTOR.search(name):
        return (1e-6 if "eps" in name.lower() else 1.0), "assumed: a float by its name"
    if SIZE.search(name) or name.isupper():
        return _size(name, style, extent), f"assumed by its name; {NO_SOURCE}"
    return FEW, f"assumed; {NO_SOURCE}"


def _is_last_stride(name: str, kernel: Kernel) -> bool:
    """Whether it is the last of the strides that share its name but for the last letters."""
    prefix = name.rstrip(name.rpartition("_")[2]) if name.count("_") > 1 else name[:-1]
    alike = [p.name for p in kernel.parameters if p.name.startswith(prefix)]
    return alike[-1] == name


def _size(name: str, style: Style, extent: int) -> int:
    if style.size is None and DEPTH.search(name):
        return SHALLOW
    return extent
