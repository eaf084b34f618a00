"""The three uses in a real VS Code: reading findings, optimizing on request, profiling on save."""

import ast
import difflib
from typing import Any

import pytest

pytestmark = pytest.mark.browser

Reports = dict[str, dict[str, Any]]


def seen(reports: Reports, name: str) -> dict[str, Any]:
    """What a scenario saw; fails with its error where it did not get to the end."""
    report = reports[name]
    assert report["ok"], report["error"]
    facts: dict[str, Any] = report["seen"]
    return facts


def test_a_finding_is_underlined_and_explained(reports: Reports) -> None:
    facts = seen(reports, "diagnostics")
    assert "tilewright" in facts["hover"]
    assert "tl.dot" in facts["hover"]
    assert any(int(word) > 0 for word in " ".join(facts["problems"]).split() if word.isdigit())


def test_the_light_bulb_offers_each_vendor(reports: Reports) -> None:
    offered = seen(reports, "optimize")["offered"]
    for vendor in ("Intel XPU", "NVIDIA", "AMD"):
        assert any(vendor in title for title in offered), offered
    assert any("not measured" in title for title in offered), "a quick fix says what is not known"


def test_an_optimization_shows_progress_and_its_evidence(reports: Reports) -> None:
    facts = seen(reports, "optimize")
    assert "Cancel" in facts["progress"]
    assert "correct on interpreter" in facts["evidence"]
    assert "speed not measured" in facts["evidence"], "there is no device here that could time it"
    assert "applied" in facts["told"]


def test_the_confirmed_edit_is_in_the_file(reports: Reports) -> None:
    facts = seen(reports, "optimize")
    changed = [
        line
        for line in difflib.ndiff(facts["before"].splitlines(), facts["after"].splitlines())
        if line[:1] in "+-"
    ]
    assert changed
    ast.parse(facts["after"])


def test_a_cancelled_optimization_stops_and_changes_nothing(reports: Reports) -> None:
    facts = seen(reports, "cancel")
    assert [target.split()[0] for target in facts["targets"]] == ["Intel", "NVIDIA", "AMD"]
    assert facts["secondsToStop"] < 10
    assert facts["unchanged"]
    assert "optimize" in facts["running"]
    assert facts["left"] == []


def test_saving_profiles_the_kernel(reports: Reports) -> None:
    facts = seen(reports, "profile")
    assert "Profile" in facts["unmeasured"] or "Optimize" in facts["unmeasured"]
    assert "registers" in facts["lens"]
    assert "time not measured" in facts["lens"]
    assert "softmax_kernel" in facts["hover"]


def test_the_palette_reaches_the_server(reports: Reports) -> None:
    facts = seen(reports, "commands")
    assert "Tilewright" in facts["status"]
    assert "tilewright" in facts["info"]
