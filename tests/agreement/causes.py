"""What differs and what is unknown, grouped by cause, with the lines that show it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from comparing import ASPECTS, Disagreement, Tally

_EXAMPLES = 3
_CONTEXT_LINES = 8


def causes(tally: Tally, root: Path) -> str:
    """A Markdown text: disagreements, most frequent first, then where inference stops."""
    parts = ["# Where tile inference and the compiler differ", ""]
    parts += _disagreements(tally.disagreements, root)
    parts += ["", "# Where tile inference stops", ""]
    for aspect in ASPECTS:
        parts += [f"## {aspect}", "", "| values | stops at | for example |", "| ---: | --- | --- |"]
        for (which, stop), count in tally.unknown.most_common():
            if which == aspect and count > 1:
                example = tally.examples[which, stop].replace("|", "\\|").replace("\n", " ")
                parts.append(f"| {count} | {stop} | `{example}` |")
        parts.append("")
    return "\n".join(parts)


def _disagreements(all_of_them: Iterable[Disagreement], root: Path) -> Iterator[str]:
    groups: dict[tuple[str, ...], list[Disagreement]] = defaultdict(list)
    for one in all_of_them:
        operation = re.sub(r"\d+$|-?\d+\.\d+$", "", one.value)
        change = ("", "") if one.aspect == "shape" else (one.inferred, one.compiled)
        groups[one.aspect, operation, *change].append(one)
    for (aspect, operation, *_), group in sorted(groups.items(), key=lambda g: -len(g[1])):
        first = group[0]
        yield f"## {len(group)} × {aspect} of `{operation}`: {first.inferred} → {first.compiled}"
        yield ""
        places = {(one.file, one.line): one for one in group}
        for one in list(places.values())[:_EXAMPLES]:
            yield f"- `{one.source[:120]}`: inferred {one.inferred}, compiled {one.compiled}"
            yield f"  {one.file}:{one.line}:{one.column} in {one.kernel} ({len(places)} places)"
        yield from _lines(first, root)


def _lines(one: Disagreement, root: Path) -> Iterator[str]:
    """The line, after the lines that set the names in it, and so on."""
    lines = (root / one.file).read_text().splitlines()
    wanted, names = {one.line}, _names(one.source)
    for number in range(one.line - 1, max(0, one.line - 150), -1):
        text = lines[number - 1]
        sets = _set_by(text)
        if sets & names and len(wanted) < _CONTEXT_LINES:
            wanted.add(number)
            names |= set(re.findall(r"\w+", text))
        if text.lstrip().startswith("def "):
            break
    yield "```python"
    yield f"# given {one.given[:400]}"
    yield from (f"{number}: {lines[number - 1]}" for number in sorted(wanted))
    yield "```"
    yield ""


def _set_by(line: str) -> set[str]:
    """The names that a line assigns or loops over."""
    target = re.match(r"\s*(\w+(?:\s*,\s*\w+)*)\s*(?::[^=]+)?[-+*/|&]?=(?!=)", line)
    found = target or re.match(r"\s*for (\w+) in", line)
    return {name.strip() for name in found.group(1).split(",")} if found else set()


def _names(source: str) -> set[str]:
    try:
        tree = ast.parse(source, mode="eval")
    except SyntaxError:
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
