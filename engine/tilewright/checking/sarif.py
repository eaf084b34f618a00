"""Checked files as SARIF 2.1.0 (OASIS), for code scanning services."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from tilewright import __version__
from tilewright.analysis.model import Issue
from tilewright.checking.annotations import COMMANDS
from tilewright.checking.checked import Checked
from tilewright.errors import InputError
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.explain import explain
from tilewright.source.text import Range

_ROOT = "SRCROOT"
_LEVELS = {"error": "error", "warning": "warning", "notice": "note"}


def sarif(
    files: Sequence[Checked], root: Path, faults: Iterable[InputError] = ()
) -> dict[str, Any]:
    """One run; places are relative to ``root``, columns count code points from 1.

    ``faults``: what is wrong with files that could not be read or used.
    """
    ids = sorted({issue.id for checked in files for issue in checked.issues})
    others = sorted({r.id for checked in files for r in checked.remarks if r.level != "notice"})
    notes = [note for checked in files for note in _notifications(checked, root)]
    notes += [_faulty(fault, root) for fault in faults]
    return {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
        "sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(ids, others)},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_ROOT: {"uri": root.resolve().as_uri() + "/"}},
                "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
                "artifacts": [_artifact(checked, root) for checked in files],
                "results": [
                    result
                    for checked in files
                    for result in (
                        *_results(checked, ids, root),
                        *_remarked(checked, [*ids, *others], root),
                    )
                ],
            }
        ],
    }


def _driver(ids: Iterable[str], others: Iterable[str]) -> dict[str, Any]:
    plain = [{"id": i, "shortDescription": {"text": i.replace("_", " ")}} for i in others]
    rules = [*(_rule(i) for i in ids), *plain]
    return {"name": "Tilewright", "version": __version__, "rules": rules}


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
            "level": _LEVELS[COMMANDS[issue.level]],
            "message": {"text": _message_text(checked, issue.range, issue.message)},
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


def _remarked(checked: Checked, ids: Sequence[str], root: Path) -> Iterable[dict[str, Any]]:
    """Remarks that a project insists on; the others are notifications."""
    for remark in checked.remarks:
        if remark.level != "notice":
            yield {
                "ruleId": remark.id,
                "ruleIndex": ids.index(remark.id),
                "level": _LEVELS[remark.level],
                "message": {"text": remark.message},
                "locations": [_place(checked, remark.range, root, remark.kernel)],
            }


def _fingerprint(checked: Checked, issue: Issue) -> str:
    """The same while the kernel's name and the line's text stay, wherever the line moves."""
    line = checked.module.index.lines[issue.range.line - 1].strip()
    text = "\0".join((issue.id, issue.kernel or "", line))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


def _message_text(checked: Checked, where: Range, message: str) -> str:
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
    # Not Path.resolve, which raises at a link that leads to itself.
    return _uri(Path(os.path.realpath(path)), root)


def _uri(place: Path, root: Path) -> dict[str, str]:
    try:
        inside = place.relative_to(os.path.realpath(root))
    except ValueError:
        return {"uri": place.as_uri()}
    return {"uri": quote(os.fsencode(PurePath(inside).as_posix())), "uriBaseId": _ROOT}


def _faulty(fault: InputError, root: Path) -> dict[str, Any]:
    told: dict[str, Any] = {"level": "error", "message": {"text": fault.message}}
    if fault.path is None:
        return told
    # A link that leads nowhere is named itself, and not where it leads.
    folder, name = os.path.split(fault.path)
    place = os.path.join(os.path.realpath(folder), name)  # noqa: PTH118
    physical: dict[str, Any] = {"artifactLocation": _uri(Path(place), root)}
    if fault.line is not None:
        physical["region"] = {"startLine": fault.line}
    return {**told, "locations": [{"physicalLocation": physical}]}


def _notifications(checked: Checked, root: Path) -> Iterable[dict[str, Any]]:
    odd = [(p.range, f"not Python: {p.message}") for p in checked.module.problems]
    odd += [(n.range, n.message) for n in checked.notices]
    told = [("warning", where, message) for where, message in odd]
    told += [("note", r.range, r.message) for r in checked.remarks if r.level == "notice"]
    for level, where, message in told:
        yield {
            "level": level,
            "message": {"text": _message_text(checked, where, message)},
            "locations": [_place(checked, where, root)],
        }
