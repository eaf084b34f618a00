"""Tile inference on readable kernels: ``tiles/*.md`` say what is known of the marked names.

``# tile: KIND [SHAPE] TYPE`` behind an assignment tells what ``spell`` says of the last name it
assigns; after ``|`` follow ``base``, ``strides``, ``offset``, ``programs`` (``-`` for the same
everywhere, ``?`` for not known) and ``divides``. What a mark does not mention is not compared.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from each import each
from snippets import context_of

from tilewright.analysis import AnalysisContext
from tilewright.analysis.tiles import (
    TileFacts,
    spell,
    spell_affine,
    spell_polynomial,
    tiles_of,
)
from tilewright.source import parse_module
from tilewright.source.model import Module

FILES = Path(__file__).parent / "tiles"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_MARK = re.compile(r"# tile: (.*)$")
_IMPORTS = "import triton\nimport triton.language as tl\n"


@dataclass(frozen=True)
class Kernels:
    """One snippet with its marks by line."""

    name: str
    module: Module
    context: AnalysisContext
    marks: dict[int, str]


def _snippets() -> list[Kernels]:
    found = []
    for path in sorted(FILES.glob("*.md")):
        for number, match in enumerate(_BLOCK.finditer(path.read_text()), 1):
            given = context_of(match.group(1))
            text = _IMPORTS + match.group(1)
            marks = {
                line: mark.group(1)
                for line, content in enumerate(text.splitlines(), 1)
                if (mark := _MARK.search(content))
            }
            name = f"{path.stem}-{number}"
            found.append(Kernels(name, parse_module(text), given, marks))
    return found


def _facts(kernels: Kernels) -> dict[int, TileFacts]:
    """Facts of the last name that each marked line assigns."""
    found = {}
    for kernel in kernels.module.kernels:
        tiles = tiles_of(kernels.module, kernel, kernels.context)
        for statement in ast.walk(kernel.node):
            if not isinstance(statement, ast.Assign | ast.AugAssign):
                continue
            if statement.lineno not in kernels.marks:
                continue
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            name = target.elts[-1] if isinstance(target, ast.Tuple) else target
            assert isinstance(name, ast.Name)
            found[statement.lineno] = tiles.assigned(statement, name.id)
    return found


def _programs(facts: TileFacts) -> str:
    if facts.programs is None:
        return "?"
    return ",".join(map(str, sorted(facts.programs))) or "-"


def _strides(facts: TileFacts) -> str:
    strides = facts.strides
    if strides is None:
        return "?"
    return ", ".join("?" if s is None else spell_polynomial(s) for s in strides)


_ASPECTS: dict[str, Callable[[TileFacts], str]] = {
    "base": lambda facts: facts.base or "?",
    "strides": _strides,
    "offset": lambda facts: "?" if facts.affine is None else spell_affine(facts.affine),
    "programs": _programs,
    "divides": lambda facts: str(facts.divisibility),
}


def _said(facts: TileFacts, mark: str) -> str:
    wanted = [part.partition(" ")[0] for part in mark.split(" | ")[1:]]
    return " | ".join([spell(facts), *(f"{w} {_ASPECTS[w](facts)}" for w in wanted)])


@each(_snippets(), lambda k: k.name)
def test_inference_says_what_the_marks_say(kernels: Kernels) -> None:
    facts = _facts(kernels)
    said = {line: _said(facts[line], mark) for line, mark in kernels.marks.items()}
    lines = kernels.module.text.splitlines()
    assert {lines[n - 1].split("#")[0].strip(): s for n, s in said.items()} == {
        lines[n - 1].split("#")[0].strip(): s for n, s in kernels.marks.items()
    }
