"""What a candidate brings in: encodings, modules, code in kernels that is no Triton, loggers."""

import ast
import re
from collections.abc import Iterator

from tilewright.evaluation.rules.allowlists import LOGGING, MODULES, is_beyond
from tilewright.evaluation.rules.model import Finding
from tilewright.evaluation.rules.view import View, line_of
from tilewright.problems.permissions import ASSEMBLY

# As PEP 263 and ``tokenize`` have it, which splits lines at line feeds alone.
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_PLAIN = ("utf-8", "utf8", "utf_8", "ascii", "us-ascii")
_ASSEMBLY = ("triton.language.inline_asm_elementwise",)
_LANGUAGES = ("triton.", "nki.", "math.", "neuronxcc.")
_MAKES = "logging.getLogger"


def imports(view: View) -> Iterator[Finding]:
    """Modules that launching does not need, and imports that hide which names they bring."""
    for node in (*view.host, *view.kernels):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module(view, alias.name, node)
        elif isinstance(node, ast.ImportFrom):
            if any(alias.name == "*" for alias in node.names):
                name = "." * node.level + (node.module or "")
                yield Finding(f"from {name} import *", line_of(node), "import names one by one")
            if node.level:
                yield Finding(f"module {'.' * node.level}{node.module or ''}", line_of(node))
            else:
                yield from _module(view, node.module or "", node)


def _module(view: View, name: str, node: ast.AST) -> Iterator[Finding]:
    root = name.partition(".")[0]
    if root not in MODULES and not (view.is_nki and name == "numpy"):
        yield Finding(f"module {root}", line_of(node))


def encoding(view: View) -> Iterator[Finding]:
    """A declared encoding under which Python would import other code than the visible text."""
    for number, line in enumerate(view.module.text.split("\n", 2)[:2], 1):
        declared = _COOKIE.match(line.removeprefix("\ufeff"))
        if declared is not None and declared[1].lower() not in _PLAIN:
            yield Finding(f"the encoding {declared[1]}", number, "write plain UTF-8")


def kernels(view: View) -> Iterator[Finding]:
    """Assembly, code of other libraries, and decorators that are not the language's."""
    for kernel in view.module.kernels:
        for decorator in kernel.other_decorators:
            yield Finding(
                f"the decorator {decorator} on a kernel", kernel.range.line,
                "decorate kernels with triton.jit, autotune and heuristics alone",
            )  # fmt: skip
    for node in view.kernels:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield from _name(view, node)
        elif isinstance(node, ast.Try | ast.With | ast.ClassDef | ast.AsyncFunctionDef):
            yield Finding(f"{type(node).__name__.lower()} in a kernel", line_of(node))
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield Finding(f"a store to {ast.unparse(node)} in a kernel", line_of(node))


def _name(view: View, node: ast.Name | ast.Attribute) -> Iterator[Finding]:
    if isinstance(view.parent(node), ast.Attribute):
        return
    dotted = view.dotted(node)
    if dotted is None or view.is_annotation(node):
        return
    if is_beyond(dotted):
        allowed_by = (ASSEMBLY,) if dotted in _ASSEMBLY else ()
        way_out = "write it in the language of the kernel"
        yield Finding(dotted, line_of(node), way_out, allowed_by=allowed_by)
    elif "." in dotted and not dotted.startswith(_LANGUAGES):
        root = dotted.partition(".")[0]
        if root in view.modules or root in ("torch", "numpy"):
            yield Finding(f"{dotted} in a kernel", line_of(node), "use triton.language alone")


def loggers(view: View) -> Iterator[Finding]:
    """Anything that is done with a logger but to log."""
    names = {
        name
        for name, values in view.globals.items()
        if any(_is_made(view, value) for value in values)
    }
    for node in view.host:
        is_one = _is_made(view, node) or (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Load)
            and node.id in names
            and not view.is_local(node)
        )
        if is_one and not _only_logs(view, node):
            what = "a logger used for more than to log"
            yield Finding(what, line_of(node), "call its methods alone, as LOG.debug(...)")


def _is_made(view: View, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and view.dotted(node.func) == _MAKES


def _only_logs(view: View, node: ast.AST) -> bool:
    above = view.parent(node)
    if isinstance(above, ast.Attribute) and above.attr in LOGGING:
        called = view.parent(above)
        return isinstance(called, ast.Call) and called.func is above
    is_module_level = view.function_of(node) is None and view.class_of(node) is None
    return isinstance(node, ast.Call) and isinstance(above, ast.Assign) and is_module_level
