"""The claim that any number of GPUs gives the same tree: its small form, and what it prints."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from claim_parallel import evidence
from parallel_search import compare, compared

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_pretended_gpus_give_one_tree_and_biased_ones_do_not(tmp_path: Path) -> None:
    found = evidence("small", measured=tmp_path / "none.json")
    same, rate, tree = found.findings
    assert same.reached, same
    assert "with an error of its own on each GPU" in same.control
    assert rate.reached is tree.reached is None
    (table,) = found.tables
    assert {row[3] for row in table.rows} == {"yes"}
    for *_, shares in table.rows:
        judged = [int(share) for share in shares.split(", ")]
        assert sum(count > 0 for count in judged) > 1, "several GPUs judged something"


def test_the_rate_of_two_gpus_is_read_and_never_rounded_up(tmp_path: Path) -> None:
    one = {"evaluations": 64, "per_hour": 3000.0}
    file = tmp_path / "two_gpus.json"
    file.write_text(json.dumps({"one": one}))
    _, rate, tree = evidence("small", measured=file).findings
    assert rate.reached is None
    assert tree.reached is None

    agreement = {"both": 60, "same_level": 60, "timed": 50, "intervals_meet": 49}
    parts = {"ratio": 1.79, "first_that_differs": 2, "differing": 9, "slots": [64, 64]}
    same = {"ratio": 1.9, "first_that_differs": None, "differing": 0, "slots": [64, 64]}
    runs = {
        "one": one,
        "two": {"per_hour": 5370.0, "compared": parts},
        "replayed": {"per_hour": 5700.0, "compared": {**same, "verdicts": agreement}},
    }
    file.write_text(json.dumps(runs))
    _, rate, tree = evidence("small", measured=file).findings
    assert rate.reached is False
    assert rate.found == "1.79 times (3000 and 5370)"
    assert tree.reached is True
    assert "the intervals of 49 of 50 contests meet" in tree.found
    assert "two GPUs: 9 slots differ, from generation 2 on" in tree.control


def node(parent: str, name: str, log_speed: float) -> dict[str, Any]:
    return {
        "parent": parent, "idea": f"idea of {name}", "hash": name, "log_speed": log_speed,
        "half_width": 0.01, "state": "alive",
    }  # fmt: skip


def run(tree: dict[str, Any], per_hour: float, low: float, high: float) -> dict[str, Any]:
    verdict = {"level": "faster", "speedup": {"low": low, "high": high}}
    return {
        "tree": tree, "per_hour": per_hour, "found": {"a/root": verdict}, "final": "x",
        "speedup": 2.0,
    }  # fmt: skip


def test_a_comparison_names_the_parents_that_one_tree_alone_has() -> None:
    first = {"1.1": node("root", "a", 0.2), "1.2": node("root", "b", 0.1), "2.1": node("a", "c", 0)}
    second = {
        "1.1": node("root", "a", 0.1),
        "1.2": node("root", "b", 0.2),
        "2.1": node("b", "d", 0),
    }
    found = compared(run(first, 1000, 1.1, 1.2), run(second, 1900, 1.3, 1.4))
    assert found["ratio"] == 1.9
    assert (found["differing"], found["first_that_differs"]) == (1, 2)
    assert [one["text"] for one in found["because"]] == ["a", "b"]
    assert found["because"][0]["log_speeds"][0][0] == 0.2
    assert found["because"][0]["log_speeds"][1][0] == 0.1
    assert found["verdicts"] == {"both": 1, "same_level": 1, "timed": 1, "intervals_meet": 0}
    same = compared(run(first, 1000, 1.1, 1.2), run(first, 1000, 1.15, 1.3))
    assert (same["differing"], same["verdicts"]["intervals_meet"]) == (0, 1)


@pytest.mark.slow
@pytest.mark.triton
def test_a_run_with_given_verdicts_judges_again_and_goes_on_with_those(tmp_path: Path) -> None:
    runs = "one=interpreter", "replayed=interpreter@one"
    file = EXAMPLES / "softmax.py"
    options = Namespace(file=file, budget=2, out=tmp_path / "found.json", runs=runs)
    found = compare(options)
    assert found["one"]["evaluations"] == found["replayed"]["evaluations"] == 2
    assert found["replayed"]["compared"]["differing"] == 0
    assert found["replayed"]["compared"]["verdicts"]["same_level"] == 2
    assert json.loads(options.out.read_text())["one"]["tree"] == found["one"]["tree"]
