"""Reading the golden files in ``kernels/``: what fires, what stays silent, compiled for real.

One Markdown file an issue, as in ``tests/analysis/kernels``. A snippet begins with a line a report:
``# compile: target=cuda:90 num_warps=4 launch=kernel grid=8,1 x=*fp16[64,64] n=i32:64 BLOCK:=128``.
Options stand before ``launch``, arguments behind it; ``:=`` marks a constexpr. A tensor is
contiguous and aligned; ``*fp16[64,64]:4`` begins at 4 bytes. Integers are divisible by 16 where
they are. The first of these lines becomes the imports.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tilewright.targets.model import ArgumentFacts, LaunchFacts, Target
from tilewright.targets.registry import parse_target

KERNELS = Path(__file__).parent / "kernels"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_EXPECT = re.compile(r"# expect: (\w+)")
_COMPILE = "# compile: "
_IMPORTS = "import torch, triton, triton.language as tl"


@dataclass(frozen=True)
class Golden:
    """One module of a golden file, with the lines on which its issue is expected."""

    issue: str
    name: str
    text: str
    fires: bool
    expected: frozenset[int]
    wanted: tuple[tuple[LaunchFacts, Target], ...]


def goldens() -> list[Golden]:
    """All snippets of all golden files."""
    return [each for path in sorted(KERNELS.glob("*.md")) for each in read(path)]


def read(path: Path) -> Iterator[Golden]:
    """The snippets of one golden file."""
    text = path.read_text()
    silent_from = text.index("\n## Silent")
    for number, match in enumerate(_BLOCK.finditer(text), 1):
        lines = match[1].splitlines()
        marks = {n: m[1] for n, line in enumerate(lines, 1) if (m := _EXPECT.search(line))}
        assert set(marks.values()) <= {path.stem}, f"{path.name}: marks another issue"
        fires = match.start() < silent_from
        wanted = tuple(_wanted(x.removeprefix(_COMPILE)) for x in lines if x.startswith(_COMPILE))
        name = f"{path.stem}-{number}-{'fires' if fires else 'silent'}"
        code = "\n".join([_IMPORTS, *lines[1:]]) + "\n"
        yield Golden(path.stem, name, code, fires, frozenset(marks), wanted)


def _wanted(text: str) -> tuple[LaunchFacts, Target]:
    settings, _, launch = text.partition(" launch=")
    options = dict(word.split("=") for word in settings.split())
    target = parse_target(options.pop("target"))
    kernel, *words = launch.split()
    given = dict(word.split("=", 1) for word in words)
    grid = tuple(int(n) for n in given.pop("grid", "1").split(","))
    arguments = tuple(_argument(name, value) for name, value in given.items())
    return LaunchFacts(kernel, grid, arguments, {k: _value(v) for k, v in options.items()}), target


def _argument(name: str, text: str) -> ArgumentFacts:
    if name.endswith(":"):
        return ArgumentFacts(name[:-1], "constexpr", "constexpr", _value(text))
    if text.startswith("*"):
        return _tensor(name, text)
    if text == "None":
        return ArgumentFacts(name, "none", "constexpr")
    kind, _, number = text.partition(":")
    if kind.startswith("fp"):
        return ArgumentFacts(name, "float", kind, float(number))
    return ArgumentFacts(name, "int", kind, int(number), divisible_by_16=int(number) % 16 == 0)


def _tensor(name: str, text: str) -> ArgumentFacts:
    kind, _, rest = text.partition("[")
    sides, _, offset = rest.partition("]")
    shape = tuple(int(n) for n in sides.split(","))
    strides = [1]
    for side in reversed(shape[1:]):
        strides.insert(0, strides[0] * side)
    aligned = int(offset.lstrip(":") or 0) % 16 == 0
    return ArgumentFacts(name, "tensor", kind, None, shape, tuple(strides), aligned)


def _value(text: str) -> int | float | bool | str | None:
    if text in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[text]
    try:
        return int(text)
    except ValueError:
        return text
