"""Names of torch, Triton and other libraries that host code uses: only what launching needs."""

import ast
from collections.abc import Iterator

from tilewright.evaluation.rules.model import Finding
from tilewright.evaluation.rules.view import View, line_of
from tilewright.evaluation.rules.words import ASKING, PROPERTIES, TORCH, TRITON, TRITON_SPACES

_IN_TRITON = "the work must stay in Triton"


def names(view: View) -> Iterator[Finding]:
    """Each name that stands for something of torch or Triton beyond memory, shapes and launches."""
    for node in view.host:
        if isinstance(node, ast.Name | ast.Attribute) and _is_whole(view, node):
            dotted = view.dotted(node)
            if dotted is not None and not _is_allowed(dotted):
                yield Finding(dotted, line_of(node), _way_out(dotted))
        elif isinstance(node, ast.Call):
            yield from _named_by_string(view, node)


def _is_whole(view: View, node: ast.Name | ast.Attribute) -> bool:
    above = view.parent(node)
    if isinstance(above, ast.Attribute) and _known_longer(view, above):
        return False
    return isinstance(node.ctx, ast.Load)


def _known_longer(view: View, node: ast.Attribute) -> bool:
    """Whether the chain goes on with a name of a library, not of what the library gave."""
    dotted = view.dotted(node)
    return dotted is not None and dotted.rpartition(".")[0] not in TORCH | TRITON


def _is_allowed(dotted: str) -> bool:
    if dotted.startswith("torch."):
        owner, _, attribute = dotted.rpartition(".")
        return dotted in TORCH or (owner in TORCH and attribute in PROPERTIES | ASKING)
    if dotted.startswith("triton."):
        return dotted in TRITON or dotted.startswith(TRITON_SPACES)
    return not dotted.startswith(("numpy.", "functools.reduce", "itertools.count"))


def _way_out(dotted: str) -> str:
    if dotted.startswith(("torch.cuda.", "torch.xpu.")):
        return "a kernel edit does not need it"
    return _IN_TRITON if dotted.startswith(("torch.", "numpy.")) else "launch by kernel[grid](...)"


def _named_by_string(view: View, node: ast.Call) -> Iterator[Finding]:
    """``getattr(torch, "sum")`` is ``torch.sum``."""
    match node:
        case ast.Call(func=ast.Name("getattr"), args=[owner, ast.Constant(str(name)), *_]):
            base = view.dotted(owner)
            if base is not None and not _is_allowed(f"{base}.{name}"):
                yield Finding(f"{base}.{name}", line_of(node), _way_out(f"{base}.{name}"))
