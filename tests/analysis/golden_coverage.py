"""How many golden kernels show each issue firing, and how many look alike and stay silent."""

import ast
from dataclasses import dataclass

from snippets import Snippet, analyzed, snippets


@dataclass(frozen=True)
class Shown:
    """Golden kernels (or host functions, where the issue is theirs) of one issue."""

    firing: int
    silent: int


def shown(issue: str) -> Shown:
    """What the golden file of an issue shows; none if there is no file."""
    found = [snippet for snippet in snippets() if snippet.issue == issue]
    return Shown(
        sum(_firing(s) for s in found if s.fires), sum(_silent(s) for s in found if not s.fires)
    )


def _firing(snippet: Snippet) -> int:
    """Distinct kernels, or host functions of them, in which the issue is found."""
    module, found = analyzed(snippet)
    issues = [i for i in found if i.id == snippet.issue]
    return len({(i.kernel, _function(module.tree, i.range.line)) for i in issues})


def _function(tree: ast.Module, line: int) -> int:
    """The first line of the innermost function around a line; the line itself if there is none."""
    starts = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(starts, default=line)


def _silent(snippet: Snippet) -> int:
    module, _ = analyzed(snippet)
    return max(len(module.kernels), len(module.host_functions))
