"""What was known of kernels before an edit broke them: shown in place until they parse again."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from tilewright.lru import LruDict
from tilewright.source.model import Kernel
from tilewright_server.analysis_cache import Analysis

_DOCUMENTS = 64
_MOST_COMPARED = 400


@dataclass(frozen=True)
class MovedLines:
    """Where the lines of an older text stand in a newer one."""

    old: Sequence[str]
    new: Sequence[str]

    @cached_property
    def _ends(self) -> tuple[int, int]:
        """How many lines are the same at the beginning, and at the end."""
        most = min(len(self.old), len(self.new))
        first = next((n for n in range(most) if self.old[n] != self.new[n]), most)
        rest = most - first
        last = next((n for n in range(rest) if self.old[-1 - n] != self.new[-1 - n]), rest)
        return first, last

    @cached_property
    def _equal_rows(self) -> dict[int, int]:
        """Rows that are the same in the changed part, the older by the newer."""
        first, last = self._ends
        old, new = self.old[first : len(self.old) - last], self.new[first : len(self.new) - last]
        if not old or not new or max(len(old), len(new)) > _MOST_COMPARED:
            return {}
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        return {
            first + block.a + n: first + block.b + n
            for block in matcher.get_matching_blocks()
            for n in range(block.size)
        }

    @property
    def changed(self) -> tuple[int, int]:
        """The first and the last 1-based line of the newer text that may differ."""
        first, last = self._ends
        return first + 1, len(self.new) - last

    def now(self, line: int) -> int | None:
        """A 1-based line of the older text in the newer; None where it has changed."""
        first, last = self._ends
        row = line - 1
        if row < first:
            return line
        if row >= len(self.old) - last:
            return line + len(self.new) - len(self.old)
        found = self._equal_rows.get(row)
        return None if found is None else found + 1


@dataclass(frozen=True)
class HeldKernel:
    """A kernel that does not parse now, as it was when it last did.

    ``line`` is the 1-based line that its definition has now.
    """

    kernel: Kernel
    analysis: Analysis
    moved: MovedLines
    line: int


class LastGood:
    """Of each document the last analysis, and for each kernel the last in which it parsed."""

    def __init__(self) -> None:
        self._latest: LruDict[str, Analysis] = LruDict(_DOCUMENTS)
        self._whole: LruDict[str, Analysis] = LruDict(_DOCUMENTS)
        self._kernels: LruDict[str, dict[str, Analysis]] = LruDict(_DOCUMENTS)

    def remember(self, uri: str, analysis: Analysis) -> None:
        """Take an analysis for the newest; forget kernels that a text without errors lacks."""
        self._latest.put(uri, analysis)
        if analysis.module.problems:
            self._keep_keys(uri, analysis)
        else:
            self._whole.put(uri, analysis)
        known = dict(self._kernels.get(uri) or {}) if analysis.module.problems else {}
        known.update({kernel.name: analysis for kernel in analysis.module.kernels})
        self._kernels.put(uri, known)

    def _keep_keys(self, uri: str, analysis: Analysis) -> None:
        """Let kernels keep their facts while nothing but broken statements has changed."""
        before = self._whole.get(uri)
        if before is None:
            return
        moved = MovedLines(before.module.index.lines, analysis.module.index.lines)
        broken = [_statement(moved.new, p.range.line) for p in analysis.module.problems]
        first, last = moved.changed
        if not any(start <= first and last <= end for start, end in broken):
            return
        then = {kernel.name: kernel.content_hash for kernel in before.module.kernels}
        same = [k.name for k in analysis.module.kernels if then.get(k.name) == k.content_hash]
        analysis.take_facts_keys({name: before.facts_keys[name] for name in same})

    def latest(self, uri: str) -> Analysis | None:
        """The last analysis of a document, whatever its text is by now."""
        return self._latest.get(uri)

    def with_kernel(self, uri: str, kernel: str) -> Analysis | None:
        """The last analysis in which a kernel parsed."""
        return (self._kernels.get(uri) or {}).get(kernel)

    def held_kernels(self, uri: str, analysis: Analysis) -> Iterator[HeldKernel]:
        """The kernels that stand in a text but do not parse there, as they last did."""
        module = analysis.module
        known = (self._kernels.get(uri) or {}) if module.problems else {}
        for name, before in known.items():
            kernel = before.module.kernel(name)
            if module.kernel(name) is not None or kernel is None:
                continue
            line = _definition(module.index.lines, name)
            if line is not None:
                moved = MovedLines(before.module.index.lines, module.index.lines)
                yield HeldKernel(kernel, before, moved, line)


def _statement(lines: Sequence[str], line: int) -> tuple[int, int]:
    """The 1-based lines of the top-level statement around a line, by its indentation alone."""
    first = min(line, len(lines))
    while first > 1 and not _begins(lines[first - 1]):
        first -= 1
    while first > 1 and lines[first - 2].startswith("@"):
        first -= 1
    last = max(line, first)
    while last < len(lines) and not _begins(lines[last]):
        last += 1
    return first, last


def _begins(text: str) -> bool:
    return bool(text[:1].strip()) and text[0] not in ")]}#"


def _definition(lines: Sequence[str], name: str) -> int | None:
    pattern = re.compile(rf"\s*def\s+{re.escape(name)}\b")
    return next((n for n, text in enumerate(lines, 1) if pattern.match(text)), None)
