"""One optimization from request to result: opens what is needed, searches, measures the end."""

import hashlib
import json
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import tilewright
from tilewright.costs.nki.model import NkiEstimate
from tilewright.devices.model import Device, is_neuron_target
from tilewright.errors import InputError, Stopped
from tilewright.evaluation.cascade import Cascade
from tilewright.evaluation.certificate import certify
from tilewright.evaluation.estimate_step import static_estimate
from tilewright.evaluation.model import (
    Certificate,
    Evaluation,
    Level,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.evaluation.surroundings import surroundings
from tilewright.evaluation.workbench import Workbench
from tilewright.hardware.chips import neuron_chip
from tilewright.harness_fault import HarnessFaultError
from tilewright.memory.bank import Bank
from tilewright.models.settings import Ensemble
from tilewright.problems.model import Problem
from tilewright.scratch import scratch_folder
from tilewright.search.spec import StrategySpec
from tilewright.serialize import dump
from tilewright.source import parse_module
from tilewright.source.model import Language
from tilewright.store.ledger import Ledger, now
from tilewright.store.store import Run, Store
from tilewright.strategies.autotune_lists import PrunedProposer
from tilewright.strategies.calls import Connect
from tilewright.strategies.generations import GenerationSearch
from tilewright.strategies.joint import Estimator, JointProposer
from tilewright.strategies.model import OptimizeResult, Proposer
from tilewright.strategies.observer import Observer
from tilewright.strategies.present import dump_result
from tilewright.strategies.rewrite_proposer import RewriteProposer
from tilewright.strategies.run_models import RunModels, run_models
from tilewright.strategies.search_memory import SearchMemory
from tilewright.strategies.staged import StagedSearch
from tilewright.strategies.tuning import LaunchTuner
from tilewright.targets.model import Target

STAGED = StrategySpec()
"""The strategy of a run that names none."""


class OriginalFailsError(InputError):
    """The kernel's present text does not run on its problem, so nothing can be compared with it."""


@dataclass(frozen=True)
class OptimizeRequest:
    """What to optimize, on what, for what, with how many trials at most.

    ``models``: those to ask, and within which limits; None: no model is asked. ``strategy``: how
    to search; its budget is not used, ``budget`` and the limits of the models are.
    """

    path: Path
    text: str
    problem: Problem | None
    target: Target | None
    budget: int
    models: Ensemble | None = None
    strategy: StrategySpec = STAGED

    def key(self, device: Device | None) -> str:
        """Identity of the request: equal requests on equal machines take up each other's runs."""
        info = dump(device.info) if device else None
        parts = [
            tilewright.__version__,
            self.path.name,
            text_hash(self.text),
            self.problem.content_hash if self.problem else None,
            str(self.target),
            self.budget,
            info,
            list(self.problem.allow) if self.problem else [],
            *([self._models()] if self.models else []),
            *([self.strategy.hash()] if self.strategy != STAGED else []),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def record(self, device: Device | None) -> dict[str, Any]:
        """The request as the store keeps it; long texts are kept by their hashes."""
        return {
            "tilewright": tilewright.__version__,
            "text": text_hash(self.text),
            "problem": text_hash(self._problem_text()) if self.problem else None,
            "target": dump(self.target) if self.target else None,
            "budget": self.budget,
            "device": dump(device.info) if device else None,
            "models": self._models() if self.models else None,
            "strategy": self.strategy.dump() if self.strategy != STAGED else None,
        }

    def keep(self, ledger: Ledger) -> None:
        """Keep the long texts of ``record``."""
        ledger.keep(self.text)
        if self.problem is not None:
            ledger.keep(self._problem_text())

    def _models(self) -> Any:
        """The settings of the models as JSON; they hold no key."""
        assert self.models is not None
        by_role, prices = dict(self.models.by_role), dict(self.models.prices)
        return dump(replace(self.models, by_role=by_role, prices=prices))

    def _problem_text(self) -> str:
        return json.dumps(dump(self.problem))


def optimize(
    request: OptimizeRequest,
    device: Device | None,
    store: Store,
    observer: Observer,
    connect: Connect | None = None,
) -> OptimizeResult:
    """Optimize a file's kernels; a run of the same request that was killed is taken up again.

    Args:
        connect: makes the client of the request's models; needed only if it names some.

    Raises:
        OriginalFailsError: the original does not run on the problem's inputs.
    """
    started = time.perf_counter()
    place = str(request.path.absolute())
    with ExitStack() as stack:
        run, ledger = stack.enter_context(
            store.run(
                request.key(device),
                str(request.path),
                {**request.record(device), "around": surroundings(request.text, place)},
                # Prompts quote what inputs showed: other inputs would make every call a new one.
                same_inputs=request.models is not None,
            )
        )
        stack.callback(ledger.close)
        request.keep(ledger)
        observer.started(run.id, resumed=run.resumed)
        scratch = stack.enter_context(scratch_folder())
        try:
            result = run_search(
                request, device, run, ledger, scratch, observer, started, connect,
                stack.enter_context(closing(Bank(store))),
            )  # fmt: skip
        except OriginalFailsError as error:
            # Correcting the files next to it would not change the request: never resume this.
            store.finish(run.id, {"error": str(error)})
            raise
        store.finish(run.id, dump_result(result))
    return result


def run_search(
    request: OptimizeRequest,
    device: Device | None,
    run: Run,
    ledger: Ledger,
    scratch: Path,
    observer: Observer,
    started: float,
    connect: Connect | None = None,
    bank: Bank | None = None,
) -> OptimizeResult:
    """Search and measure the result; what device, clock and models say goes through the ledger.

    Raises:
        OriginalFailsError: the original does not run on the problem's inputs.
    """
    notes: list[str] = list(request.problem.warnings) if request.problem else []
    bench = (
        Workbench(device, request.problem, request.path, scratch, run.seed)
        if device and request.problem
        else None
    )
    cascade = Cascade(request.text, str(request.path), bench, request.target)
    models = run_models(request.models, connect, cascade, request.path, ledger, notes.append)
    proposers = _proposers(bench, ledger, request, observer, notes, models)
    search = _search(request, run, cascade, proposers, ledger, observer, models, notes)
    search.memory = _memory(request, run, ledger, bank, search)
    notes += _nothing_to_do(request)
    issues = search.issues(request.text)
    with closing(models) if models else nullcontext():
        certificate = _searched(search, cascade, request, ledger, notes)
        use = models.use(ledger) if models else None
    notes += use.notes if use else ()
    if certificate is not None:
        created = certificate.created
        certificate = replace(
            certificate, created=ledger.once("certificate", "certificate", {}, lambda: created)
        )
    final = _certified(search, certificate) or request.text
    if search.memory is not None and bank is not None:
        search.memory.finish(bank, final, certificate.speedup if certificate else None, now())
    return OptimizeResult(
        path=str(request.path),
        original=request.text,
        final=final,
        target=str(request.target) if request.target else None,
        device=device.info.id if device else None,
        issues=issues,
        remaining=search.issues(final),
        plan=search.plan,
        trials=tuple(search.trials),
        certificate=certificate,
        notes=tuple(dict.fromkeys(notes)),
        harness_faults=tuple(search.faults),
        seconds=time.perf_counter() - started,
        run=run.id,
        models=use,
        search=search.use(),
    )


def _certified(search: StagedSearch, certificate: Certificate | None) -> str | None:
    """The text that a certificate is of."""
    if certificate is None:
        return None
    texts = (*search.finalists, search.current)
    return next(text for text in texts if text_hash(text) == certificate.candidate)


def _memory(
    request: OptimizeRequest, run: Run, ledger: Ledger, bank: Bank | None, search: StagedSearch
) -> SearchMemory | None:
    """What the search remembers; None where its strategy asks for nothing."""
    spec = request.strategy.memory
    if spec.use == "none":
        return None
    return SearchMemory(spec, request.path, request.text, run.id, ledger, bank, search.facts)


def _search(
    request: OptimizeRequest,
    run: Run,
    cascade: Cascade,
    proposers: Sequence[Proposer],
    ledger: Ledger,
    observer: Observer,
    models: RunModels | None,
    notes: list[str],
) -> StagedSearch:
    """The search of a request's strategy."""
    if request.strategy.steps == STAGED.steps:
        return StagedSearch(cascade, proposers, ledger, observer, request.budget, models)
    return GenerationSearch(
        cascade, proposers, ledger, observer, request.budget, models, request.strategy, run.seed,
        notes.append,
    )  # fmt: skip


def _nothing_to_do(request: OptimizeRequest) -> list[str]:
    module = parse_module(request.text, str(request.path))
    launched = any(module.entry_kernels()) or any(
        k.language is Language.NKI for k in module.kernels
    )
    if launched or (request.problem and request.problem.is_captured):
        return []
    return ["the file launches no kernel, so there is nothing to optimize"]


def _searched(
    search: StagedSearch,
    cascade: Cascade,
    request: OptimizeRequest,
    ledger: Ledger,
    notes: list[str],
) -> Certificate | None:
    """The certificate of what the search ends with, however it ends."""
    try:
        check_original(search, request, notes)
        search.run()
        if request.problem is None and search.trials:
            notes.append(f"no edit could be checked: {cascade.no_problem()}")
        return _final(search, cascade, request, notes)
    except Stopped:
        search.cancel()
        ledger.put("stopped", True)
        notes.append("stopped before the end; the result is the best kept so far")
    except HarnessFaultError as error:
        if not search.trials:
            raise
        ledger.put("fault", [str(error), error.report])
        notes.append(f"{error}; it ended the search, and the result is the best kept so far")
    return _certificate_so_far(search, cascade, request)


def _proposers(
    bench: Workbench | None,
    ledger: Ledger,
    request: OptimizeRequest,
    observer: Observer,
    notes: list[str],
    models: RunModels | None,
) -> tuple[Proposer, ...]:
    """Rewrites first, which cost nothing, then the tuner, then the models."""
    free = _free_proposers(bench, ledger, request, observer, notes)
    return (*free, models.proposer) if models else free


def _free_proposers(
    bench: Workbench | None,
    ledger: Ledger,
    request: OptimizeRequest,
    observer: Observer,
    notes: list[str],
) -> tuple[Proposer, ...]:
    def refused(name: str, why: str) -> None:
        notes.append(f"{name} does not apply: {why}")

    rewrites = RewriteProposer(frozenset(), refused)
    if bench is None or request.target is None:
        return (rewrites,)
    info = bench.device.info
    if is_neuron_target(request.target):
        return (JointProposer(rewrites, _estimator(bench.problem, request)),)
    if not info.can_time:
        return (PrunedProposer(rewrites, bench, ledger, request.target, observer, notes.append),)
    if info.target is not None and info.target.backend != request.target.backend:
        notes.append(
            f"launch configurations are not tuned: {info.name} cannot time {request.target}"
        )
        return (PrunedProposer(rewrites, bench, ledger, request.target, observer, notes.append),)
    return (
        RewriteProposer(frozenset({"missing_autotune", "suboptimal_warps"}), refused),
        LaunchTuner(bench, ledger, request.target, request.budget, observer, notes.append),
    )


def _estimator(problem: Problem, request: OptimizeRequest) -> Estimator:
    """The cost model's word on a text, at the sizes that a device would time first."""
    assert request.target is not None
    chip, path = neuron_chip(request.target), str(request.path)
    cases = (*problem.measured_cases(), *problem.check_cases())

    @lru_cache(maxsize=512)
    def estimated(text: str) -> NkiEstimate | None:
        found = static_estimate(text, path, problem.entry, cases[0], chip) if cases else ""
        return None if isinstance(found, str) else found

    return estimated


def check_original(search: StagedSearch, request: OptimizeRequest, notes: list[str]) -> None:
    """See that the original runs on the problem; ``notes`` gets why it does not compile.

    Raises:
        OriginalFailsError: it does not run.
    """
    search.report(1, "running the original")
    evaluation = search.evaluate(request.text, request.text, "original")
    search.observer.original(request.text, evaluation)
    failed = evaluation.failed or evaluation.error
    if failed is None:
        return
    if evaluation.harness_fault is not None:
        raise HarnessFaultError(failed.message, failed.data.get("report"))
    if failed.step is StepName.SYNTAX:
        raise OriginalFailsError(
            f"it cannot be parsed: {failed.message}; fix it first", str(request.path)
        )
    if failed.step is StepName.COMPILE and failed.data.get("reports"):
        notes.append(f"the original does not compile: {failed.message}")
        return
    raise OriginalFailsError(
        f"the original does not run on {request.problem.path if request.problem else 'its inputs'}"
        f": {failed.message}; fix the kernel or its spec first",
        str(request.path),
    )


def _final(
    search: StagedSearch,
    cascade: Cascade,
    request: OptimizeRequest,
    notes: list[str],
) -> Certificate | None:
    """The certificate of the first finalist that holds against the original."""
    for text in search.finalists:
        search.report(92, "measuring the result against the original")
        evaluation = search.evaluate(text, request.text, "final")
        if evaluation.harness_fault is not None:
            search.faults.append(evaluation.harness_fault)
        fixed = any(trial.fixes for trial in search.trials)
        speed = evaluation.step(StepName.SPEED)
        failing = (StepStatus.FAILED, StepStatus.ERROR)
        slow = speed is not None and speed.status in failing and not fixed
        slow = slow or (_no_faster(evaluation) and not fixed)
        if not slow and evaluation.level.reaches(Level.CORRECT):
            return certify(evaluation, cascade.bench, request.target)
        failed = evaluation.failed or evaluation.error or evaluation.step(StepName.ESTIMATE)
        told = failed.message if failed else evaluation.level.value
        notes.append(f"the result did not hold against the original and is withdrawn: {told}")
    return None


def _no_faster(evaluation: Evaluation) -> bool:
    """Whether a cost model was to tell that it is faster than the original, and does not."""
    if evaluation.step(StepName.ESTIMATE) is None:
        return False
    return evaluation.estimate is None or not evaluation.estimate.is_faster


def _certificate_so_far(
    search: StagedSearch, cascade: Cascade, request: OptimizeRequest
) -> Certificate | None:
    """Correctness was judged against the original throughout; speed only step by step: left out."""
    evaluation = search.reached
    if evaluation is None:
        return None
    level = min(evaluation.level, Level.CORRECT, key=lambda level: level.rank)
    against_parent = (StepName.SPEED, StepName.ESTIMATE)
    steps = tuple(step for step in evaluation.steps if step.step not in against_parent)
    skipped = StepResult(
        StepName.SPEED, StepStatus.SKIPPED, "not measured against the original: stopped before"
    )
    evaluation = replace(
        evaluation,
        baseline=text_hash(request.text),
        level=level,
        steps=(*steps, skipped),
        speedup=None,
        estimate=None,
    )
    return certify(evaluation, cascade.bench, request.target)
