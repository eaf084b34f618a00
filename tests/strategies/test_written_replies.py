"""The written replies of the benchmark: each makes the candidate that it is meant to be."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tilewright.agents import analyzer
from tilewright.agents.briefing import Briefing
from tilewright.agents.model import Unusable
from tilewright.devices.client import WorkerDevice
from tilewright.devices.opening import open_device

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
KERNELS = ("attention", "linear_gelu", "rms_norm", "softmax", "swiglu")
UNPARSED = {("softmax", "broken")}


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    import written_replies

    return written_replies


def original(name: str) -> str:
    return (BENCHMARKS / "replies" / f"{name}.py").read_text("utf-8")


def references(text: str) -> list[str]:
    """The definitions that results are compared with."""
    tree = ast.parse(text)
    return [
        ast.unparse(node)
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in ("reference", "Model")
    ]


@pytest.mark.parametrize("name", KERNELS)
def test_each_reply_makes_a_candidate(written: ModuleType, name: str) -> None:
    before = original(name)
    texts = {kind: written.candidate(name, kind) for kind in written.KINDS}
    assert not any(isinstance(text, Unusable) for text in texts.values())
    assert len({before, *texts.values()}) == 1 + len(texts)
    for kind, text in texts.items():
        if (name, kind) in UNPARSED:
            with pytest.raises(SyntaxError):
                ast.parse(text)
        else:
            assert references(text) == references(before) != []


@pytest.mark.parametrize("name", KERNELS)
def test_the_analysis_names_an_issue_that_comes_first(written: ModuleType, name: str) -> None:
    text = original(name)
    found = analyzer.analysis(written.reply(name, "analysis"), Briefing(f"{name}.py", text, text))
    assert not isinstance(found, Unusable)
    (issue,) = found.issues
    assert issue.stage.value == "algorithmic"
    assert issue.evidence in text.splitlines()[issue.line - 1]


@pytest.fixture(scope="module")
def device() -> Iterator[WorkerDevice]:
    device = open_device("interpreter")
    yield device
    device.close()


def test_replies_come_in_their_order_and_then_none(written: ModuleType) -> None:
    answer = written.script("softmax")

    def asked(role: str) -> str:
        request = written.Request(0, "/v1/chat/completions", {}, {"model": role})
        text = answer(request, 0).text
        assert text is not None
        return str(text)

    assert asked("analyzer") == written.reply("softmax", "analysis")
    given = [asked("optimizer") for _ in written.KINDS]
    assert given == [written.reply("softmax", kind) for kind in written.KINDS]
    assert "no further change" in asked("optimizer")


def test_what_a_run_gave_is_compared_with_what_was_wanted(written: ModuleType) -> None:
    def trial(kind: str, *, kept: bool) -> dict[str, object]:
        opening = " ".join(written.reply("attention", kind).split())[:80]
        return {"proposer": "model:optimizer", "rationale": opening, "kept": kept, "reason": kind}

    def result(low: float, *, cheat: bool = False) -> dict[str, object]:
        speedup = {"value": 6, "low": low, "high": 7, "original_us": 60, "candidate_us": 10}
        kept = {"wrong": False, "cheat": cheat, "broken": False, "good": True}
        trials = [trial(kind, kept=kept[kind]) for kind in written.KINDS]
        return {"trials": trials, "speedup": speedup, "level": "faster", "notes": []}

    assert written.loop_row("attention", result(5.5))["as_wanted"]
    assert not written.loop_row("attention", result(4.5))["as_wanted"]
    assert not written.loop_row("attention", result(5.5, cheat=True))["as_wanted"]
    untried = result(5.5) | {"trials": [trial("good", kept=True)]}
    assert not written.loop_row("attention", untried)["as_wanted"]


@pytest.mark.triton
@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_good_ones_compile_for_the_chip_without_spills(
    written: ModuleType, device: WorkerDevice, name: str
) -> None:
    row = written.verified(name, "good", device, "cuda:90")
    assert row["level"] == "correct", row
    assert row["spilled"] == 0


@pytest.mark.triton
@pytest.mark.slow
def test_the_loop_refuses_three_replies_and_keeps_the_fourth(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCHMARKS / "written_replies.py"), "--device", "interpreter"]
    command += ["--target", "cuda:90", "--only", "softmax", "--out", str(tmp_path)]
    command += ["--home", str(tmp_path / "home")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    (row,) = json.loads((tmp_path / "written_replies.json").read_text("utf-8"))
    kept = {kind: reply["kept"] for kind, reply in row["replies"].items()}
    assert kept == {"wrong": False, "cheat": False, "broken": False, "good": True}
    assert row["level"] == "correct"
    assert row["speedup"] is None
    result = json.loads((tmp_path / "softmax.json").read_text("utf-8"))
    assert "one kernel" in result["final"]
    # The server has ended, and the files are gone: the record alone must do.
    command = [sys.executable, "-m", "tilewright", "replay", "last", "--format", "json"]
    home = {**os.environ, "TILEWRIGHT_HOME": str(tmp_path / "home")}
    replayed = subprocess.run(command, capture_output=True, text=True, timeout=600, env=home)
    assert replayed.returncode == 0, replayed.stdout[-2000:] + replayed.stderr[-2000:]
    assert len(json.loads(replayed.stdout)["result"]["models"]["calls"]) == len(
        result["models"]["calls"]
    )
