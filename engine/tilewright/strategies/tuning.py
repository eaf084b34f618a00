"""The launch tuner: tile sizes, warps and stages, measured where there is a device.

It screens a menu made from the chip's figures, the most promising by static cost first, then walks
downhill from the best. Screening is rough; the few best go on to the cascade, which decides.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from tilewright.devices.pool import share_of, width
from tilewright.evaluation.model import Candidate, Promise, text_hash
from tilewright.evaluation.screening import Kept, Screened, kept_results, prune, screen
from tilewright.evaluation.workbench import Workbench
from tilewright.hardware.chips import chip
from tilewright.hardware.model import Chip
from tilewright.knowledge.stages import Stage
from tilewright.rewrites.launch_config import set_launch_config
from tilewright.rewrites.model import Refusal
from tilewright.rewrites.tiles import Tunable, tunable
from tilewright.serialize import dump, load
from tilewright.source.model import Kernel, Module
from tilewright.store.ledger import Ledger
from tilewright.strategies.menus import Setting, menu, neighbours
from tilewright.strategies.model import ProposalRequest
from tilewright.strategies.observer import Observer
from tilewright.strategies.ranking import presorted
from tilewright.targets.model import LaunchFacts, Target

FINALISTS = 3
WAVES = 6


@dataclass(frozen=True)
class _Entry:
    setting: Setting
    text: str


class LaunchTuner:
    """Proposes the fastest launch configurations it screened, best first.

    Args:
        budget: most configurations to screen for one kernel.
        note: gets what was screened, pruned and refused.
    """

    name = "tuner:launch"
    independent = False  # what it offers next depends on which of its finalists was kept

    def __init__(
        self,
        bench: Workbench,
        ledger: Ledger,
        target: Target | None,
        budget: int,
        observer: Observer,
        note: Callable[[str], None],
    ) -> None:
        self._bench = bench
        self._ledger = ledger
        self._target = target
        self._budget = budget
        self._observer = observer
        self._note = note
        self._finalists: dict[str, tuple[Candidate, ...]] = {}
        self._kept: dict[str, Kept] = {}
        self._unsteady: dict[str, str] = {}
        self._keeping = Lock()

    def propose(self, request: ProposalRequest) -> Iterator[Candidate]:
        if request.stage is not Stage.AUTOTUNING or self._target is None:
            return
        for kernel in request.module.entry_kernels():
            if kernel.name in self._finalists:
                yield from self._remaining_finalists(kernel.name, text_hash(request.module.text))
                continue
            self._finalists[kernel.name] = ()
            found = tunable(request.module, kernel)
            if isinstance(found, Refusal):
                self._note(f"{kernel.name} is not tuned: {found.reason}")
                continue
            for name, why in {**found.fixed_reasons, **found.limited}.items():
                kept = "stays as it is" if name in found.fixed_reasons else "is only made smaller"
                self._note(f"{kernel.name}: {name} {kept}: {why}")
            launch = next((x for x in request.context.launches if x.kernel == kernel.name), None)
            if launch is not None:
                best = tuple(self._tune(request.module, kernel, found, launch, chip(self._target)))
                self._finalists[kernel.name] = best
                yield from best

    def _remaining_finalists(self, kernel: str, current: str) -> Iterator[Candidate]:
        """The finalists again, once one of them was kept: the next may beat it by the cascade."""
        finalists = self._finalists[kernel]
        kept = next((one for one in finalists if one.hash == current), None)
        if kept is not None:
            yield from (_rebased_candidate(kept, one) for one in finalists)

    def _tune(
        self, module: Module, kernel: Kernel, found: Tunable, launch: LaunchFacts, on: Chip
    ) -> Iterator[Candidate]:
        best = self._search(module, kernel, found, launch, on)
        own = best.pop(text_hash(module.text), None)
        ranked = sorted(best.values(), key=lambda pair: pair[1])
        for entry, us in ranked[:FINALISTS]:
            if own is not None and us >= own[1]:
                break
            candidate = Candidate(
                text=entry.text,
                parent=text_hash(module.text),
                proposer=self.name,
                rationale=f"Launch {kernel.name} with {entry.setting}",
                stage=Stage.AUTOTUNING,
                issues=("suboptimal_autotune_configs",),
            )
            yield candidate if own is None else _promising(candidate, Promise(us, own[1]))

    def _search(
        self, module: Module, kernel: Kernel, found: Tunable, launch: LaunchFacts, on: Chip
    ) -> dict[str, tuple[_Entry, float]]:
        timed: dict[str, tuple[_Entry, float]] = {}
        seen: set[str] = {module.text}
        wave: Sequence[Setting] = presorted(module, kernel, launch, menu(found, launch, on), on)
        results = [self._original(module.text)]
        if results[0].us is not None:
            timed[results[0].candidate] = (_own(module.text), results[0].us)
        for _ in range(WAVES):
            entries = self._entries(module, kernel, found, wave, seen)
            entries = entries[: max(0, self._budget - len(results))]
            if not entries:
                break
            for entry, result in zip(entries, self._screen_all(entries, module.text), strict=True):
                results.append(result)
                if result.us is not None:
                    timed[result.candidate] = (entry, result.us)
            if not timed:
                break
            fastest = min(timed.values(), key=lambda pair: pair[1])[0]
            steps = neighbours(fastest.setting, found, on)
            wave = presorted(module, kernel, launch, steps, on)
        self._note(f"{kernel.name}: {_counted(results)}")
        return timed

    def _original(self, text: str) -> Screened:
        """The text as it stands, timed; what its results are, as long as they are steady."""
        known = self._screen(_own(text), text)
        if known.differs:
            why = f"they change from call to call of the unchanged text ({known.message})"
            self._unsteady[text] = why
            known = self._screen(_own(text), text)
        if known.us is not None and (lacking := self._why_not_compared(text)) is not None:
            self._note(f"results of configurations are not compared: {lacking}")
        return known

    def _why_not_compared(self, own: str) -> str | None:
        """Why the results of configurations of ``own`` are compared with nothing; None: they are.

        It decides what is tried, so it is on record.
        """
        if own in self._unsteady:
            return self._unsteady[own]

        def failure_message() -> Any:
            kept = self._kept_of(own)
            return kept.message if kept.results is None else None

        why = self._ledger.once(
            "results", f"results:{text_hash(own)}", {}, lambda: [failure_message()]
        )[0]
        return None if why is None else str(why)

    def _kept_of(self, own: str) -> Kept:
        """What configurations of ``own`` are compared with."""
        if own in self._unsteady:
            return Kept(None, self._unsteady[own])
        with self._keeping:
            if own not in self._kept:
                with share_of(self._bench.device) as device:
                    case = self._bench.problem.measured_cases()[0]
                    self._kept[own] = kept_results(self._bench.on_device(device), own, case)
            return self._kept[own]

    def _entries(
        self,
        module: Module,
        kernel: Kernel,
        found: Tunable,
        wave: Sequence[Setting],
        seen: set[str],
    ) -> list[_Entry]:
        entries: list[_Entry] = []
        for setting in wave:
            doubts = found.doubts(setting.values)
            if doubts and self._why_not_compared(module.text) is not None:
                why = f"{doubts[0]}, and no results are compared"
                self._note(f"{kernel.name} with {setting} is not tried: {why}")
                continue
            text = set_launch_config(module, kernel, setting.values, setting.options)
            if isinstance(text, Refusal):
                self._note(f"{kernel.name} with {setting}: {text.reason}")
            elif text not in seen:
                seen.add(text)
                entries.append(_Entry(setting, text))
        return entries

    def _screen_all(self, entries: Sequence[_Entry], own: str) -> list[Screened]:
        """Compile side by side, time one after the other on each GPU; on record once done."""
        workers = max(width(self._bench.device) + 1, min(12, (os.cpu_count() or 2) - 2))
        pool = ThreadPoolExecutor(workers)
        try:
            results = []
            screened = pool.map(lambda entry: self._screen(entry, own), entries)
            for number, result in enumerate(screened, 1):
                self._observer.progress(90, f"screening {number} of {len(entries)}")
                results.append(result)
            return results
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _screen(self, entry: _Entry, own: str) -> Screened:
        described: Mapping[str, object] = {"setting": str(entry.setting)}
        # What is not steady is looked at twice: compared with itself, and then timed alone.
        alone = entry.text == own and own in self._unsteady
        key = f"screen:{text_hash(entry.text)}" + (":alone" if alone else "")
        value = self._ledger.once("screen", key, described, lambda: dump(self._work(entry, own)))
        return load(Screened, value)

    def _work(self, entry: _Entry, own: str) -> Screened:
        case = self._bench.problem.measured_cases()[0]
        if self._target is not None and entry.text != own:
            why = prune(self._bench, entry.text, case, self._target)
            if why is not None:
                return Screened(text_hash(entry.text), None, why)
        kept = self._kept_of(own)
        with share_of(self._bench.device) as device:
            return screen(self._bench.on_device(device), entry.text, case, own, kept)


def _own(text: str) -> _Entry:
    return _Entry(Setting({}, {}), text)


def _counted(results: Sequence[Screened]) -> str:
    """How many were looked at, and what became of those that have no time."""
    ruled_out = sum(one.us is None and not one.differs for one in results)
    differing = [one.message for one in results if one.differs]
    said = (
        f"{len(results)} launch configurations screened, {ruled_out} ruled out by the compiler or "
        "the device"
    )
    if differing:
        said += (
            f", {len(differing)} discarded because their results differ from those of the "
            f"unchanged text (the first: {differing[0]})"
        )
    return said


def _promising(candidate: Candidate, promise: Promise) -> Candidate:
    """The candidate with what was screened of it and of what it is to beat."""
    launched, _, _ = candidate.rationale.partition(": screened")
    told = f"screened at {promise.us:.1f} us, the present one at {promise.present_us:.1f} us"
    return replace(candidate, rationale=f"{launched}: {told}", promise=promise)


def _rebased_candidate(kept: Candidate, candidate: Candidate) -> Candidate:
    """The candidate, now that it is to beat one that was kept."""
    if kept.promise is None or candidate.promise is None:
        return candidate
    return _promising(candidate, Promise(candidate.promise.us, kept.promise.us))
