"""Autotune lists without what the compiler already rules out."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from tilewright.evaluation.compile_step import compiled, unfit
from tilewright.evaluation.model import Candidate, text_hash
from tilewright.evaluation.workbench import Workbench
from tilewright.rewrites.configs import drop_configs
from tilewright.rewrites.model import Refusal
from tilewright.source import parse_module
from tilewright.source.model import Kernel
from tilewright.store.ledger import Ledger
from tilewright.strategies.model import ProposalRequest, Proposer
from tilewright.strategies.observer import Observer
from tilewright.targets.model import CompileReport, LaunchFacts, Target
from tilewright.targets.toolchains import NoToolchainError

_PERCENT = 80  # of the run: autotuning is its last stage


class PrunedProposer:
    """Hands on another proposer's candidates, their autotune lists pruned by compile reports.

    A configuration goes that does not compile for the target, does not fit its shared memory, or
    spills, as long as another one is left.
    """

    def __init__(
        self,
        inner: Proposer,
        bench: Workbench,
        ledger: Ledger,
        target: Target,
        observer: Observer,
        note: Callable[[str], None],
    ) -> None:
        self.name = inner.name
        self.independent = inner.independent
        self._inner = inner
        self._bench = bench
        self._ledger = ledger
        self._target = target
        self._observer = observer
        self._note = note
        self._reports: list[CompileReport] = []

    def propose(self, request: ProposalRequest) -> Iterator[Candidate]:
        present = {kernel.name: kernel.autotune for kernel in request.module.kernels}
        for candidate in self._inner.propose(request):
            module = parse_module(candidate.text, request.module.path)
            for kernel in module.kernels:
                if kernel.autotune and kernel.autotune != present.get(kernel.name):
                    candidate = self._pruned(candidate, kernel)
            yield candidate

    def _pruned(self, candidate: Candidate, kernel: Kernel) -> Candidate:
        key = f"prune:{text_hash(candidate.text)}:{kernel.name}"
        described = {"proposer": candidate.proposer, "kernel": kernel.name}
        recorded = self._ledger.once(
            "prune", key, described, lambda: self._faults(candidate.text, kernel)
        )
        faults = {int(position): why for position, why in recorded.items()}
        if not faults:
            return candidate
        reasons = "; ".join(dict.fromkeys(faults.values()))
        module = parse_module(candidate.text)
        text = drop_configs(module, module.kernel(kernel.name) or kernel, faults)
        if isinstance(text, Refusal):
            self._note(f"{kernel.name}: {text.reason}; all {len(faults)} fall short: {reasons}")
            return candidate
        self._hand_on(candidate.text, text, faults)
        why = f"{len(faults)} configurations left out for {self._target}: {reasons}"
        self._note(f"{kernel.name}: {why}")
        return replace(candidate, text=text, rationale=f"{candidate.rationale}; {why}")

    def _hand_on(self, before: str, after: str, dropped: Collection[int]) -> None:
        """What is left in the list was compiled: the cascade need not do so again."""
        for position, report in enumerate(self._reports):
            moved = None if position in dropped else on_lines_of(report, before, after)
            if moved is not None:
                self._bench.keep_report(after, moved)
        self._reports = []

    def _faults(self, text: str, kernel: Kernel) -> dict[int, str]:
        """Position of a configuration to why it is unfit; empty where nothing can be compiled."""
        problem = self._bench.problem
        cases = problem.compiled_cases()
        configs = kernel.autotune.configs if kernel.autotune else None
        if not cases or not configs:
            return {}
        launches = [x for case in cases for x in self._bench.capture(text, case).launches]
        mine = [launch for launch in launches if launch.kernel == kernel.name]
        if len(mine) != len(configs):
            return {}
        try:
            reports = self._compiled(text, mine)
        except NoToolchainError:
            return {}
        self._reports = reports
        found = {position: unfit([report]) for position, report in enumerate(reports)}
        return {position: why for position, why in found.items() if why}

    def _compiled(self, text: str, launches: Sequence[LaunchFacts]) -> list[CompileReport]:
        """In the order of the launches."""
        found: list[CompileReport] = []
        for report in compiled(self._bench, text, launches, self._target):
            found.append(report)
            said = f"compiling configuration {len(found)} of {len(launches)}"
            self._observer.progress(_PERCENT, said)
        return found


def on_lines_of(report: CompileReport, before: str, after: str) -> CompileReport | None:
    """A report with the lines of a text that differs in one place; None where it is about that."""
    old, new = before.split("\n"), after.split("\n")
    most = min(len(old), len(new))
    first = next((n for n in range(most) if old[n] != new[n]), most)
    last = next((n for n in range(most - first) if old[-1 - n] != new[-1 - n]), most - first)

    def now(line: int) -> int | None:
        if line <= first:
            return line
        return line + len(new) - len(old) if line > len(old) - last else None

    lines = [(one, now(one.line)) for one in report.lines]
    told = [(one, one.line and now(one.line)) for one in report.messages]
    if any(line is None for _, line in lines) or any(o.line and not line for o, line in told):
        return None
    return replace(
        report,
        lines=tuple(replace(one, line=line) for one, line in lines if line is not None),
        messages=tuple(replace(one, line=line) for one, line in told),
        seconds=0.0,
        cached=True,
    )
