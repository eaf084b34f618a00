"""Whether a certificate is still of a text, what changed if not, and what a new one adds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path

from tilewright.certificates.files import CertificateError, read_certificate
from tilewright.certificates.model import CertificateFile, Part
from tilewright.certificates.parts import Placed, reached
from tilewright.source.model import Module

_MARK = 4
_LEVELS = ("compiled", "correct", "faster")


@dataclass(frozen=True)
class Change:
    """A part that is not as it was verified.

    Attributes:
        line: 1-based line to show it on; None where nothing of it is left.
        lines: the lines that differ, as a person writes them: "12, 14-17"; empty if unknown.
    """

    part: str
    kind: str
    line: int | None
    lines: str = ""
    gone: bool = False

    @property
    def text(self) -> str:
        """What happened to it, in words."""
        if self.gone:
            return f"{self.part} is gone"
        where = f" ({_named_lines(self.lines)})" if self.lines else ""
        return f"{self.part} changed{where}"


def _named_lines(lines: str) -> str:
    return f"lines {lines}" if {",", "-"} & set(lines) else f"line {lines}"


@dataclass(frozen=True)
class State:
    """A certificate compared with a text.

    Attributes:
        changes: parts that differ; none where it is current.
        elsewhere: whether the file changed where it does not matter.
    """

    certificate: CertificateFile
    changes: tuple[Change, ...] = ()
    elsewhere: bool = False

    @property
    def is_current(self) -> bool:
        return not self.changes

    def of_kernel(self, kernel: str) -> tuple[Change, ...]:
        """What changed, a kernel's own part first."""
        return tuple(sorted(self.changes, key=lambda change: kernel not in change.part.split(", ")))


def state_of(certificate: CertificateFile, module: Module) -> State:
    """Hold a certificate against the text as it is now; nothing is run."""
    subject = certificate.subject
    if module.content_hash == subject.hash:
        return State(certificate)
    now = {placed.part.name: placed for placed in reached(module, subject.roots).parts}
    changes = tuple(_changes({part.name: part for part in subject.parts}, now))
    return State(certificate, changes, elsewhere=not changes)


def _changes(before: Mapping[str, Part], now: Mapping[str, Placed]) -> Iterator[Change]:
    for name, placed in now.items():
        part, line = placed.part, placed.range.line
        if name not in before:
            yield Change(name, part.kind, line)
        elif part.hash != before[name].hash:
            lines = _different(_marks(before[name].lines), _marks(part.lines))
            shown = [line + offset for offset in lines]
            yield Change(name, part.kind, shown[0] if shown else line, _spelled(shown))
    for name, part in before.items():
        if name not in now:
            yield Change(name, part.kind, None, gone=True)


def _marks(lines: str) -> list[str]:
    return [lines[at : at + _MARK] for at in range(0, len(lines), _MARK)]


def _different(before: Sequence[str], now: Sequence[str]) -> list[int]:
    """0-based lines of ``now`` that are new, or stand where something was taken out."""
    found: set[int] = set()
    if not before:
        return []
    for tag, _, _, first, last in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if tag != "equal":
            found.update(range(first, max(last, first + 1)))
    return sorted(min(line, len(now) - 1) for line in found)


def _spelled(lines: Sequence[int]) -> str:
    """``[3, 5, 6, 7]`` as ``3, 5-7``."""
    runs = groupby(enumerate(sorted(set(lines))), key=lambda pair: pair[1] - pair[0])
    ends = [[line for _, line in run] for _, run in runs]
    return ", ".join(f"{r[0]}-{r[-1]}" if len(r) > 1 else str(r[0]) for r in ends)


def better_at(place: Path, module: Module, new: CertificateFile) -> CertificateFile | None:
    """The certificate at a place that is of the same text, still holds for a module and reaches
    further than a new one; None where the new one may take its place."""
    try:
        there = read_certificate(place)
    except CertificateError:
        return None
    is_of_this = there.subject.hash == new.subject.hash and state_of(there, module).is_current
    reaches_further = _LEVELS.index(there.level) > _LEVELS.index(new.level)
    return there if is_of_this and reaches_further else None
