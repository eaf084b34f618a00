"""The analyzer's and the planner's replies: what is taken from them, and why the rest is not."""

import json

import pytest
from agent_cases import KERNEL, briefing, fence
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.agents import analyzer, planner
from tilewright.agents.analyzer import Analysis
from tilewright.agents.model import ProposedIssue, Unusable
from tilewright.analysis.model import Issue
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.stages import DEFAULT_ORDER, Stage, order_stages
from tilewright.source.text import Range

GOOD = {
    "id": None,
    "title": "The sum could be taken at once",
    "stage": "fusion",
    "severity": 4,
    "line": 14,
    "evidence": "tl.load(x_ptr + offs, mask=offs < n)",
    "fix": "Add before storing.",
    "gain": 1.5,
}


def reply(*issues: object) -> str:
    return json.dumps({"issues": issues})


def analysed(text: str, **more: object) -> Analysis:
    found = analyzer.analysis(text, briefing(**more))
    assert isinstance(found, Analysis), found
    return found


LINES = """The file has one issue.

- title: The sum could be taken at once
- stage: fusion
- severity: 4
- line: 14
- evidence: `tl.load(x_ptr + offs, mask=offs < n)`
- fix: Add before storing.
- gain: 1.5x
"""


@pytest.mark.parametrize(
    "text",
    [
        reply(GOOD),
        fence(reply(GOOD), language="json"),
        f"I see one.\n{fence(reply(GOOD), language='json')}That is all.",
        f"<think>{reply({**GOOD, 'title': 'no'})}</think>{reply(GOOD)}",
        f"{reply({**GOOD, 'title': 'a draft'})}\nBetter:\n{reply(GOOD)}",
        json.dumps(reply(GOOD)),
        json.dumps(GOOD),
        LINES,
        LINES.replace("- ", "").replace("title", "**title**"),
        reply({**GOOD, "id": "no_such_issue"}),
        reply({**GOOD, "severity": "4", "line": "line 14", "gain": "1.5x"}),
        reply({**GOOD, "stage": "Fusion"}),
    ],
)
def test_issue_is_read_however_it_is_written(text: str) -> None:
    assert analysed(text) == Analysis(
        (
            ProposedIssue(
                None, GOOD["title"], Stage.FUSION, 4, 14, GOOD["evidence"], GOOD["fix"], 1.5
            ),
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"title": ""}, "it has no title"),
        ({"fix": None, "title": 3}, "it has no title and no fix"),
        ({"stage": "speed"}, "its stage is none of correctness, algorithmic"),
        ({"severity": 6}, "its severity is not from 1 to 5"),
        ({"severity": True}, "its severity is not from 1 to 5"),
        ({"line": 0}, "its line is not in the file, which has 32 lines"),
        ({"line": 33}, "its line is not in the file"),
        ({"line": None}, "its line is not in the file"),
    ],
)
def test_incomplete_issue_is_left_out_with_the_reason(change: dict[str, object], says: str) -> None:
    found = analysed(reply({**GOOD, **change}, GOOD))
    assert [issue.title for issue in found.issues] == [GOOD["title"]]
    assert len(found.refused) == 1
    assert found.refused[0].startswith("issue 1 of the reply is left out: ")
    assert says in found.refused[0]


def test_what_a_detector_reports_is_no_news() -> None:
    detected = Issue("missing_autotune", Stage.AUTOTUNING, 2, "m", None, Range(12, 0, 13, 4))
    given = {**GOOD, "id": "missing_autotune", "line": 15}
    found = analysed(reply(given), issues=(detected,))
    assert found.issues == ()
    assert "a detector reports missing_autotune there already" in found.refused[0]
    far = analysed(reply({**given, "line": 28}), issues=(detected,))
    assert [issue.id for issue in far.issues] == ["missing_autotune"]


def test_known_id_has_the_stage_of_the_taxonomy() -> None:
    (found,) = analysed(reply({**GOOD, "id": "missing_autotune"})).issues
    assert found.stage is taxonomy()["missing_autotune"].stage


def test_evidence_is_source() -> None:
    (found,) = analysed(reply({**GOOD, "evidence": "it loads twice"})).issues
    assert found.evidence == KERNEL.splitlines()[13].strip()


def test_repeated_and_too_many_issues() -> None:
    found = analysed(reply(GOOD, GOOD))
    assert len(found.issues) == 1
    assert "the reply has it already" in found.refused[0]
    many = [{**GOOD, "title": f"issue {n}"} for n in range(12)]
    found = analysed(reply(*many))
    assert len(found.issues) == analyzer.MOST_ISSUES
    assert found.refused == ("4 issues beyond the first 8",)


@pytest.mark.parametrize("text", ["", "It is fine.", "{", '{"issues": 3}', "[1]", fence("x = {1}")])
def test_reply_without_issues_is_unusable(text: str) -> None:
    found = analyzer.analysis(text, briefing())
    assert isinstance(found, Unusable)
    assert "the reply lists no issues" in found.message


def test_no_issues_is_an_answer() -> None:
    assert analyzer.analysis('{"issues": []}', briefing()) == analyzer.Analysis(())


_LEAVES = st.none() | st.integers() | st.text(max_size=20) | st.floats() | st.booleans()
_VALUES = st.dictionaries(st.sampled_from(list(GOOD)), _LEAVES | st.lists(_LEAVES, max_size=2))


@settings(max_examples=40, deadline=None)
@given(_LEAVES | st.lists(_VALUES, max_size=3) | _VALUES)
def test_no_issue_of_any_json_breaks_the_parser(value: object) -> None:
    known = briefing(issues=())
    for text in (reply(value), json.dumps(value)):
        found = analyzer.analysis(text, known)
        issues = found.issues if isinstance(found, Analysis) else ()
        assert all(1 <= issue.line <= 32 for issue in issues)


STAGES = (Stage.ALGORITHMIC, Stage.FUSION, Stage.MEMORY_ACCESS, Stage.AUTOTUNING)


@pytest.mark.parametrize(
    ("text", "order", "skipped"),
    [
        ('{"order": ["memory_access", "algorithmic"], "skip": ["fusion"], "why": "x"}',
         ("memory_access", "algorithmic", "autotuning"), ("fusion",)),
        ('{"order": ["fusion", "dtype_fix", "nonsense", 3]}',
         ("algorithmic", "fusion", "memory_access", "autotuning"), ()),
        ('```json\n{"order": [], "skip": ["memory_access"]}\n```',
         ("algorithmic", "fusion", "autotuning"), ("memory_access",)),
        ("First memory_access, then algorithmic and fusion, at last autotuning.",
         ("memory_access", "algorithmic", "fusion", "autotuning"), ()),
    ],
)  # fmt: skip
def test_order_is_followed(text: str, order: tuple[str, ...], skipped: tuple[str, ...]) -> None:
    plan = planner.parse(text, STAGES)
    assert tuple(stage.value for stage in plan.stages) == order
    assert tuple(stage.value for stage in plan.skipped) == skipped


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "names none of the stages"),
        ("fusion is best", "names none of the stages"),
        ('{"order": "fusion"}', "names none of the stages"),
        (json.dumps({"skip": [s.value for s in STAGES]}), "would skip every stage"),
    ],
)
def test_reply_of_no_use_gives_the_default_order_and_says_so(text: str, says: str) -> None:
    plan = planner.parse(text, tuple(reversed(STAGES)))
    assert plan.stages == STAGES
    assert plan.note.startswith("stages are taken in the default order: ")
    assert says in plan.note


def test_illegal_order_is_corrected_and_says_so() -> None:
    plan = planner.parse('{"order": ["autotuning", "fusion", "algorithmic"], "why": "w"}', STAGES)
    assert order_stages(plan.stages) == plan.stages
    assert "the planner's order is corrected" in plan.note
    assert plan.rationale == "w"
    assert planner.parse('{"order": ["algorithmic"]}', STAGES).note == ""


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(DEFAULT_ORDER), min_size=1, unique=True),
    st.lists(st.sampled_from([*(s.value for s in DEFAULT_ORDER), "x"])),
    st.lists(st.sampled_from([s.value for s in DEFAULT_ORDER])),
)
def test_every_plan_is_legal_and_loses_no_stage(
    stages: list[Stage], order: list[str], skip: list[str]
) -> None:
    plan = planner.parse(json.dumps({"order": order, "skip": skip}), stages)
    assert order_stages(plan.stages) == plan.stages
    assert sorted((*plan.stages, *plan.skipped)) == sorted(stages)
    assert Stage.CORRECTNESS not in plan.skipped
    assert plan.stages


def test_schemas_fit_their_examples() -> None:
    (issue,) = [analyzer.SCHEMA["properties"]["issues"]["items"]]
    assert set(issue["required"]) == set(issue["properties"]) == set(GOOD)
    assert set(planner.SCHEMA["required"]) == set(planner.SCHEMA["properties"])


_TUNED = """\
import triton


@triton.autotune([triton.Config({"BLOCK": 64}, num_warps=4)], key=["n"])
@triton.jit
def kernel(x_ptr, n, BLOCK):
    pass


def run(x):
    kernel[(4,)](x, 64, STEPS=3, num_warps=4)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def run", "# A comment\ndef run"),
        ("num_warps=4)]", "num_warps=8)]"),
        ("STEPS=3, num_warps=4", "STEPS=5"),
        ('@triton.autotune([triton.Config({"BLOCK": 64}, num_warps=4)], key=["n"])\n', ""),
    ],
)
def test_settings_of_launches_and_comments_tell_the_analyzer_nothing(old: str, new: str) -> None:
    assert analyzer.essence(_TUNED.replace(old, new)) == analyzer.essence(_TUNED)


@pytest.mark.parametrize(
    ("old", "new"),
    [("pass", "return n"), ("(x, 64", "(x, 65"), ("STEPS=3", "STEPS=x"), ("def", "")],
)
def test_other_changes_may_change_what_the_analyzer_says(old: str, new: str) -> None:
    assert analyzer.essence(_TUNED.replace(old, new)) != analyzer.essence(_TUNED)
