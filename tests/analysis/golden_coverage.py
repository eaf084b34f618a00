"""How many golden kernels show each issue firing, and how many look alike and stay silent."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from snippets import KERNELS, Snippet, read

from tilewright.analysis import analyze
from tilewright.source import parse_module


@dataclass(frozen=True)
class Shown:
    """Golden kernels (or host functions, where the issue is theirs) of one issue."""

    firing: int
    silent: int


def shown(issue: str) -> Shown:
    """What the golden file of an issue shows; none if there is no file."""
    path = KERNELS / f"{issue}.md"
    found = read(path) if path.exists() else []
    return Shown(
        sum(_firing(s) for s in found if s.fires), sum(_silent(s) for s in found if not s.fires)
    )


def _firing(snippet: Snippet) -> int:
    """Distinct kernels or functions in which the issue is found."""
    module = parse_module(snippet.text)
    issues = [i for i in analyze(module, snippet.context) if i.id == snippet.issue]
    return len({i.kernel or _around(module.tree.body, i.range.line) for i in issues})


def _around(body: Iterable[ast.stmt], line: int) -> int:
    return next((s.lineno for s in body if s.lineno <= line <= (s.end_lineno or 0)), line)


def _silent(snippet: Snippet) -> int:
    module = parse_module(snippet.text)
    return max(len(module.kernels), len(module.host_functions))
