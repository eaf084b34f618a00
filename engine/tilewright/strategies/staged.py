"""The staged strategy: analyse, plan, and take one stage after the other, keeping what wins.

Every decision follows from the source, the seed and the evaluations on record, so that a run
that was killed takes the same path again and repeats no finished evaluation.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from functools import partial
from typing import Any

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext, EntryFacts, Issue
from tilewright.devices.model import is_neuron_target
from tilewright.devices.pool import share_of, width
from tilewright.evaluation.cascade import Cascade, silent
from tilewright.evaluation.model import (
    Candidate,
    Evaluation,
    Level,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.harness_fault import HarnessFaultError
from tilewright.knowledge.stages import Stage
from tilewright.problems.arguments import entry_arguments
from tilewright.serialize import dump, load
from tilewright.source import parse_module
from tilewright.store.ledger import BrokenOffError, Ledger
from tilewright.strategies.briefing import Position
from tilewright.strategies.ideas.text_facts import TextFacts
from tilewright.strategies.model import ProposalRequest, Proposer, SearchUse, Trial
from tilewright.strategies.observer import Observer, Standing
from tilewright.strategies.planner import replan
from tilewright.strategies.present import dump_trial
from tilewright.strategies.run_models import RunModels
from tilewright.strategies.search_memory import SearchMemory
from tilewright.strategies.verdict import decide
from tilewright.targets.model import LaunchFacts

_MOST_FAULTS = 3


class StagedSearch:
    """One walk through the stages. Its public attributes hold the state reached so far.

    Args:
        budget: the most candidates to judge; a reply that gives no text is not judged.
        stages: those that are gone through if they have issues; None: all.
        models: add issues and order the stages; None: the detectors alone decide.
    """

    def __init__(
        self,
        cascade: Cascade,
        proposers: Sequence[Proposer],
        ledger: Ledger,
        observer: Observer,
        budget: int,
        models: RunModels | None = None,
        stages: frozenset[Stage] | None = None,
    ) -> None:
        self.trials: list[Trial] = []
        self.plan: tuple[Stage, ...] = ()
        self.faults: list[StepResult] = []
        self.memory: SearchMemory | None = None
        self._facts: dict[str, TextFacts] = {}
        self._cascade = cascade
        self._proposers = proposers
        self._ledger = ledger
        self.observer = observer
        self._budget = budget
        self._models = models
        self._stages = stages

    @property
    def finalists(self) -> tuple[str, ...]:
        """The texts to measure against the original, the best first; one that holds is returned."""
        return (self.current,) if self.current != self._cascade.original else ()

    @property
    def reached(self) -> Evaluation | None:
        """The evaluation of the text reached so far; None for the original."""
        kept = (trial.evaluation for trial in reversed(self.trials) if trial.kept)
        return next(kept, None)

    def use(self) -> SearchUse | None:
        """How a search that is more than stages went."""
        return None

    @property
    def current(self) -> str:
        """The text reached so far; it follows from the trials, so a stop finds both in step."""
        kept = (trial.candidate.text for trial in reversed(self.trials) if trial.kept)
        return next(kept, self._cascade.original)

    @property
    def can_time(self) -> bool:
        bench = self._cascade.bench
        return bench is not None and bench.device.info.can_time

    def issues(self, text: str) -> tuple[Issue, ...]:
        """What the instant tier says of ``text``, told the launches it makes on the problem."""
        return analyze(parse_module(text, self._cascade.path), self._context(text))

    def facts(self, text: str) -> TextFacts:
        """What the instant tier says of ``text``, kept for the next time."""
        if text not in self._facts:
            context = self._context(text)
            module = parse_module(text, self._cascade.path)
            self._facts[text] = TextFacts(module, context, analyze(module, context))
        return self._facts[text]

    def _context(self, text: str) -> AnalysisContext:
        cascade = self._cascade
        return AnalysisContext(
            cascade.target, cascade.triton_version, self._launches(text), self._entry()
        )

    def _entry(self) -> EntryFacts | None:
        """What the problem calls, where it is an NKI kernel."""
        bench = self._cascade.bench
        if bench is None or not self._is_neuron:
            return None
        arguments = entry_arguments(bench.problem)
        return None if arguments is None else EntryFacts(bench.problem.entry.name, arguments)

    @property
    def _is_neuron(self) -> bool:
        """Whether the kernels are NKI kernels, of which no launch is captured."""
        target = self._cascade.target
        return target is not None and is_neuron_target(target)

    def _launches(self, text: str) -> tuple[LaunchFacts, ...]:
        bench = self._cascade.bench
        if bench is None or self._is_neuron:
            return ()
        cases = bench.problem.compiled_cases()

        def captured() -> Any:
            return [dump(one) for case in cases for one in bench.capture(text, case).launches]

        found = self._ledger.once("capture", f"capture:{text_hash(text)}", {}, captured)
        return tuple(load(LaunchFacts, launch) for launch in found)

    def run(self) -> None:
        """Go through all stages; may be interrupted by ``Stopped`` at any point."""
        done: list[Stage] = []
        todo = self.plan = self.planned(done)
        while todo:
            stage = todo[0]
            share = 5 + 85 * len(done) // (len(done) + len(todo))
            self.report(share, f"stage {stage.value}", stage)
            self._ledger.put("plan", [one.value for one in self.plan])
            self._work_on(stage, share)
            done.append(stage)
            todo = self.planned(done)
            self.plan = (*done, *todo)
        self._look_again()

    def planned(self, done: Sequence[Stage]) -> tuple[Stage, ...]:
        """The stages still to do with the present text, in a legal order.

        Models are not asked where no candidate may be judged any more.
        """
        if self._stages is not None:
            issues = [one for one in self.issues(self.current) if one.stage in self._stages]
            return replan(issues, done)
        always = (Stage.AUTOTUNING,) if self.can_time else ()
        if self._models is None or not self._is_left:
            return replan(self.issues(self.current), done, always)
        return self._models.adviser.plan(self.position(), done, always)

    def cancel(self) -> None:
        """End model calls that are in flight."""
        if self._models is not None:
            self._models.calls.cancel()

    def position(self) -> Position:
        """What is known of the present text."""
        context = self._context(self.current)
        module = parse_module(self.current, self._cascade.path)
        return Position(module, context, analyze(module, context), self.trials, self._present)

    def _present(self) -> Evaluation:
        """What the cascade finds of the present text."""
        return self.evaluate(self.current, self.current, "baseline")

    def report(
        self, percent: int, message: str, stage: Stage | None = None, attempt: int | None = None
    ) -> None:
        """Tell the observer what is being done, and where the run stands."""
        spent = self._models.calls.spent if self._models is not None else None
        standing = Standing(stage, attempt, self._best(), spent, self._judged_count, self._budget)
        self.observer.progress(percent, message, standing)

    def _best(self) -> float | None:
        """The product of the speed-ups that were kept; None where one was not timed."""
        kept = [trial.evaluation.speedup for trial in self.trials if trial.kept]
        if not kept or None in kept:
            return None
        return math.prod(speedup.value for speedup in kept if speedup is not None)

    def _look_again(self) -> None:
        """Rewrites that gained nothing on a poorly launched kernel may gain on a tuned one."""
        changed = [t.number for t in self.trials if t.kept]
        if not self.can_time or not changed or self._stages is not None:
            return
        tied = dict.fromkeys(
            trial.stage
            for trial in self.trials
            if trial.number < changed[-1] and not trial.kept and trial.evaluation.speedup
        )
        for stage in tied:
            if stage is not Stage.AUTOTUNING:
                self.report(90, f"a second look at {stage.value}", stage)
                self._work_on(stage, 90)

    @property
    def _is_left(self) -> bool:
        """Whether another candidate may be judged."""
        return self._judged_count < self._budget

    @property
    def _judged_count(self) -> int:
        """Candidates that were judged; a reply that gave no text was not."""
        return sum(not trial.candidate.unusable for trial in self.trials)

    def _work_on(self, stage: Stage, share: int) -> None:
        seen = {text_hash(self.current)}
        progressed = True
        while progressed and self._is_left:
            progressed = False
            for candidate in self._candidates(self.request(stage, share), seen):
                seen.add(candidate.hash)
                if self._try(candidate, stage) or not self._is_left:
                    progressed = True
                    break

    def request(self, stage: Stage, share: int = 0) -> ProposalRequest:
        """What the proposers are given of a stage, as things are."""
        position = self.position()

        def attempt(number: int) -> None:
            self.report(share, f"stage {stage.value}", stage, number)

        return ProposalRequest(
            position.module,
            tuple(issue for issue in position.issues if issue.stage is stage),
            stage,
            position.context,
            self.trials,
            self._present,
            attempt,
            tuple(issue for issue in position.issues if issue.stage is not stage),
        )

    def _candidates(self, request: ProposalRequest, seen: set[str]) -> Iterator[Candidate]:
        for proposer in self._proposers:
            new = unseen(proposer.propose(request), seen)
            if self._width > 1 and proposer.independent:
                look = partial(self._look_at, self.current, self._thorough(request.stage))
                yield from ahead(new, look, self._width)
            else:
                yield from new

    @property
    def _width(self) -> int:
        bench = self._cascade.bench
        return width(bench.device) if bench else 1

    def _thorough(self, stage: Stage) -> bool:
        """Whether what is not faster may be kept, and so needs every check made."""
        return stage is Stage.CORRECTNESS or not self.can_time

    def _look_at(self, baseline: str, thorough: bool, candidate: Candidate) -> None:
        """Have a candidate judged on the GPU with the least to do; what comes of it is on record.

        Both are timed on that GPU. What the run ends with is measured once more on the first one.
        """
        bench = self._cascade.bench
        assert bench is not None
        with share_of(bench.device) as device:
            cascade = copy(self._cascade)
            cascade.bench = bench.on_device(device)
            self._judged(cascade, candidate.text, baseline, candidate.proposer, thorough)

    def _try(self, candidate: Candidate, stage: Stage) -> bool:
        before = self._present()
        evaluation = self._evaluation(candidate, stage)
        verdict = decide(
            stage,
            before,
            evaluation,
            can_time=self.can_time,
            fixes=evaluation.level.reaches(Level.CORRECT) and self._fixes(candidate, stage),
            promise=candidate.promise,
        )
        number, kept, reason = len(self.trials) + 1, verdict.kept, verdict.reason
        trial = Trial(number, stage, candidate, evaluation, kept, reason, verdict.fixes)
        self._keep(trial)
        return verdict.kept

    def _keep(self, trial: Trial) -> None:
        """Put a trial on record; ends the search where faults of the harness repeat."""
        self.trials.append(trial)
        self._ledger.put(f"trial:{trial.number}", dump_trial(trial))
        if self.memory is not None:
            self.memory.learn(trial)
        self.observer.trial(trial)
        if trial.evaluation.harness_fault is not None:
            self.faults.append(trial.evaluation.harness_fault)
        self._stop_at_faults()

    def _fixes(self, candidate: Candidate, stage: Stage) -> bool:
        """Whether a candidate fixes a fault of its stage: of a model's, the detectors decide."""
        if stage is not Stage.CORRECTNESS or candidate.call is None:
            return stage is Stage.CORRECTNESS
        faults = [
            sum(issue.stage is stage for issue in self.issues(text))
            for text in (self.current, candidate.text)
        ]
        return faults[1] < faults[0]

    def _evaluation(self, candidate: Candidate, stage: Stage) -> Evaluation:
        if not candidate.unusable:
            self.observer.judging(candidate, stage)
            thorough = self._thorough(stage)
            proposer, current = candidate.proposer, self.current
            return self._judged(self._cascade, candidate.text, current, proposer, thorough)
        refused = StepResult(StepName.STRUCTURE, StepStatus.FAILED, candidate.unusable)
        return Evaluation(candidate.hash, text_hash(self.current), Level.REJECTED, (refused,))

    def _stop_at_faults(self) -> None:
        """Raise the harness's fault where it has met so many candidates in a row."""
        last = [trial.evaluation.harness_fault for trial in self.trials[-_MOST_FAULTS:]]
        if len(last) == _MOST_FAULTS and all(last) and (fault := last[-1]) is not None:
            raise HarnessFaultError(fault.message, fault.data.get("report"))

    def evaluate(self, text: str, baseline: str, proposer: str) -> Evaluation:
        """What the cascade finds of ``text`` against ``baseline``; once, unless it broke off."""
        return self._judged(self._cascade, text, baseline, proposer, thorough=True)

    def _judged(
        self, cascade: Cascade, text: str, baseline: str, proposer: str, thorough: bool
    ) -> Evaluation:
        key = f"evaluate:{text_hash(text)}:{text_hash(baseline)}" + ("" if thorough else ":search")
        described = {
            "proposer": proposer, "candidate": self._ledger.keep(text),
            "baseline": self._ledger.keep(baseline),
        }  # fmt: skip

        def judged() -> Any:
            # Other threads judge on copies of the cascade; an observer is called from one thread.
            on_step = self.observer.step if cascade is self._cascade else silent
            evaluation = cascade.judge(text, baseline, thorough=thorough, on_step=on_step)
            if evaluation.error is not None:
                raise BrokenOffError(dump(evaluation))
            return dump(evaluation)

        try:
            return load(Evaluation, self._ledger.once("evaluate", key, described, judged))
        except BrokenOffError as broken_off:
            return load(Evaluation, broken_off.value)


def unseen(candidates: Iterable[Candidate], seen: set[str]) -> Iterator[Candidate]:
    """Each candidate once, without those whose hash is in ``seen`` when it is their turn.

    One that has no text of its own is always new.
    """
    met: set[str] = set()
    for candidate in candidates:
        if candidate.unusable:
            yield candidate
        elif candidate.hash not in seen and candidate.hash not in met:
            met.add(candidate.hash)
            yield candidate


def ahead(
    candidates: Iterable[Candidate], look_at: Callable[[Candidate], None], count: int
) -> Iterator[Candidate]:
    """The candidates in their order, each once ``look_at`` is done with it; ``count`` at a time.

    Whoever takes no more of them need not wait: what is under way ends by itself.
    """
    pool = ThreadPoolExecutor(count)
    waiting: deque[tuple[Candidate, Future[None]]] = deque()
    try:
        for candidate in candidates:
            waiting.append((candidate, pool.submit(look_at, candidate)))
            if len(waiting) == count:
                yield _next(waiting)
        while waiting:
            yield _next(waiting)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _next(waiting: deque[tuple[Candidate, Future[None]]]) -> Candidate:
    candidate, done = waiting.popleft()
    done.result()
    return candidate
