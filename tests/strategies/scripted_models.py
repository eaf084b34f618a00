"""A cascade that reads times from texts, and models whose replies are a function of the prompt."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tilewright.agents.briefing import Briefing
from tilewright.agents.model import Proposal, ProposedIssue, Step, Unusable
from tilewright.agents.planner import Plan
from tilewright.agents.prompt import Prompt, whole
from tilewright.errors import Stopped
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
from tilewright.evaluation.workbench import Capture
from tilewright.knowledge.stages import Stage, order_stages
from tilewright.memory.model import Experience, Measured, Origin, Provenance, Signature
from tilewright.memory.model import Outcome as RunOutcome
from tilewright.models.model import CallRequest, ModelChoice, ModelError, Reply, Role, Spent
from tilewright.models.settings import Ensemble
from tilewright.problems.model import Case, Entry, EntryKind, Problem
from tilewright.store.ledger import Ledger
from tilewright.strategies import advice, briefing, cover
from tilewright.strategies.model import ProposalRequest, Proposer
from tilewright.strategies.observer import Observer, Silent
from tilewright.strategies.run_models import run_models
from tilewright.strategies.staged import StagedSearch

CASE = Case("bench-gpu", 0, {}, None, ())
PROBLEM = Problem(
    "kernel.yaml",
    "0" * 64,
    Entry(EntryKind.FUNCTION, "run"),
    None,
    {CASE.category: (CASE,)},
    CASE.category,
)
SMALL, OTHER = (ModelChoice(name, "http://localhost:1/v1") for name in ("small", "other"))
QUIET = Silent()
FAULTY = 1e-3
Script = Callable[[CallRequest, int], "str | ModelError"]


def source(us: float) -> str:
    return f"TIME = {float(us)}\n"


def time_of(text: str) -> float:
    return float(text.split("=")[1].split("#")[0])


@dataclass
class ScriptedCascade:
    """Stands for the cascade: a text says how long it takes; a negative time is a wrong result.

    Attributes:
        times: whether the device can time.
        dies_after: judgements after which the process is interrupted.
        faulty: times at which the harness fails.
        judged: (text, baseline), in order; ``whole``: the texts that got every check.
    """

    original: str = source(100)
    path: str = "kernel.py"
    target: None = None
    triton_version: None = None
    times: bool = True
    dies_after: int | None = None
    faulty: tuple[float, ...] = (FAULTY,)
    judged: list[tuple[str, str]] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)

    @property
    def bench(self) -> Any:
        return SimpleNamespace(
            device=SimpleNamespace(info=SimpleNamespace(can_time=self.times)),
            problem=PROBLEM,
            capture=lambda text, case: Capture(()),
        )

    def no_problem(self) -> str:
        return "there is no problem"

    def judge(self, text: str, baseline: str, *, thorough: bool = True, **_: object) -> Evaluation:
        if self.dies_after is not None and len(self.judged) >= self.dies_after:
            raise KeyboardInterrupt
        self.judged.append((text, baseline))
        self.whole += [text] if thorough else []
        us, before = time_of(text), time_of(baseline)
        if us in self.faulty:
            broken = StepResult(
                StepName.CORRECTNESS, StepStatus.ERROR, "a fault of ours", data={"cause": "harness"}
            )
            return Evaluation(text_hash(text), text_hash(baseline), Level.COMPILED, (broken,))
        if us < 0:
            wrong = StepResult(StepName.CORRECTNESS, StepStatus.FAILED, "output 0 differs")
            return Evaluation(text_hash(text), text_hash(baseline), Level.REJECTED, (wrong,))
        if not self.times:
            step = StepResult(StepName.SPEED, StepStatus.SKIPPED, "not measured")
            return Evaluation(text_hash(text), text_hash(baseline), Level.CORRECT, (step,))
        ratio = before / us
        speedup = Speedup(
            ratio, ratio * 0.98, ratio * 1.02, 0.99, 0.01, before, us, text_hash(baseline),
            "a GPU", CASE.name, 20,
        )  # fmt: skip
        status = StepStatus.PASSED if speedup.is_faster else StepStatus.FAILED
        step = StepResult(StepName.SPEED, status, "" if speedup.is_faster else "not faster")
        level = Level.FASTER if speedup.is_faster else Level.CORRECT
        return Evaluation(text_hash(text), text_hash(baseline), level, (step,), speedup)


@dataclass
class ScriptedClient:
    """Answers by a function of the request and its number; keeps what it was sent."""

    script: Script
    before: Spent = field(default_factory=Spent)
    dies_after: int | None = None
    sent: list[CallRequest] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    cancelled: bool = False
    closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def spent(self) -> Spent:
        return Spent(calls=self.before.calls + len(self.sent), dollars=0.0)

    def complete(self, request: CallRequest) -> Reply:
        with self._lock:
            if self.dies_after is not None and len(self.sent) >= self.dies_after:
                raise KeyboardInterrupt
            if self.cancelled:
                raise Stopped
            self.sent.append(request)
            number = len(self.sent)
        answer = self.script(request, number)
        if isinstance(answer, ModelError):
            raise answer
        return Reply(answer, "stop", request.choice.name, 100, 0, 10, 0.001, 0.5)

    def cancel(self) -> None:
        self.cancelled = True

    def close(self) -> None:
        self.closed = True

    def roles(self) -> list[Role]:
        return [request.role for request in self.sent]


class Fixed:
    """Proposes the same texts in one stage whatever it is given."""

    name = "fixed"
    independent = True

    def __init__(self, *times: float, stage: Stage = Stage.MEMORY_ACCESS) -> None:
        self._times = times
        self._stage = stage

    def propose(self, request: ProposalRequest) -> Iterator[Candidate]:
        if request.stage is self._stage:
            for us in self._times:
                parent = text_hash(request.module.text)
                yield Candidate(source(us), parent, self.name, f"{us} us")


def ensemble(*choices: ModelChoice, **settings: Any) -> Ensemble:
    return Ensemble(dict.fromkeys(Role, choices or (SMALL,)), **settings)


def issue(stage: Stage, title: str = "slow", evidence: str = "TIME") -> ProposedIssue:
    return ProposedIssue(None, title, stage, 3, 1, evidence, "make it fast", 1.5)


@dataclass
class Roles:
    """What the roles' parsers give back, in place of parsers of real replies.

    A prompt has one section with the stage, the text and the steps, one line each; a reply of the
    optimizer is a time, or a word that is no reply.
    """

    issues: tuple[ProposedIssue, ...] | Unusable = (issue(Stage.MEMORY_ACCESS),)
    order: tuple[Stage, ...] = ()
    skipped: tuple[Stage, ...] = ()
    longest: int = 100

    def _analysed(self, reply: str, briefing: Any) -> Any:
        given = self.issues
        return given if isinstance(given, Unusable) else advice.analyzer.Analysis(given)

    def install(self, monkeypatch: Any) -> None:
        monkeypatch.setattr(cover.optimizer, "build", self._build)
        monkeypatch.setattr(cover.optimizer, "parse", parsed)
        monkeypatch.setattr(advice.analyzer, "build", self._analysis)
        monkeypatch.setattr(advice.analyzer, "analysis", self._analysed)
        monkeypatch.setattr(advice.analyzer, "SCHEMA", {}, raising=False)
        monkeypatch.setattr(advice.planner, "build", self._planning)
        monkeypatch.setattr(advice.planner, "parse", self._plan)
        monkeypatch.setattr(advice.planner, "SCHEMA", {}, raising=False)
        monkeypatch.setattr(cover.observation, "words", observed)
        monkeypatch.setattr(briefing, "profile_source", profiled)

    def _build(
        self,
        told: Briefing,
        stage: Stage,
        steps: Sequence[Step] = (),
        limit: int | None = None,
        role: Role = Role.OPTIMIZER,
    ) -> Prompt:
        lines = [stage.value, told.text, *(step.observation for step in steps[-self.longest :])]
        lines += [f"limit {limit}"] if limit else []
        return Prompt(role, (whole(4, "all", "\n".join(lines)),))

    def _analysis(self, told: Briefing, limit: int | None = None) -> Prompt:
        return Prompt(Role.ANALYZER, (whole(4, "all", f"{told.text}{limit or ''}"),))

    def _planning(
        self, told: Briefing, stages: Sequence[Stage], limit: int | None = None
    ) -> Prompt:
        del limit
        return Prompt(Role.PLANNER, (whole(4, "all", f"{told.text}{[*map(str, stages)]}"),))

    def _plan(self, reply: str, stages: Sequence[Stage]) -> Plan:
        del reply
        return Plan(order_stages(self.order or stages), self.skipped)


def parsed(reply: str, told: Briefing) -> Proposal | Unusable:
    try:
        us = float(reply)
    except ValueError:
        return Unusable(f"{reply} is no time", "I thought")
    return Proposal(source(us), f"thought of {us}", f"take {us} us")


def profiled(text: str, *given: object, counters: bool, verify: bool) -> dict[str, Any]:
    """A profile that says which text it is of, and whether counters were read."""
    del given
    finding = {"text": f"profile of {text.strip()}", "weight": 1.0, "line": None}
    finding["text"] += ", counted" if counters else ""
    kernel = {"name": "k", "time": None, "bottleneck": None, "facts": [], "findings": [finding]}
    return {"kernels": [kernel], "call": None}


def observed(found: Evaluation, text: str, before: Evaluation | None = None) -> str:
    assert before is not None
    assert found.candidate == text_hash(text)
    ended = found.failed or found.error
    return ended.message if ended else found.level.value


@dataclass
class Found:
    """A search that has ended, with what it asked."""

    search: StagedSearch
    client: ScriptedClient
    notes: list[str]

    @property
    def tree(self) -> list[tuple[str, float | None, bool]]:
        return [
            (
                t.candidate.proposer,
                None if t.candidate.unusable else time_of(t.candidate.text),
                t.kept,
            )
            for t in self.search.trials
        ]


def searched(
    ledger: Ledger,
    client: ScriptedClient,
    cascade: ScriptedCascade,
    asked: Ensemble,
    *proposers: Proposer,
    budget: int = 50,
    observer: Observer = QUIET,
) -> Found:
    """Go through all stages."""
    notes: list[str] = []

    def connect(_: Ensemble, before: Spent) -> ScriptedClient:
        client.before = before
        return client

    models = run_models(asked, connect, cascade, Path("kernel.py"), ledger, notes.append)  # type: ignore[arg-type]
    assert models is not None
    search = StagedSearch(
        cascade,
        (*proposers, models.proposer),
        ledger,
        observer,
        budget,
        models,  # type: ignore[arg-type]
    )
    search.run()
    return Found(search, client, notes)


def prompt_of(request: CallRequest) -> str:
    return "\n".join(message.text for message in request.messages)


DIFF = "--- a/k.py\n+++ b/k.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


def learned(key: str, diff: str = DIFF) -> Experience:
    return Experience(
        RunOutcome.HELPED, key, None, None, "Do as I say", "", Signature("triton"),
        Measured(1.5, 1.4, 1.6, "a GPU", "bench"),
        Provenance("/p", "k.py", "0", "run", Origin.CONTEST), diff=diff, private=True,
    )  # fmt: skip
