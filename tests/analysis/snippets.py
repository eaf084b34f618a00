"""Reading the golden files in ``kernels/``: what fires, what stays silent, and what is given.

One Markdown file an issue. Under "Fires" each snippet marks the lines where the issue starts
with ``# expect: <id>``; under "Silent" none does. A first line ``# given:`` states the
context: ``target=xpu:pvc``, ``triton=3.8``, ``launch=kernel grid=8,1 x_ptr=*fp16[64,64]
n=i32:64 BLOCK:=128`` (a tensor is contiguous; ``:=`` marks a constexpr).
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilewright.analysis import AnalysisContext, Issue, analyze
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.targets.model import ArgumentFacts, LaunchFacts, Target

KERNELS = Path(__file__).parent / "kernels"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_EXPECT = re.compile(r"# expect: (\w+)")


@dataclass(frozen=True, eq=False)
class Snippet:
    """One module of a golden file, with the lines on which its issue is expected."""

    issue: str
    name: str
    text: str
    fires: bool
    expected: frozenset[int]
    context: AnalysisContext


@cache
def snippets() -> tuple[Snippet, ...]:
    """All snippets of all golden files."""
    return tuple(s for path in sorted(KERNELS.glob("*.md")) for s in read(path))


@cache
def analyzed(snippet: Snippet) -> tuple[Module, tuple[Issue, ...]]:
    """A snippet as it is parsed, and all that is found in it."""
    module = parse_module(snippet.text)
    return module, analyze(module, snippet.context)


def read(path: Path) -> list[Snippet]:
    """The snippets of one golden file."""
    text = path.read_text()
    silent_from = text.index("\n## Silent")
    found = []
    for number, match in enumerate(_BLOCK.finditer(text), 1):
        code = match.group(1)
        marks = {
            line: mark.group(1)
            for line, content in enumerate(code.splitlines(), 1)
            if (mark := _EXPECT.search(content))
        }
        assert set(marks.values()) <= {path.stem}, f"{path.name}: marks another issue"
        fires = match.start() < silent_from
        name = f"{path.stem}-{number}-{'fires' if fires else 'silent'}"
        found.append(Snippet(path.stem, name, code, fires, frozenset(marks), context_of(code)))
    return found


def context_of(code: str) -> AnalysisContext:
    """What a snippet's first line gives."""
    first = code.splitlines()[0]
    if not first.startswith("# given: "):
        return AnalysisContext()
    target, version, launches = None, None, []
    words = first.removeprefix("# given: ").split()
    for place, word in enumerate(words):
        key, _, value = word.partition("=")
        if key == "target":
            target = Target(*value.split(":"))
        elif key == "triton":
            major, minor = value.split(".")
            version = (int(major), int(minor))
        elif key == "launch":
            launches.append(_launch(value, words[place + 1 :]))
            break
    return AnalysisContext(target, version, tuple(launches))


def _launch(kernel: str, words: list[str]) -> LaunchFacts:
    grid: tuple[int, ...] = ()
    arguments = []
    for word in words:
        key, _, value = word.partition("=")
        if key == "grid":
            grid = tuple(int(n) for n in value.split(","))
        elif key.endswith(":"):
            arguments.append(ArgumentFacts(key[:-1], "constexpr", "constexpr", int(value)))
        elif value.startswith("*"):
            arguments.append(_tensor(key, value))
        else:
            kind, _, number = value.rpartition(":")
            arguments.append(ArgumentFacts(key, "int", kind or "i32", int(number)))
    return LaunchFacts(kernel, grid, tuple(arguments))


def _tensor(name: str, text: str) -> ArgumentFacts:
    kind, _, sides = text.rstrip("]").partition("[")
    shape = tuple(int(n) for n in sides.split(","))
    strides = [1]
    for side in reversed(shape[1:]):
        strides.insert(0, strides[0] * side)
    return ArgumentFacts(name, "tensor", kind, None, shape, tuple(strides), True)
