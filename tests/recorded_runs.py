"""Runs on record as a search with models leaves them, written without a device or a model."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tilewright.devices.model import DeviceInfo
from tilewright.evaluation.model import (
    Candidate,
    Evaluation,
    Level,
    Speedup,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.knowledge.stages import Stage
from tilewright.models.model import Reply
from tilewright.problems.model import Case, Entry, EntryKind, Input, Problem
from tilewright.serialize import dump
from tilewright.store import Ledger, Store
from tilewright.strategies.model import Trial
from tilewright.strategies.optimize import OptimizeRequest
from tilewright.strategies.present import dump_trial
from tilewright.targets import parse_target

CUDA = parse_target("cuda:90")
H200 = DeviceInfo("cuda:0", "NVIDIA H200", CUDA, True, "2.11", "3.6.0", "3.12")
CASE = Case(
    "bench-gpu", 0, {"N": 4096}, "float16", (Input("x", (4096, 4096), "float16"),),
    flop=2 * 4096.0**3, mem_bytes=3 * 2 * 4096.0**2,
)  # fmt: skip
PROBLEM = Problem(
    "matmul.yaml", "0" * 64, Entry(EntryKind.FUNCTION, "matmul"), None,
    {CASE.category: (CASE,)}, CASE.category,
)  # fmt: skip
ORIGINAL = "def matmul(a, b):\n    tile = 32\n    return launch(a, b, tile)\n"
SYSTEM = "## 1. TASK\n\nMake the kernel faster.\n\n## 2. CHIP\n\nAn H200.\n"


def text(tile: int, comment: str = "") -> str:
    return ORIGINAL.replace("32", str(tile)) + (f"# {comment}\n" if comment else "")


def report(registers: int, *, ok: bool = True) -> dict[str, Any]:
    return {
        "kernel": "matmul_kernel", "ok": ok, "registers": registers, "spill_bytes": 0,
        "shared_bytes": 1024 * registers,
    }  # fmt: skip


def evaluation(
    new: str, old: str, before: float, after: float | None, registers: int = 64
) -> Evaluation:
    """A correct candidate with these times in microseconds; None: its results are wrong."""
    compiled = StepResult(
        StepName.COMPILE, StepStatus.PASSED, data={"reports": [report(registers)]}
    )
    names = text_hash(new), text_hash(old)
    if after is None:
        wrong = StepResult(StepName.CORRECTNESS, StepStatus.FAILED, "9 of 10 elements differ")
        return Evaluation(*names, Level.REJECTED, (compiled, wrong))
    ratio = before / after
    speedup = Speedup(
        ratio, ratio * 0.98, ratio * 1.02, 0.99, 0.01, before, after, names[1], H200.id,
        CASE.name, 20,
    )  # fmt: skip
    passed = StepResult(StepName.CORRECTNESS, StepStatus.PASSED)
    if speedup.is_faster:
        speed = StepResult(StepName.SPEED, StepStatus.PASSED)
        return Evaluation(*names, Level.FASTER, (compiled, passed, speed), speedup)
    speed = StepResult(StepName.SPEED, StepStatus.FAILED, "not faster than its input")
    return Evaluation(*names, Level.CORRECT, (compiled, passed, speed), speedup)


@dataclass
class Recording:
    """Writes the units and trials of one run."""

    ledger: Ledger
    trials: list[Trial] = field(default_factory=list)

    def judge(self, new: str, old: str, found: Evaluation) -> None:
        described = {"candidate": self.ledger.keep(new), "baseline": self.ledger.keep(old)}
        key = f"evaluate:{text_hash(new)}:{text_hash(old)}"
        self.ledger.once("evaluate", key, described, lambda: dump(found))

    def call(self, key: str, prompt: str, answer: str, attempt: int) -> str:
        messages = [("system", SYSTEM), ("user", f"## 4. KERNEL\n\n{prompt}\n")]
        described = {
            "role": "optimizer", "model": "small", "stage": "device_specific", "try": attempt,
            "sample": 0, "messages": [[role, self.ledger.keep(said)] for role, said in messages],
        }  # fmt: skip
        reply = Reply(answer, "stop", "small-1", 1000, 600, 200, 0.0125, 2.5)
        self.ledger.once("call", f"call:{key}", described, lambda: dump(reply))
        return key

    def trial(self, new: str, old: str, found: Evaluation, *, call: str | None = None) -> None:
        self.judge(new, old, found)
        candidate = Candidate(
            new, text_hash(old), "model:small" if call else "rewrite:tiles",
            f"Change {len(self.trials) + 1}", Stage.DEVICE_SPECIFIC, call=call,
        )  # fmt: skip
        kept = found.level is Level.FASTER
        failed = found.failed
        reason = failed.message if failed else "faster"
        number = len(self.trials) + 1
        trial = Trial(number, Stage.DEVICE_SPECIFIC, candidate, found, kept, reason)
        self.trials.append(trial)
        self.ledger.put(f"trial:{number}", dump_trial(trial))


def search(ledger: Ledger) -> list[Trial]:
    """Four trials: a rewrite and a model's second try are kept, a wrong one and a slow one not."""
    made = Recording(ledger)
    made.judge(ORIGINAL, ORIGINAL, evaluation(ORIGINAL, ORIGINAL, 1000, 1000, registers=32))
    made.trial(text(64), ORIGINAL, evaluation(text(64), ORIGINAL, 1000, 500))
    first = made.call("a" * 64, "tile = 64", "wrong <b>answer</b>", 1)
    made.trial(text(7), text(64), evaluation(text(7), text(64), 500, None), call=first)
    second = made.call("b" * 64, "tile = 64, and what went wrong", "tile = 128", 2)
    made.trial(text(128), text(64), evaluation(text(128), text(64), 500, 250, 128), call=second)
    made.trial(text(256), text(128), evaluation(text(256), text(128), 250, 400))
    ledger.put("plan", ["device_specific"])
    return made.trials


def record(store: Store, *, finished: bool = True, path: str = "matmul.py") -> str:
    """One run on record; its id."""
    request = OptimizeRequest(Path(path), ORIGINAL, PROBLEM, CUDA, 64)
    device: Any = type("Recorded", (), {"info": H200})()
    with store.run(f"key of {path}", path, request.record(device)) as (run, ledger):
        request.keep(ledger)
        trials = search(ledger)
        if finished:
            store.finish(run.id, _result(run.id, path, trials))
        ledger.close()
    return run.id


def _result(run: str, path: str, trials: list[Trial]) -> dict[str, Any]:
    final = evaluation(text(128), ORIGINAL, 1000, 250, 128)
    assert final.speedup is not None
    speedup = dump(final.speedup)
    return {
        "run": run, "path": path, "target": "cuda:90", "device": "cuda:0", "changed": True,
        "final": text(128),
        "diff": "--- a/matmul.py\n+++ b/matmul.py\n@@ -2,1 +2,1 @@\n-32\n+128\n",
        "plan": ["device_specific"], "issues": [], "remaining": [],
        "trials": [dump_trial(trial) for trial in trials], "level": "faster",
        "screened_gain": None, "speedup": speedup,
        "certificate": {
            "level": "faster", "steps": [dump(s) for s in final.steps], "speedup": speedup,
        },
        "notes": ["a note"], "harness_faults": [], "seconds": 12.5,
        "models": {
            "limits": {}, "ended": None, "suspected": [], "calls": [],
            "spent": {
                "calls": 2, "calls_cached": 0, "tokens_in": 2000, "tokens_cached": 1200,
                "tokens_out": 400, "dollars": 0.025, "seconds": 5.0,
            },
        },
    }  # fmt: skip
