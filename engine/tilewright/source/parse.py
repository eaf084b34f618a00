"""Text to ``Module``: the one entry of this package. Never fails, whatever the text."""

import ast
from functools import lru_cache

from tilewright.source.autotuning import AutotuneReader
from tilewright.source.collect import digest, find, make_kernel, make_launches
from tilewright.source.model import Module
from tilewright.source.origins import names_of
from tilewright.source.text import LineIndex
from tilewright.source.tree import parse_tree

_CACHED_MODULES = 64


@lru_cache(maxsize=_CACHED_MODULES)
def parse_module(text: str, path: str = "<text>") -> Module:
    """What is known of a file from its text. Parsed once for each (text, path)."""
    index = LineIndex(text)
    tree, problems = parse_tree(text)
    names = names_of(tree)
    found = find(tree, names)
    reader = AutotuneReader(index, names, module_constants(tree), _functions(tree))
    kernels = tuple(make_kernel(lang, node, index, names, reader) for lang, node in found.kernels)
    return Module(
        path=path,
        text=text,
        content_hash=digest(text),
        tree=tree,
        index=index,
        names=names,
        kernels=kernels,
        launches=make_launches(found, kernels, tree, index),
        host_functions=found.host_functions,
        problems=problems,
    )


@lru_cache(maxsize=_CACHED_MODULES)
def module_constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Module-level names that are assigned exactly once, with what they are assigned."""
    values: dict[str, ast.expr] = {}
    again: set[str] = set()
    for statement in tree.body:
        for target, value in _assigned(statement):
            if target in values:
                again.add(target)
            values[target] = value
    return {name: value for name, value in values.items() if name not in again}


def _assigned(statement: ast.stmt) -> list[tuple[str, ast.expr]]:
    if isinstance(statement, ast.Assign):
        value = statement.value
        return [(t.id, value) for t in statement.targets if isinstance(t, ast.Name)]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [] if statement.value is None else [(statement.target.id, statement.value)]
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        # Changed after it was set: listed twice, so that it counts as no constant.
        return [(statement.target.id, statement.value)] * 2
    return []


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
