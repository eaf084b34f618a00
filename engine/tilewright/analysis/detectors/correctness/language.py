"""Names of ``triton.language`` in a kernel, and whether the file is for upstream Triton at all."""

import ast
import re
from collections.abc import Iterable, Iterator

from tilewright.analysis.detectors.common import TL
from tilewright.analysis.host_code import INTERPRETERS
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.per_kernel import per_kernel, per_module
from tilewright.source.model import Kernel, Module
from tilewright.source.names import Names

_FORKS = (
    *("ascend", "npu", "cann", "cambricon", "camb", "mlu", "enflame", "gcu[0-9]*", "kunlun"),
    *("kunlunxin", "mthreads", "musa", "metax", "iluvatar", "hygon", "sunrise", "spacemit"),
    *("tsingmicro", "thead", "aipu", "arm"),
)
"""Chips whose vendors ship a Triton of their own, with names and rules of its own.

So does Triton-distributed, for CUDA.
"""
_ASKED = re.compile(r"getsource(?:lines)?\(\s*(\w+)")
_REPLACED = re.compile(r"\b(\w+)(?=(?:\.fn)?\.(?:_?src|_unsafe_update_src)\b)")
_SOURCES = ("getsource", ".src", "._src", "._unsafe_update_src")
_WORDS = "|".join(_FORKS)
_IN_PATH = re.compile(rf"(?:^|[/\\_])(?:{_WORDS})(?=[/\\_.]|$)", re.IGNORECASE)
_CALLED = (".insert_slice(", ".extract_slice(")
"""Functions of the language that upstream does not have, and the fork for Ascend does."""
_PLACED = ('device="npu', "device='npu", ".npu()", 'device="mlu', "device='mlu", ".mlu()")
"""How tensors are placed on chips of such vendors."""
_IMPORTED = ("triton_dist", "torch_", "triton.language.extra.")
_IN_IMPORT = re.compile(
    rf"\s*(?:import|from)\s+(?:triton_dist|torch_(?:{_WORDS})|triton\.language\.extra\.(?:{_WORDS}))\b"
)


@per_module
def is_run_in_python(module: Module) -> bool:
    """Whether a file names an interpreter, which takes what the compiler refuses."""
    return any(map(module.lookup.says, INTERPRETERS))


@per_module
def is_for_a_fork(module: Module) -> bool:
    """Whether a file is written for a vendor's own Triton, which upstream's rules do not bind."""
    if _IN_PATH.search(module.path) is not None:
        return True
    if any(map(module.lookup.says, _CALLED)):
        return True
    if any(map(module.lookup.says, _PLACED)) and not module.lookup.says("cuda"):
        return True
    # To look for a word is much quicker than the pattern.
    words = tuple(filter(module.lookup.says, _IMPORTED))
    return bool(words) and any(map(_IN_IMPORT.match, _lines_with(words, module.text)))


def _lines_with(words: Iterable[str], text: str) -> Iterator[str]:
    """The lines of a text that hold any of some words."""
    for word in words:
        place = text.find(word)
        while place >= 0:
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
            yield text[text.rfind("\n", 0, place) + 1 : end]
            place = text.find(word, end)


@per_module
def names_with_source(module: Module) -> frozenset[str]:
    """Names whose source the text asks for, or replaces."""
    # To look for a word is much quicker than the patterns.
    if not any(map(module.lookup.says, _SOURCES)):
        return frozenset()
    asked = _ASKED.findall(module.text) if module.lookup.says("getsource") else ()
    lines = (line for line in module.index.lines if "src" in line)
    return frozenset((*asked, *(name for line in lines for name in _REPLACED.findall(line))))


def language_name(node: ast.expr, names: Names) -> str | None:
    """``dot`` for ``tl.dot``, ``math.exp`` for ``tl.math.exp``: the name below the language."""
    root, depth = node, 0
    while isinstance(root, ast.Attribute):
        root, depth = root.value, depth + 1
    if not isinstance(root, ast.Name) or depth > 2 or root.id not in names.origins:
        return None
    dotted = names.resolve(node)
    if dotted is None or not dotted.startswith(TL):
        return None
    name = dotted.removeprefix(TL)
    # Below other names than a module there are methods: ``tl.float32.to_ir``.
    head, _, rest = name.partition(".")
    if head == "libdevice":
        return head
    return name if not rest or head == "math" else None


@per_kernel
def language_names(
    module: Module, kernel: Kernel
) -> tuple[tuple[ast.Attribute | ast.Name, str], ...]:
    """The names of the language that a kernel uses, with where; parts of longer ones left out."""
    attributes = nodes_like(kernel.node, ast.Attribute)
    inner = {id(node.value) for node in attributes}
    nodes: tuple[ast.Attribute | ast.Name, ...] = (
        *attributes,
        *nodes_like(kernel.node, ast.Name),
    )
    found = []
    for node in nodes:
        if id(node) not in inner:
            name = language_name(node, module.names)
            if name is not None:
                found.append((node, name))
    return tuple(found)
