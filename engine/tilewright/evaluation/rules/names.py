"""Names of torch, Triton and other libraries that host code uses: only what launching needs."""

import ast
from collections.abc import Iterator

from tilewright.evaluation.rules.allowlists import (
    ASKING,
    BEHIND,
    KEEPING,
    MODULES,
    OFFERED,
    PRECISION,
    PROPERTIES,
    TORCH,
    TRITON,
    TRITON_SPACES,
    is_beyond,
)
from tilewright.evaluation.rules.model import NOT_NEEDED, Finding, Grade
from tilewright.evaluation.rules.view import View, line_of, root_of

_IN_TRITON = "the work must stay in Triton"
_AS_SET = "results are verified as it is set where that is done; elsewhere they may be others"
_TENSOR = "torch.Tensor"
_FIRST_VALUES = ("torch.rand", "torch.randn", "torch.randint")
_ASKS_FOR_TYPES = ("isinstance", "issubclass")


def names(view: View) -> Iterator[Finding]:
    """Each name that stands for something of torch or Triton beyond memory, shapes and launches."""
    for node in view.host:
        if isinstance(node, ast.Name | ast.Attribute) and _is_whole(view, node):
            dotted = view.dotted(node)
            if dotted in PRECISION:
                yield Finding(dotted, line_of(node), _AS_SET, Grade.EVIDENCE)
            elif dotted is not None and not _is_allowed(view, node, dotted):
                yield Finding(dotted, line_of(node), _way_out(dotted))
            elif dotted == _TENSOR and not _is_type(view, node):
                yield Finding(f"{_TENSOR} as a value", line_of(node), "allocate by torch.empty")
        elif isinstance(node, ast.Call):
            yield from _named_by_string(view, node)


def _is_whole(view: View, node: ast.Name | ast.Attribute) -> bool:
    above = view.parent(node)
    if isinstance(above, ast.Attribute) and _known_longer(view, above):
        return False
    return isinstance(node.ctx, ast.Load)


def _is_type(view: View, node: ast.AST) -> bool:
    """Whether a type is only named: its constructor allocates where nobody looks."""
    if view.is_annotation(node):
        return True
    child = node
    for above in view.around(node):
        if isinstance(above, ast.Call):
            asks = isinstance(above.func, ast.Name) and above.func.id in _ASKS_FOR_TYPES
            return asks and child in above.args[1:]
        if isinstance(above, ast.Subscript) and child is above.slice:
            return True
        if not isinstance(above, ast.Tuple | ast.BinOp):
            return isinstance(above, ast.MatchClass | ast.Attribute)
        child = above
    return False


def _known_longer(view: View, node: ast.Attribute) -> bool:
    """Whether the chain goes on with a name of a library, not of what the library gave."""
    dotted = view.dotted(node)
    return dotted is not None and dotted.rpartition(".")[0] not in TORCH | TRITON


def _is_allowed(view: View, node: ast.AST, dotted: str) -> bool:
    root = root_of(node)
    if root is None or root.id not in view.module.names.origins:
        return True  # the file's own
    if view.is_nki and dotted.partition(".")[0] == "numpy":
        return True  # ``nki`` judges it
    return is_needed(dotted) or _initializes(view, node, dotted)


def _initializes(view: View, node: ast.AST, dotted: str) -> bool:
    """Whether a name gives a parameter its first values, which are replaced before any call."""
    if dotted.startswith("torch.nn.init."):
        return view.is_constructing(node)
    return dotted in _FIRST_VALUES and view.is_first_value(node)


def is_needed(dotted: str) -> bool:
    """Whether host code around launches needs an imported name."""
    if dotted.startswith("torch."):
        owner, _, attribute = dotted.rpartition(".")
        return dotted in TORCH or (owner in TORCH and attribute in PROPERTIES | ASKING)
    if dotted.startswith("triton."):
        return dotted in TRITON or (
            dotted.startswith(TRITON_SPACES)
            and not BEHIND & set(dotted.split(".")[2:])
            and not is_beyond(dotted)
        )
    root, _, name = dotted.partition(".")
    return root in MODULES and dotted not in KEEPING and _is_offered(root, name)


def _is_offered(module: str, name: str) -> bool:
    """Whether a module of the standard library means a name for others: ``typing.sys`` it does
    not."""
    offered = OFFERED.get(module)
    return not name or offered is None or name.partition(".")[0] in offered


def _way_out(dotted: str) -> str:
    if is_beyond(dotted):
        return "write it in the language of the kernel"
    if dotted.startswith(("torch.cuda.", "torch.xpu.")):
        return NOT_NEEDED
    if dotted.startswith("triton."):
        return "launch by kernel[grid](...)"
    return _IN_TRITON if dotted.startswith(("torch.", "numpy.")) else NOT_NEEDED


def _named_by_string(view: View, node: ast.Call) -> Iterator[Finding]:
    """``getattr(torch, "sum")`` is ``torch.sum``."""
    match node:
        case ast.Call(func=ast.Name("getattr"), args=[owner, ast.Constant(str(name)), *_]):
            base = view.dotted(owner)
            if base is not None and not _is_allowed(view, owner, f"{base}.{name}"):
                yield Finding(f"{base}.{name}", line_of(node), _way_out(f"{base}.{name}"))
