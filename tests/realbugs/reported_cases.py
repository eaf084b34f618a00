"""Small kernels with a fault that a public report describes, each with its fixed twin.

One YAML file a repository. ``open/`` was read while the detectors were written, ``blind/``,
``blind2/``, ``blind3/`` and ``blind4/`` were blind sets and are open since their results were read.
``blind5/`` is the blind set of wrong results now, and ``blind6/`` that of lost time.
``code`` is both versions in one text: the first column of a line is "-"
where only the faulty version has it, "+" where only the fixed one has it, "!" where both have it
and the fault may be reported there, and a space otherwise. The imports of torch and Triton
are added.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

FOLDER = Path(__file__).parent
IMPORTS = "import torch\nimport triton\nimport triton.language as tl\n"


class Kind(StrEnum):
    """Whether the report is of a wrong result, or of lost time."""

    BUG = "bug"
    SLOW = "slow"


class Half(StrEnum):
    """Whether the report was read before the detectors were finished."""

    OPEN = "open"
    BLIND = "blind"


class Folder(StrEnum):
    """Where a case is kept."""

    OPEN = "open"
    FIRST_BLIND = "blind"
    SECOND_BLIND = "blind2"
    THIRD_BLIND = "blind3"
    FOURTH_BLIND = "blind4"
    FIFTH_BLIND = "blind5"
    SIXTH_BLIND = "blind6"


BLIND_SETS = tuple(folder for folder in Folder if folder is not Folder.OPEN)
"""In the order in which they were written."""
BLIND_NOW = {Kind.BUG: Folder.FIFTH_BLIND, Kind.SLOW: Folder.SIXTH_BLIND}
"""The last set that has cases of a kind."""


class Entry(BaseModel):
    """One case as a file states it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    report: str = Field(pattern=r"^[\w.-]+/[\w.-]+#\d+$|^[\w.-]+/[\w.-]+@[0-9a-f]{7,40}$")
    says: str = Field(min_length=20)
    kind: Kind
    expects: tuple[str, ...] = Field(min_length=1)
    undecidable: str | None = Field(default=None, min_length=20)
    code: str


@dataclass(frozen=True)
class Case:
    """A case with both versions of its text, and the lines where its fault may be reported."""

    name: str
    folder: Folder
    entry: Entry
    faulty: str
    fixed: str
    lines: frozenset[int]

    @property
    def half(self) -> Half:
        """Whether the case was read before the detectors were finished."""
        return Half.BLIND if self.folder is BLIND_NOW[self.entry.kind] else Half.OPEN

    @property
    def is_decidable(self) -> bool:
        """Whether the file alone says that this is a fault."""
        return self.entry.undecidable is None


@cache
def cases() -> tuple[Case, ...]:
    """All cases, by folder and name."""
    return tuple(case for folder in Folder for case in cases_in(FOLDER / folder, folder))


def cases_in(place: Path, folder: Folder) -> Iterator[Case]:
    """The cases of the YAML files at a place, kept as those of a folder are."""
    for path in sorted(place.glob("*.yaml")):
        for name, given in loaded(path).items():
            yield _case(f"{path.stem}/{name}", folder, Entry.model_validate(given))


def loaded(path: Path) -> Any:
    """What a YAML file holds, read by the quick parser where PyYAML has it."""
    return yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _case(name: str, folder: Folder, entry: Entry) -> Case:
    faulty, fixed, lines = IMPORTS.splitlines(), IMPORTS.splitlines(), set()
    for line in entry.code.splitlines():
        mark, rest = line[:1] or " ", line[1:]
        if mark not in " -+!":
            raise ValueError(f"{name}: a line of the code begins with {mark!r}")
        if mark != "+":
            faulty.append(rest)
        if mark in "-!":
            lines.add(len(faulty))
        if mark != "-":
            fixed.append(rest)
    if not lines or faulty == fixed:
        raise ValueError(f"{name}: no line is marked, or both versions are the same")
    return Case(name, folder, entry, "\n".join(faulty), "\n".join(fixed), frozenset(lines))
