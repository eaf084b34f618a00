"""Rules on files with NKI kernels: what of NKI and of numpy they may use.

An NKI kernel is Python that runs, so the rules on host code hold for its body too (``view_of``).
Here is what they leave open: names that NKI does not document, by which a stand-in for the package
or a module behind it could be reached, and numpy, which kernels need for types, constants and the
names of operators.
"""

import ast
from collections.abc import Iterator
from functools import cache

from tilewright.evaluation.rules.allowlists import (
    NUMPY_CONSTANTS,
    NUMPY_OF_CONSTANTS,
    NUMPY_OPERATORS,
    NUMPY_TYPES,
    OF_CONTAINERS,
    OF_TILES,
)
from tilewright.evaluation.rules.model import Finding
from tilewright.evaluation.rules.view import View, line_of, root_of
from tilewright.knowledge.nki import nki_interface
from tilewright.source.model import Language

_DOCUMENTED = "use what NKI documents"
_COMPUTES = "the work must stay in NKI instructions; numpy is for types and constants"
_RUNNERS = frozenset(
    ("nki.baremetal", "nki.benchmark", "nki.profile", "nki.simulate", "nki.simulate_kernel")
)
_RUN = "the harness decides how a kernel is run; launch it by kernel[grid](...)"


def nki(view: View) -> Iterator[Finding]:
    """Names of NKI beyond its documentation, and numpy beyond types and constants."""
    if not view.is_nki:
        return
    yield from _entries(view)
    own = _own_attributes(view)
    for node in view.host:
        if isinstance(node, ast.Attribute):
            yield from _attribute(view, node, own)
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        if isinstance(view.parent(node), ast.Attribute):
            continue
        dotted = view.dotted(node)
        if dotted is None or view.is_annotation(node):
            continue
        if dotted.startswith("nki.") and not _is_documented(dotted):
            yield Finding(dotted, line_of(node), _DOCUMENTED)
        elif dotted in _RUNNERS and not _decorates(view, node):
            yield Finding(dotted, line_of(node), _RUN)
        elif dotted.startswith("numpy.") and not is_permitted_numpy(view, node, dotted):
            yield Finding(dotted, line_of(node), _COMPUTES)


def _attribute(view: View, node: ast.Attribute, own: frozenset[str]) -> Iterator[Finding]:
    """An attribute of a value that neither NKI's tiles have nor the file's own classes: behind it
    may lie what a simulator keeps of a tile."""
    if view.function_of(node) is None or _is_of_library(view, node):
        return
    if node.attr not in OF_TILES | OF_CONTAINERS | own:
        yield Finding(f"attribute .{node.attr} of a value", line_of(node), _DOCUMENTED)


def _is_of_library(view: View, node: ast.Attribute) -> bool:
    root = root_of(node)
    if root is None or view.is_local(root):
        return False
    return root.id in view.module.names.origins or root.id in view.modules


def _own_attributes(view: View) -> frozenset[str]:
    """Names that the file's own classes give to their attributes and methods."""
    found: set[str] = set()
    for node in view.host:
        if isinstance(node, ast.ClassDef):
            for one in node.body:
                found |= set(_bound(one))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found |= {node.attr} if ast.unparse(node.value) == "self" else set()
    return frozenset(found)


def _bound(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef):
        yield statement.name
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id
    elif isinstance(statement, ast.Assign):
        yield from (one.id for one in statement.targets if isinstance(one, ast.Name))


def is_permitted_numpy(view: View, node: ast.AST, dotted: str) -> bool:
    """Whether a name of numpy computes nothing from a kernel's data: a type, an operator that is
    handed on and not called, a constant that is made of literals and numbers."""
    _, _, name = dotted.partition(".")
    above = view.parent(node)
    if not name or name in NUMPY_TYPES:
        return True
    if not isinstance(above, ast.Call) or above.func is not node:
        return name in NUMPY_OPERATORS
    if name in NUMPY_OF_CONSTANTS:
        return all(_is_constant(view, one) for one in above.args)
    return name in NUMPY_CONSTANTS


def _is_constant(view: View, node: ast.expr) -> bool:
    """Whether an array is written out, or made by a permitted function."""
    if isinstance(node, ast.Call):
        dotted = view.dotted(node.func) or ""
        return dotted.startswith("numpy.") and is_permitted_numpy(view, node.func, dotted)
    return not any(isinstance(one, ast.Name) for one in ast.walk(node))


def _entries(view: View) -> Iterator[Finding]:
    """Kernels of both languages in one file: a simulated kernel next to one that is not."""
    others = [one for one in view.module.kernels if one.language is not Language.NKI]
    for kernel in others:
        yield Finding(
            f"the Triton kernel {kernel.name} among NKI kernels", kernel.range.line,
            "keep kernels of one language in a file",
        )  # fmt: skip


def _decorates(view: View, node: ast.AST) -> bool:
    above = view.parent(node)
    target = above if isinstance(above, ast.Call) and above.func is node else node
    owner = view.parent(target)
    return isinstance(owner, ast.FunctionDef) and target in owner.decorator_list


@cache
def _documented() -> frozenset[str]:
    """Every dotted name of both packages, and of the modules and classes that hold them."""
    names = nki_interface("neuronxcc").names | nki_interface("nki").names
    return names | {owner for name in names for owner in _owners(name)}


def _owners(dotted: str) -> Iterator[str]:
    while dotted := dotted.rpartition(".")[0]:
        yield dotted


def _is_documented(dotted: str) -> bool:
    """Whether NKI documents a name, or what it is an attribute of as a value (``nl.float32.name``
    is not looked into: a value's private attributes are refused by another rule)."""
    known = _documented()
    if dotted in known:
        return True
    owner, _, attribute = dotted.rpartition(".")
    return owner in known and owner not in _modules() and not attribute.startswith("_")


@cache
def _modules() -> frozenset[str]:
    """Dotted names that are modules or packages, whose further names are all documented."""
    return frozenset(
        ("nki", "nki.language", "nki.isa", "nki.compiler", "nki.typing", "nki.nccl", "nki.tensor")
    )
