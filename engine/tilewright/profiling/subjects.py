"""What is known of each kernel of a file, and of a call of it, brought together to be judged."""

from dataclasses import replace

from tilewright.costs import estimate
from tilewright.evaluation.model import StepResult
from tilewright.evaluation.workbench import Workbench
from tilewright.hardware import Chip, HardwareError, chip
from tilewright.problems.model import Case
from tilewright.profiling import Interval, Source
from tilewright.profiling.counting import together, work_of
from tilewright.profiling.measurement import Timed, Watched, is_kernel, kernel_named
from tilewright.profiling.model import Share, Work
from tilewright.profiling.observed import Observed
from tilewright.serialize import load
from tilewright.source.model import Module
from tilewright.targets import NoToolchainError
from tilewright.targets.model import CompileReport, LaunchFacts, Target

_ALONE = 0.9


class Subjects:
    """The subjects of one file's profile, on one chip."""

    def __init__(
        self,
        bench: Workbench,
        text: str,
        module: Module,
        compiled: StepResult | None,
        target: Target | None,
    ) -> None:
        self._bench, self._text, self._module = bench, text, module
        self._target = bench.device.info.target or target
        self.chip = _chip(self._target)
        reports = compiled.data.get("reports", []) if compiled else []
        self._reports = [load(CompileReport, report) for report in reports]

    def kernel(self, name: str, case: Case | None, watched: Watched) -> Observed:
        """A kernel; where a call is nothing else, with all that is known of the call."""
        launches = tuple(one for one in watched.launches if one.kernel == name)
        report = self._report_of(name, launches)
        if not launches and report is not None:
            launches = (report.launch,)
        seen = Observed(
            name,
            self.chip,
            together(tuple(work_of(self._module, one) for one in launches)) if launches else Work(),
            report=report,
            estimate=estimate(self._module, report) if report is not None else None,
            counters=kernel_named(name, watched.counters),
        )
        if watched.time is None:
            return _with_spec(seen, self._only_case(name))
        if is_alone(name, watched):
            return _as_the_call(seen, case, watched)
        share = _share_of(name, watched.shares)
        if share is None:
            return seen
        return replace(seen, time=Interval(share.us, share.us, share.us), time_source=Source.TRACE)

    def call(self, case: Case, watched: Watched) -> Observed | None:
        """An entry point's call; None where it is one kernel and nothing else."""
        if case.launch is not None or watched.time is None:
            return None
        names = {launch.kernel for launch in watched.launches}
        if len(names) == 1 and is_alone(next(iter(names)), watched):
            return None
        return _as_the_call(Observed(None, self.chip), case, watched)

    def _only_case(self, name: str) -> Case | None:
        """The case whose compiled launches are of this kernel alone."""
        if {report.kernel for report in self._reports} != {name}:
            return None
        return next(iter(self._bench.problem.compiled_cases()), None)

    def _report_of(self, kernel: str, launches: tuple[LaunchFacts, ...]) -> CompileReport | None:
        """The report of the launch that ran; of the first that compiles where none ran."""
        mine = [report for report in self._reports if report.kernel == kernel]
        if launches:
            wanted = launches[0]
            for report in mine:
                if report.launch.settings == wanted.settings and report.launch.grid == wanted.grid:
                    return report
            return self._compiled_now(wanted)
        return next((report for report in mine if report.ok), mine[0] if mine else None)

    def _compiled_now(self, launch: LaunchFacts) -> CompileReport | None:
        if self._target is None:
            return None
        try:
            return self._bench.compile(self._text, launch, self._target)
        except NoToolchainError:
            return None


def watched_of(kernel: str, timed: Timed) -> tuple[Case | None, Watched]:
    """The case that a kernel was timed in: its own captured launch, or the entry point's."""
    for case, watched in timed:
        if case is None or case.launch is None or case.launch.kernel == kernel:
            return case, watched
    return None, Watched("", failure="none of its launches was run")


def is_alone(kernel: str, watched: Watched) -> bool:
    """Whether a call's time is the kernel's, as good as."""
    if {launch.kernel for launch in watched.launches} != {kernel}:
        return False
    share = _share_of(kernel, watched.shares)
    total = sum(one.us for one in watched.shares)
    return share is None or not total or share.us / total >= _ALONE


def _share_of(kernel: str, shares: tuple[Share, ...]) -> Share | None:
    return next((one for one in shares if is_kernel(one.name, kernel)), None)


def _as_the_call(seen: Observed, case: Case | None, watched: Watched) -> Observed:
    known = replace(seen, time=watched.time, shares=watched.shares, host=watched.host)
    return _with_spec(known, case)


def _with_spec(seen: Observed, case: Case | None) -> Observed:
    if case is None:
        return seen
    work = replace(seen.work, spec_bytes=case.mem_bytes, spec_flop=case.flop)
    return replace(seen, work=work)


def _chip(target: Target | None) -> Chip | None:
    try:
        return chip(target) if target is not None else None
    except HardwareError:
        return None
