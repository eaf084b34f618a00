"""Checked files as SARIF 2.1.0 (OASIS), for code scanning services."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from tilewright import __version__
from tilewright.analysis.model import Issue
from tilewright.checking.annotations import level_of
from tilewright.checking.checked import Checked
from tilewright.knowledge import explain, taxonomy
from tilewright.source.text import Range

_ROOT = "SRCROOT"
_LEVELS = {"error": "error", "warning": "warning", "notice": "note"}


def sarif(files: Sequence[Checked], root: Path) -> dict[str, Any]:
    """One run; places are relative to ``root``, columns count code points from 1."""
    ids = sorted({issue.id for checked in files for issue in checked.issues})
    notes = [note for checked in files for note in _notifications(checked, root)]
    return {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
        "sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(ids)},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_ROOT: {"uri": root.resolve().as_uri() + "/"}},
                "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
                "artifacts": [_artifact(checked, root) for checked in files],
                "results": [r for checked in files for r in _results(checked, ids, root)],
            }
        ],
    }


def _driver(ids: Iterable[str]) -> dict[str, Any]:
    return {"name": "Tilewright", "version": __version__, "rules": [_rule(i) for i in ids]}


def _rule(issue_id: str) -> dict[str, Any]:
    kind = taxonomy()[issue_id]
    return {
        "id": issue_id,
        "name": "".join(word.capitalize() for word in issue_id.split("_")),
        "shortDescription": {"text": kind.title},
        "fullDescription": {"text": kind.summary.strip()},
        "help": {"text": kind.fix.strip(), "markdown": explain(issue_id)},
        "properties": {
            "tags": [kind.stage.value, *kind.applies_to.languages],
            "severity": kind.severity,
            "gain": kind.gain,
        },
    }


def _artifact(checked: Checked, root: Path) -> dict[str, Any]:
    return {
        "location": _location(checked.module.path, root),
        "sourceLanguage": "python",
        "mimeType": "text/x-python" if checked.cells is None else "application/x-ipynb+json",
    }


def _results(checked: Checked, ids: Sequence[str], root: Path) -> Iterable[dict[str, Any]]:
    seen: dict[str, int] = {}
    for issue in checked.issues:
        print_ = _fingerprint(checked, issue)
        seen[print_] = seen.get(print_, 0) + 1
        yield {
            "ruleId": issue.id,
            "ruleIndex": ids.index(issue.id),
            "level": _LEVELS[level_of(issue)],
            "message": {"text": _told(checked, issue.range, issue.message)},
            "locations": [_place(checked, issue.range, root, issue.kernel)],
            "relatedLocations": [
                {
                    "id": n,
                    **_place(checked, related.range, root),
                    "message": {"text": related.message},
                }
                for n, related in enumerate(issue.related)
            ],
            "partialFingerprints": {"kernelLine/v1": f"{print_}:{seen[print_]}"},
        }


def _fingerprint(checked: Checked, issue: Issue) -> str:
    """The same while the kernel's name and the line's text stay, wherever the line moves."""
    line = checked.module.index.lines[issue.range.line - 1].strip()
    text = "\0".join((issue.id, issue.kernel or "", line))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


def _told(checked: Checked, where: Range, message: str) -> str:
    cell, line = checked.place(where.line)
    return message if cell is None else f"cell {cell}, line {line}: {message}"


def _place(checked: Checked, where: Range, root: Path, kernel: str | None = None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _location(checked.module.path, root)}
    if checked.cells is None:
        # Lines of a notebook are lines of its cells, not of the file.
        physical["region"] = _region(where)
    place: dict[str, Any] = {"physicalLocation": physical}
    if kernel is not None:
        place["logicalLocations"] = [{"name": kernel, "kind": "function"}]
    return place


def _region(where: Range) -> dict[str, int]:
    return {
        "startLine": where.line,
        "startColumn": where.column + 1,
        "endLine": where.end_line,
        "endColumn": where.end_column + 1,
    }


def _location(path: str, root: Path) -> dict[str, str]:
    try:
        inside = Path(path).resolve().relative_to(root.resolve())
    except ValueError:
        return {"uri": Path(path).resolve().as_uri()}
    return {"uri": quote(PurePath(inside).as_posix()), "uriBaseId": _ROOT}


def _notifications(checked: Checked, root: Path) -> Iterable[dict[str, Any]]:
    odd = [(p.range, f"not Python: {p.message}") for p in checked.module.problems]
    odd += [(n.range, n.message) for n in checked.notices]
    for where, message in odd:
        yield {
            "level": "warning",
            "message": {"text": _told(checked, where, message)},
            "locations": [_place(checked, where, root)],
        }
