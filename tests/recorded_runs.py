"""Runs on record as a search with models leaves them, written without a device or a model."""

import math
from dataclasses import dataclass, field, replace
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
from tilewright.memory.model import (
    Experience,
    Measured,
    Origin,
    Outcome,
    Provenance,
    Recalled,
    Signature,
)
from tilewright.models.model import Reply
from tilewright.problems.model import Case, Entry, EntryKind, Input, Problem
from tilewright.search.node import Idea, IdeaKind, Node, State
from tilewright.search.spec import StrategySpec
from tilewright.serialize import dump
from tilewright.store.ledger import Ledger
from tilewright.store.store import Store
from tilewright.strategies.model import Trial
from tilewright.strategies.optimize import OptimizeRequest
from tilewright.strategies.present import dump_trial
from tilewright.targets.registry import parse_target

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

    def node(
        self,
        new: str,
        old: str,
        us: float | None,
        cell: tuple[int, ...],
        *,
        best: bool = False,
        timed: bool = True,
        memory: bool = False,
        generation: int = 1,
    ) -> None:
        """A trial of a tree, whose original takes 1000 us; a text of ``us`` None is wrong."""
        found = evaluation(new, old, 1000, us)
        found = found if timed else replace(found, speedup=None)
        self.judge(new, old, found)
        number = len(self.trials) + 1
        name = f"rewrite:tiles@memory:{RECALLED.entry.id}" if memory else f"rewrite:tiles@{number}"
        idea = Idea(name, "Change the tile.", IdeaKind.MEMORY if memory else IdeaKind.REWRITE)
        node = Node(
            text_hash(new), new, text_hash(old), idea, f"{generation}.{number}", generation,
            1, found,
            -math.inf if us is None else math.log(1000 / us), 0.01, cell,
            State.DEAD if us is None else State.ALIVE, best, timed,
        )  # fmt: skip
        candidate = Candidate(new, text_hash(old), "rewrite:tiles", f"Change {number}")
        trial = Trial(number, Stage.DISCOVERY, candidate, found, best, "placed", node=node)
        self.trials.append(trial)
        self.ledger.put(f"trial:{number}", dump_trial(trial))


RECALLED = Recalled(
    Experience(
        Outcome.HELPED, "rewrite:tiles", "suboptimal_tile_size", Stage.DEVICE_SPECIFIC,
        "A larger tile <of> a product", "fewer loads", Signature("triton", dot=True),
        Measured(1.31, 1.27, 1.36, "NVIDIA H200", "bench-gpu[0]"),
        Provenance("/home/me/other", "kernels.py", "0" * 32, "", Origin.MINED),
    ),
    4.5,
    ("same issue",),
)  # fmt: skip


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


def record_tree(store: Store, *, timed: bool = True) -> str:
    """A finished search in generations: a slower text is the parent of the best; its id."""
    strategy = StrategySpec(strategy="grid")
    request = OptimizeRequest(Path("matmul.py"), ORIGINAL, PROBLEM, CUDA, 8, strategy=strategy)
    device: Any = type("Recorded", (), {"info": H200})()
    with store.run("key of a tree", "matmul.py", request.record(device)) as (run, ledger):
        request.keep(ledger)
        made = Recording(ledger)
        slow, wrong, best = text(64), text(7), text(128)
        made.node(slow, ORIGINAL, 900.0, (1, 1, 0), timed=timed)
        made.node(wrong, ORIGINAL, None, (0, 1, 0), timed=timed)
        made.node(best, slow, 400.0, (2, 1, 3), best=True, timed=timed, memory=True)
        entries = [dump(RECALLED)] if timed else []
        ledger.once("recall", "recall:first", {}, lambda: entries)
        value = {
            **_result(run.id, "matmul.py", made.trials),
            "search": {"spec": strategy.dump(), "ended": ["grid: the budget is spent"]},
        }
        store.finish(run.id, value if timed else {**value, "speedup": None})
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
