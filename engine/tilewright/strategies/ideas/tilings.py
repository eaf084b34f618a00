"""Ideas that are tilings: launch settings by the extents of a call, one decision list a kernel.

A text without a tiling gets the list that quick looks at each of the problem's cases suggest; one
with a tiling gets lists that differ from its own in one constant of one rule.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Lock

from tilewright.devices.pool import share_of
from tilewright.evaluation.model import Candidate, text_hash
from tilewright.evaluation.screening import Kept, Screened, kept_results, screen
from tilewright.evaluation.workbench import Workbench
from tilewright.hardware.chips import chip
from tilewright.hardware.model import Chip
from tilewright.knowledge.stages import Stage
from tilewright.problems.model import Case
from tilewright.rewrites.launch_config import set_launch_config
from tilewright.rewrites.model import Refusal
from tilewright.rewrites.tiles import Tunable, tunable
from tilewright.rewrites.tilings import Choice, Tiling, tiling_in, written
from tilewright.search.node import Idea, IdeaKind, Node
from tilewright.serialize import dump, load
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module
from tilewright.store.ledger import Ledger
from tilewright.strategies.decision_lists import Extents, Winners, grown, told_apart
from tilewright.strategies.menus import (
    DEFAULT_OPTIONS,
    OPTION_RANGE,
    TILE_RANGE,
    Setting,
    menu,
)
from tilewright.strategies.ranking import presorted
from tilewright.targets.model import LaunchFacts, Target

PER_CASE = 6
"""Settings of a case's menu that are looked at, on every case."""


class Tilings:
    """Tilings of a text's kernels, grown from times of settings on each measured case.

    Args:
        note: is given what cannot be tiled, and why.
    """

    name = "tilings"

    def __init__(
        self, bench: Workbench, ledger: Ledger, target: Target, note: Callable[[str], None]
    ) -> None:
        self._bench = bench
        self._ledger = ledger
        self._chip = chip(target)
        self._note = note
        self._known: dict[str, tuple[Idea, ...]] = {}
        self._results: dict[tuple[str, str], Kept] = {}
        self._keeping = Lock()

    def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
        """The list that the times suggest, or the neighbours of the list that is there."""
        del want, rng
        if node.hash not in self._known:
            module = parse_module(node.text, str(self._bench.source_path))
            self._known[node.hash] = tuple(
                idea
                for kernel in module.entry_kernels()
                for idea in self._ideas_for(module, kernel)
            )
        return self._known[node.hash]

    def _ideas_for(self, module: Module, kernel: Kernel) -> Iterator[Idea]:
        present = tiling_in(module.text, kernel.name)
        found = tunable(module, kernel)
        if isinstance(found, Refusal):
            self._note(f"{kernel.name} has no tiling: {found.reason}")
            return
        tilings = self._first(module, kernel, found) if present is None else _near(present, found)
        for words, tiling in tilings:
            text = _text(module, kernel, tiling)
            if isinstance(text, Refusal):
                self._note(f"{kernel.name} has no tiling: {text.reason}")
            elif text != module.text:
                yield _idea(kernel, words, text, text_hash(module.text))

    def _first(
        self, module: Module, kernel: Kernel, found: Tunable
    ) -> Iterator[tuple[str, Tiling]]:
        """The list of the fastest settings of each case, and the best single setting."""
        cases = self._bench.problem.measured_cases()
        launches = [self._launch(module.text, kernel, case) for case in cases]
        if None in launches or not launches:
            self._note(f"{kernel.name} has no tiling: not every case launches it")
            return
        there = [launch for launch in launches if launch is not None]
        choices = list(_choices(module, kernel, found, there, self._chip))
        winners = self._times(module, kernel, choices, cases, _extents(there))
        tiling = grown(winners)
        if tiling is None:
            self._note(f"{kernel.name} has no tiling: no setting runs on every case")
            return
        if tiling.rules:
            yield f"by {', '.join(tiling.extents)} in {len(tiling.rules) + 1} settings", tiling
        single = winners.choices[winners.best(range(len(cases)))[1]]
        yield f"with {_words(single)} for all cases", Tiling((), single)

    def _launch(self, text: str, kernel: Kernel, case: Case) -> LaunchFacts | None:
        def captured() -> object:
            return [dump(one) for one in self._bench.capture(text, case).launches]

        key = f"capture:{text_hash(text)}:{case.name}"
        found = self._ledger.once("capture", key, {"case": case.name}, captured)
        launches = [load(LaunchFacts, one) for one in found]
        return next((one for one in launches if one.kernel == kernel.name), None)

    def _times(
        self,
        module: Module,
        kernel: Kernel,
        choices: Sequence[Choice],
        cases: Sequence[Case],
        extents: Sequence[Extents],
    ) -> Winners:
        """Every setting looked at on every case; what cannot be set has no time."""
        texts = [_pinned(module, kernel, choice) for choice in choices]
        asked = [(n, case) for n, text in enumerate(texts) if text for case in cases]
        with ThreadPoolExecutor(max(1, min(12, (os.cpu_count() or 2) - 2))) as pool:
            looked = pool.map(
                lambda one: self._look(texts[one[0]] or "", one[1], module.text), asked
            )
            times: dict[int, list[float | None]] = {n: [] for n, text in enumerate(texts) if text}
            failed = []
            for (number, case), screened in zip(asked, looked, strict=True):
                times[number].append(screened.us)
                failed += [f"{case.name}: {screened.message}"] if screened.us is None else []
        if failed:
            told = (
                f"{len(failed)} of {len(asked)} quick looks gave no time (the first: {failed[0]})"
            )
            self._note(f"{kernel.name}: {told}")
        return Winners(extents, times, choices)

    def _baseline(self, own: str, case: Case) -> Kept:
        """What candidates are compared with on a case, made once it is needed."""
        key = text_hash(own), case.name
        with self._keeping:
            if key not in self._results:
                with share_of(self._bench.device) as device:
                    self._results[key] = kept_results(self._bench.on_device(device), own, case)
            return self._results[key]

    def _look(self, text: str, case: Case, own: str) -> Screened:
        """A quick look at the clock, on record once it is made."""

        def work() -> object:
            kept = self._baseline(own, case)
            with share_of(self._bench.device) as device:
                return dump(screen(self._bench.on_device(device), text, case, own, kept))

        key = f"screen:{text_hash(text)}:{case.name}"
        return load(Screened, self._ledger.once("screen", key, {"case": case.name}, work))


def _choices(
    module: Module, kernel: Kernel, found: Tunable, launches: Sequence[LaunchFacts], on: Chip
) -> Iterator[Choice]:
    """Settings of the menus of all cases, each once, that name the same constants."""
    seen: set[str] = set()
    names: set[str] = set()
    for launch in launches:
        settings = presorted(module, kernel, launch, menu(found, launch, on), on)
        for setting in settings[:PER_CASE]:
            choice = _choice(setting)
            names = names or set(choice)
            if set(choice) == names and _words(choice) not in seen:
                seen.add(_words(choice))
                yield choice


def _choice(setting: Setting) -> Choice:
    numbers = {name: value for name, value in setting.options.items() if isinstance(value, int)}
    return dict(sorted({**setting.values, **numbers}.items()))


def _extents(launches: Sequence[LaunchFacts]) -> list[Extents]:
    """The integers of each launch that tell the cases apart."""
    every = [
        {a.name: a.value for a in launch.arguments if a.kind == "int" and type(a.value) is int}
        for launch in launches
    ]
    shared = {name: True for name in every[0] if all(name in one for one in every)}
    values = [{name: one[name] for name in shared} for one in every]
    apart = told_apart(values)
    return [{name: one[name] for name in apart} for one in values]


def _near(present: Tiling, found: Tunable) -> Iterator[tuple[str, Tiling]]:
    """Lists with one constant of one rule halved or doubled; of stages one more or less."""
    roles = {name: role for role, name in found.roles.items()}
    for number, choice in enumerate(present.choices):
        for name, value in choice.items():
            for new in _steps(name, value, roles):
                changed = {**choice, name: new}
                if found.refusal({n: v for n, v in changed.items() if n in roles}):
                    continue
                place = f"rule {number + 1}" if number < len(present.rules) else "all else"
                yield f"with {name}={new} for {place}", present.with_choice(number, changed)


def _steps(name: str, value: int, roles: Mapping[str, str]) -> list[int]:
    values = (value - 1, value + 1) if name == "num_stages" else (value // 2, value * 2)
    low, high = OPTION_RANGE[name] if name in OPTION_RANGE else TILE_RANGE[roles[name]]
    return [new for new in values if low <= new <= high]


def _pinned(module: Module, kernel: Kernel, choice: Choice) -> str | None:
    values = {name: value for name, value in choice.items() if name not in DEFAULT_OPTIONS}
    options = {name: value for name, value in choice.items() if name in DEFAULT_OPTIONS}
    text = set_launch_config(module, kernel, values, options)
    return None if isinstance(text, Refusal) else text


def _text(module: Module, kernel: Kernel, tiling: Tiling) -> str | Refusal:
    """The text with a tiling; of one without rules the setting is written down as it is."""
    if tiling.rules or tiling_in(module.text, kernel.name) is not None:
        return written(module, kernel, tiling, tuple(DEFAULT_OPTIONS))
    return _pinned(module, kernel, tiling.otherwise) or Refusal("the setting cannot be written")


def _words(choice: Choice) -> str:
    return " ".join(f"{name}={value}" for name, value in choice.items())


def _idea(kernel: Kernel, words: str, text: str, parent: str) -> Idea:
    told = f"Launch {kernel.name} {words}"
    issues = ("suboptimal_autotune_configs",)
    candidate = Candidate(text, parent, "tiling", told, Stage.AUTOTUNING, issues)
    name = f"tiling:{words}@{kernel.name}"
    return Idea(name, told, IdeaKind.LAUNCH, Stage.AUTOTUNING, candidate=candidate)
