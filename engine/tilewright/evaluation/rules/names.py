"""Names of torch, Triton and other libraries that host code uses: only what launching needs."""

import ast
import re
from collections.abc import Iterator

from tilewright.evaluation.rules.allowlists import (
    ASKING,
    BEHIND,
    BUILTINS,
    DUNDER_NAMES,
    DUNDERS,
    KEEPING,
    METHODS_OF_CLASSES,
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
_ASKING = re.compile(r"\{\w*(\.\w|\[)[^{}]*\}")
_FAN = "_calculate_fan_in_and_fan_out"
"""Private, and what everybody copies from torch's own layers to give weights first values."""
_BY_NAME = "spell the attribute out"


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
    for above in view.enclosing_nodes(node):
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


def reflection(view: View) -> Iterator[Finding]:
    """Everything of the kind, in host code and in kernels."""
    for node in (*view.host, *view.kernels):
        if isinstance(node, ast.Name):
            yield from _name(view, node)
        elif isinstance(node, ast.Attribute):
            yield from _dunder(node.attr, node)
            yield from _private(view, node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from _call(node, node.func.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _format(node, node.value)
        elif isinstance(node, ast.FunctionDef):
            yield from _method(node)


def _name(view: View, node: ast.Name) -> Iterator[Finding]:
    above = view.parent(node)
    if _is_dunder(node.id) and not _is_usual(view, node):
        yield Finding(f"the name {node.id}", line_of(node))
    if not isinstance(node.ctx, ast.Load) or view.is_local(node):
        return
    is_type = node.id == "object" and view.is_annotation(node)
    if node.id in BUILTINS and not (is_type and not isinstance(above, ast.Call | ast.Attribute)):
        called = isinstance(above, ast.Call) and above.func is node
        yield Finding(f"{'a call of ' if called else ''}{node.id}", line_of(node))
    if node.id in view.modules and not isinstance(above, ast.Attribute):
        yield Finding(f"module {node.id} as a value", line_of(node), "use it as in module.name")


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_usual(view: View, node: ast.Name) -> bool:
    """Whether a name with double underscores does what everybody has it for: where a file lies
    and what it is imported as tells who imports it."""
    if not isinstance(node.ctx, ast.Load):
        return node.id in DUNDER_NAMES
    match view.parent(node):
        case ast.Compare(left=left, comparators=[right]):
            sides = (left, right)
            return node.id == "__name__" and any(
                isinstance(side, ast.Constant) and side.value == "__main__" for side in sides
            )
    calls = (above.func for above in view.enclosing_nodes(node) if isinstance(above, ast.Call))
    return node.id == "__name__" and "logging.getLogger" in map(view.dotted, calls)


def _dunder(name: str, node: ast.AST) -> Iterator[Finding]:
    if _is_dunder(name) and name not in DUNDERS:
        yield Finding(f"attribute {name}", line_of(node))


def _private(view: View, node: ast.Attribute) -> Iterator[Finding]:
    """``x._version``, ``torch._C``: what a library keeps to itself."""
    if node.attr == _FAN and view.dotted(node) == f"torch.nn.init.{_FAN}":
        return
    owner = node.value
    is_own = isinstance(owner, ast.Name) and owner.id in ("self", "cls", "ctx")
    if node.attr.startswith("_") and not node.attr.startswith("__") and not is_own:
        yield Finding(f"private attribute .{node.attr}", line_of(node))


def _format(node: ast.Constant, text: str) -> Iterator[Finding]:
    """``"{0._version}".format(x)`` asks for an attribute."""
    if _ASKING.search(text):
        yield Finding("an attribute or item in a format string", line_of(node), _BY_NAME)


def _method(node: ast.FunctionDef) -> Iterator[Finding]:
    if node.name.startswith("__") and node.name not in METHODS_OF_CLASSES:
        yield Finding(f"method {node.name}", line_of(node), "write a plain class")


def _call(node: ast.Call, name: str) -> Iterator[Finding]:
    if name in ("getattr", "hasattr") and len(node.args) > 1:
        wanted = node.args[1]
        if not isinstance(wanted, ast.Constant):
            yield Finding(f"{name} with a computed name", line_of(node), _BY_NAME)
        else:
            yield from _dunder(str(wanted.value), node)
    if name == "type" and len(node.args) > 1:
        yield Finding("a class made by type()", line_of(node))
