"""The knowledge base, read once for each folder it is read from."""

import difflib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tilewright.knowledge.files import KnowledgeError, knowledge_root, read_folder
from tilewright.knowledge.model import Constraint, ConstraintFile, IssueType, TaxonomyFile
from tilewright.knowledge.patterns import Pattern, PatternFile
from tilewright.knowledge.stages import DEFAULT_ORDER


def taxonomy() -> Mapping[str, IssueType]:
    """Every issue type by id, in the order of the stages."""
    return _taxonomy(knowledge_root())


def issue_type(issue_id: str) -> IssueType:
    """One issue type; raises KnowledgeError with the nearest ids for an unknown one."""
    known = taxonomy()
    if issue_id in known:
        return known[issue_id]
    close = difflib.get_close_matches(issue_id, [*known, *all_patterns()], 3, 0.4)
    hint = f"the nearest are {', '.join(close)}" if close else "'tilewright explain' lists them"
    raise KnowledgeError(f"unknown issue '{issue_id}'; {hint}")


def all_patterns() -> Mapping[str, Pattern]:
    """Every pattern by id, in the order of the stages."""
    return _patterns(knowledge_root())


def patterns_of(issue_id: str) -> tuple[Pattern, ...]:
    """The patterns that answer an issue, whatever they apply to."""
    return tuple(p for p in all_patterns().values() if issue_id in p.issues)


def all_constraints() -> tuple[Constraint, ...]:
    """Every constraint, whatever it applies to."""
    return _constraints(knowledge_root())


def constraints(
    target: object | None = None, triton: tuple[int, int] | None = None
) -> tuple[Constraint, ...]:
    """The constraints that certainly hold.

    Args:
        target: "cuda:90" or a Target; without it, only constraints of every target are given.
        triton: (major, minor); without it, only constraints of every version are given.
    """
    return tuple(c for c in all_constraints() if _holds(c, target, triton))


def option_backends() -> Mapping[str, tuple[str, ...]]:
    """Launch options that some backends reject, with the backends that know them."""
    known: dict[str, list[str]] = {}
    for constraint in all_constraints():
        if constraint.check.name == "option_forbidden":
            option = str(constraint.check.parameters["option"])
            homes = known.setdefault(option, ["cuda", "hip", "xpu"])
            known[option] = [b for b in homes if b not in constraint.applies_to.backends]
    return {option: tuple(homes) for option, homes in known.items()}


def _holds(constraint: Constraint, target: object | None, triton: tuple[int, int] | None) -> bool:
    where = constraint.applies_to
    on_target = where.every_target if target is None else where.covers_target(str(target))
    in_version = where.triton == "any" if triton is None else where.covers_triton(triton)
    return on_target and in_version


@cache
def _taxonomy(root: Path) -> Mapping[str, IssueType]:
    found = [i for f in read_folder(root, "taxonomy", TaxonomyFile) for i in f.issues]
    found.sort(key=lambda issue: DEFAULT_ORDER.index(issue.stage))
    return _by_id(found)


@cache
def _patterns(root: Path) -> Mapping[str, Pattern]:
    found = [p for f in read_folder(root, "patterns", PatternFile) for p in f.patterns]
    found.sort(key=lambda pattern: DEFAULT_ORDER.index(pattern.stage))
    return _by_id(found)


@cache
def _constraints(root: Path) -> tuple[Constraint, ...]:
    files = read_folder(root, "constraints", ConstraintFile)
    return tuple(_by_id([c for file in files for c in file.constraints]).values())


def _by_id(entries: list[Any]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for entry in entries:
        if entry.id in found:
            raise KnowledgeError(f"the id '{entry.id}' is used twice; rename one of them")
        found[entry.id] = entry
    return MappingProxyType(found)
