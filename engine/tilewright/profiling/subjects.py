"""What is known of each kernel of a file, and of a call of it, brought together to be judged."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.tiles import Affine, tiles_of
from tilewright.costs import estimate
from tilewright.costs.model import Touch, Workload
from tilewright.costs.numbers import Numbers, Place
from tilewright.costs.traffic import requests_of, touched_bytes
from tilewright.costs.workload import workload
from tilewright.evaluation.model import StepResult
from tilewright.evaluation.workbench import Workbench
from tilewright.hardware.chips import chip
from tilewright.hardware.model import Chip, HardwareError
from tilewright.problems.model import Case
from tilewright.profiling.measurement import Timed, Watched, is_kernel, kernel_named
from tilewright.profiling.model import Interval, Share, Source, Work
from tilewright.profiling.observed import Observed
from tilewright.serialize import load
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import CompileReport, LaunchFacts, Target
from tilewright.targets.toolchains import NoToolchainError

_ALONE = 0.9
_Starts = Mapping[int, tuple[int, ...]]
_FIRST = Place((0, 0, 0), lanes=(0,) * 8)


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


def work_of(module: Module, launch: LaunchFacts) -> Work:
    """What one launch of a kernel of ``module`` does; empty, with a note, if it is not there."""
    kernel = module.kernel(launch.kernel)
    if kernel is None or not launch.grid:
        return Work(notes=(f"{launch.kernel} is not in this file: its work was not counted",))
    work = workload(module, kernel, launch)
    starts = starts_of(module, kernel, launch)
    wanted = requests_of(work)
    flop: dict[str, float] = {}
    for dot in work.dots:
        count = 2.0 * dot.m * dot.n * dot.k * dot.turns * work.programs
        flop[dot.dtype] = flop.get(dot.dtype, 0.0) + count
    return Work(
        touched_bytes=touched_bytes(work, launch) or None,
        asked_bytes=work.programs * (wanted.requested + wanted.common + wanted.stored) or None,
        dot_flop=flop,
        programs=work.programs,
        again=tuple(sorted(set(_read_again(work, starts)))),
        dot_lines=tuple(sorted({dot.line for dot in work.dots})),
        notes=work.notes,
    )


def _same_tiles(touches: Iterable[Touch], starts: _Starts) -> Iterable[list[Touch]]:
    """Touches that reach the same tiles, together; those of which that is not known, alone."""
    found: dict[object, list[Touch]] = {}
    for at, touch in enumerate(touches):
        first = starts.get(touch.line)
        where = (touch.base, touch.extents, touch.strides, touch.spread, touch.moves, first)
        found.setdefault(at if touch.base is None or first is None else where, []).append(touch)
    return found.values()


def _read_again(work: Workload, starts: _Starts) -> Iterator[int]:
    """Lines of loads that surely reach the same tiles as another line's."""
    loads = [touch for touch in work.touches if touch.kind == "load"]
    for group in _same_tiles(loads, starts):
        if len({touch.line for touch in group}) > 1:
            yield from (touch.line for touch in group)


def together(works: tuple[Work, ...]) -> Work:
    """The work of several launches of one kernel in a call."""
    flop: dict[str, float] = {}
    for work in works:
        for dtype, count in work.dot_flop.items():
            flop[dtype] = flop.get(dtype, 0.0) + count
    return Work(
        touched_bytes=_sum(work.touched_bytes for work in works),
        asked_bytes=_sum(work.asked_bytes for work in works),
        dot_flop=flop,
        programs=max((work.programs or 0 for work in works), default=0) or None,
        again=tuple(sorted({line for work in works for line in work.again})),
        dot_lines=tuple(sorted({line for work in works for line in work.dot_lines})),
        notes=tuple(dict.fromkeys(note for work in works for note in work.notes)),
    )


def _sum(values: Iterator[float | None]) -> float | None:
    """The sum, unless one is not known."""
    known = list(values)
    return None if not known or None in known else sum(value or 0.0 for value in known)


def starts_of(module: Module, kernel: Kernel, launch: LaunchFacts) -> Mapping[int, tuple[int, ...]]:
    """Where the accesses of each line begin, in the first program and turn.

    In elements from their pointers' bases. Lines of which that does not follow are left out.
    """
    flow = flow_of(module, kernel)
    tiles = tiles_of(module, kernel, AnalysisContext(launches=(launch,)))
    numbers = Numbers(tiles, flow, launch)
    forms: dict[int, list[Affine | None]] = {}
    for access in flow.accesses:
        forms.setdefault(access.node.lineno, []).append(tiles.facts_of(access.pointer).affine)
    found: dict[int, tuple[int, ...]] = {}
    for line, affine in forms.items():
        starts = [None if form is None else _start(numbers, form, _FIRST) for form in affine]
        known = tuple(start for start in starts if start is not None)
        if len(known) == len(starts):
            found[line] = known
    return found


def _start(numbers: Numbers, form: Affine, place: Place) -> int | None:
    total = numbers.polynomial(form.constant, place)
    for term in form.terms:
        index = numbers.number_of(term.index, place)
        coefficient = numbers.polynomial(term.coefficient, place)
        if total is None or index is None or coefficient is None:
            return None
        total += int(index) * coefficient
    return total
