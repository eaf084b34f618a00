"""The analyzer: asks for issues that no detector can see."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.agents import sections
from tilewright.agents.answers import lines_of, thought_of
from tilewright.agents.briefing import Briefing
from tilewright.agents.model import ProposedIssue, Unusable
from tilewright.agents.objects import last_object, short_text
from tilewright.agents.prompt import Prompt, whole
from tilewright.agents.segments import UNPARSABLE
from tilewright.agents.templates import sentences
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.stages import DEFAULT_ORDER, Stage
from tilewright.models.model import Role
from tilewright.textfile import one_line

MOST_ISSUES = 8
_NEAR = 3
_MOST_CHARACTERS = 600
_MOST_TITLE = 120
_FIELDS = ("id", "title", "stage", "severity", "line", "evidence", "fix", "gain")
_FIELD = re.compile(rf"\s*(?:[-*]\s*)?[`*]*({'|'.join(_FIELDS)})[`*]*\s*:\s*(.*)$", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_OPTIONS = {"num_warps", "num_stages", "num_ctas", "maxnreg"}
_STAGES = [stage.value for stage in DEFAULT_ORDER]

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["issues"],
    "properties": {
        "issues": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": list(_FIELDS),
                "properties": {
                    "id": {"type": ["string", "null"]},
                    "title": {"type": "string"},
                    "stage": {"type": "string", "enum": _STAGES},
                    "severity": {"type": "integer"},
                    "line": {"type": "integer"},
                    "evidence": {"type": "string"},
                    "fix": {"type": "string"},
                    "gain": {"type": ["number", "null"]},
                },
            },
        }
    },
}
"""What a reply follows where the endpoint can enforce it."""


@dataclass(frozen=True)
class Analysis:
    """The issues of a reply, and why others of it are left out."""

    issues: tuple[ProposedIssue, ...]
    refused: tuple[str, ...] = ()


def build(briefing: Briefing, limit_tokens: int | None = None) -> Prompt:
    """The prompt; ``SCHEMA`` is what the reply shall follow where the endpoint can enforce it."""
    role = Role.ANALYZER
    task = sentences(role.value, "role", most=MOST_ISSUES, stages=", ".join(_STAGES))
    parts = (
        (whole(1, "TASK", task), ()),
        sections.language(briefing, role),
        sections.chip(briefing, role),
        sections.problem(briefing, role),
        sections.schedule(briefing, role),
        sections.issue_types(briefing, role),
        sections.parent(briefing, role),
        sections.facts(briefing, role),
        sections.tried(briefing, role),
        (whole(10, "GOAL", sentences(role.value, "goal")), ()),
    )
    return sections.prompt(sections.Outline(role, parts), limit_tokens)


def essence(text: str) -> str:
    """What the analyzer's issues follow from: the code without comments, layout and the settings
    of launches, which the tuner changes and the detectors judge."""
    try:
        tree = ast.parse(text)
    except UNPARSABLE:
        return text
    return ast.dump(_Plain().visit(tree))


class _Plain(ast.NodeTransformer):
    """No autotuner, no option of a launch, and no number that a launch gives by name."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = [one for one in node.decorator_list if not _is_tuner(one)]
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Subscript):
            node.keywords = [one for one in node.keywords if not _is_setting(one)]
        return self.generic_visit(node)


def _is_setting(keyword: ast.keyword) -> bool:
    value = keyword.value
    is_number = isinstance(value, ast.Constant) and isinstance(value.value, int)
    return keyword.arg in _OPTIONS or is_number


def _is_tuner(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called).rpartition(".")[2] == "autotune"


def analysis(reply: str, briefing: Briefing) -> Analysis | Unusable:
    """The issues of a reply that are neither the detectors' own nor outside the file, and why the
    others are left out."""
    listed = _listed(reply)
    if listed is None:
        return Unusable(
            'the reply lists no issues: answer with one JSON object {"issues": [...]}, with an '
            "empty list if there are none",
            thought_of(reply),
        )
    issues: list[ProposedIssue] = []
    refused = []
    for number, given in enumerate(listed, 1):
        found = _issue(given, briefing)
        why = found if isinstance(found, str) else _known_already(found, briefing, issues)
        if isinstance(found, ProposedIssue) and not why:
            issues.append(found)
        else:
            refused.append(f"issue {number} of the reply is left out: {why}")
    if len(issues) > MOST_ISSUES:
        refused.append(f"{len(issues) - MOST_ISSUES} issues beyond the first {MOST_ISSUES}")
    return Analysis(tuple(issues[:MOST_ISSUES]), tuple(refused))


def _listed(reply: str) -> Sequence[Any] | None:
    """The issues as the reply has them: in JSON, or as lines ``title: ...``."""
    found = last_object(reply)
    if found is not None:
        issues = found.get("issues", [found] if "title" in found else None)
        if isinstance(issues, list):
            return issues
    return list(_from_lines(reply)) or None


def _from_lines(reply: str) -> Iterator[dict[str, Any]]:
    """Groups of ``field: value``; a field that is there already begins the next group."""
    group: dict[str, Any] = {}
    for line in lines_of(reply):
        found = _FIELD.match(line.rstrip("\r\n"))
        if found is None:
            continue
        name, value = found[1].lower(), found[2].strip(' `*"')
        if name in group:
            yield group
            group = {}
        group[name] = None if value.lower() in ("null", "none", "") else value
    if "title" in group:
        yield group


def _issue(given: Any, briefing: Briefing) -> ProposedIssue | str:
    """An issue of a reply, checked; or why it is left out."""
    if not isinstance(given, dict):
        return "it is no object"
    texts = {name: _text(given.get(name)) for name in ("title", "fix", "evidence")}
    missing = [name for name in ("title", "fix") if not texts[name]]
    if missing:
        return f"it has no {' and no '.join(missing)}"
    kind = taxonomy().get(str(given.get("id")))
    stage = kind.stage if kind is not None else _stage(given.get("stage"))
    severity, line = _whole(given.get("severity")), _whole(given.get("line"))
    lines = lines_of(briefing.text)
    if stage is None:
        return f"its stage is none of {', '.join(_STAGES)}"
    if severity not in range(1, 6):
        return "its severity is not from 1 to 5"
    if line not in range(1, len(lines) + 1):
        return f"its line is not in the file, which has {len(lines)} lines"
    return ProposedIssue(
        id=kind.id if kind is not None else None,
        title=short_text(texts["title"], _MOST_TITLE),
        stage=stage,
        severity=severity,
        line=line,
        evidence=_evidence(texts["evidence"], line, lines),
        fix=short_text(texts["fix"], _MOST_CHARACTERS),
        gain=_gain(given.get("gain")),
    )


def _evidence(given: str, line: int, lines: Sequence[str]) -> str:
    """Words of the source: those of the reply where the file has them, else the line itself."""
    return given if given and any(given in one for one in lines) else lines[line - 1].strip()


def _known_already(
    found: ProposedIssue, briefing: Briefing, others: Sequence[ProposedIssue]
) -> str:
    """Why an issue is no news: a detector or the reply has it already; or empty."""
    if found.id is not None and any(
        issue.id == found.id and _is_near(issue.range.line, issue.range.end_line, found.line)
        for issue in briefing.issues
    ):
        return f"a detector reports {found.id} there already"
    for other in others:
        same = (other.id, other.line) == (found.id, found.line) and found.id is not None
        if same or other.title.lower() == found.title.lower():
            return f"the reply has it already: {other.title}"
    return ""


def _is_near(first: int, last: int, line: int) -> bool:
    return first - _NEAR <= line <= last + _NEAR


def _text(value: Any) -> str:
    return one_line(" ".join(value.split())) if isinstance(value, str) else ""


def _stage(value: Any) -> Stage | None:
    name = str(value).strip().lower().replace(" ", "_").replace("-", "_")
    return Stage(name) if name in _STAGES else None


def _whole(value: Any) -> int:
    """An integer, also one in a text; 0 where there is none."""
    if isinstance(value, bool) or value is None:
        return 0
    if isinstance(value, int):
        return value
    found = _NUMBER.search(str(value))
    return int(float(found[0])) if found else 0


def _gain(value: Any) -> float | None:
    """A speed-up from 1 to 1000; None for anything else, as nothing is decided by it."""
    found = None if isinstance(value, bool) or value is None else _NUMBER.search(str(value))
    gain = float(found[0]) if found else 0.0
    return gain if 1.0 <= gain <= 1000.0 else None
