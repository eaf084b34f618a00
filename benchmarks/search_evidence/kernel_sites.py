"""Sites of a real kernel that can be changed, and its launch settings."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.rewrites import rewrites_for
from tilewright.rewrites.launch_config import set_launch_config
from tilewright.rewrites.model import Refusal
from tilewright.source import parse_module
from tilewright.targets.model import LaunchFacts

ROOT = Path(__file__).resolve().parents[2]
Launches = Callable[[str], Sequence[LaunchFacts]]
Change = Callable[[str, Launches], str | None]
"""A text with a change made, given what captures launches; None where it does not fit."""


@dataclass(frozen=True)
class Site:
    """One place that a search may change; ``stage``: which of the engine's stages it belongs to."""

    name: str
    stage: str
    change: Change


@dataclass(frozen=True)
class Setting:
    """Constexprs and compiler options of the kernel that is tuned."""

    values: Mapping[str, int]
    options: Mapping[str, int]

    def __str__(self) -> str:
        return " ".join(
            f"{name}={value}" for name, value in {**self.values, **self.options}.items()
        )


@dataclass(frozen=True)
class RealKernel:
    """A kernel of the repository.

    Attributes:
        file: relative to the repository; its spec is the YAML file of that name, or ``spec``.
        tuned: the kernel whose launch the settings are for.
        start: sites that are changed where a search begins, and its setting.
        blind: kept apart while parameters of strategies are chosen.
        without: a part of the file that is left out.
        pin: how a setting is written down, where the engine's own way refuses the kernel.
        fast: sets of sites one of which is in the fastest text, as far as one can guess.
        shapes: extents of its timed case at which settings are measured too; may be empty.
        tiled: the set of sites of the text that is measured at them.
    """

    name: str
    file: str
    tuned: str
    sites: tuple[Site, ...]
    settings: tuple[Setting, ...]
    start: tuple[int, int] = (0, 0)
    spec: str = ""
    without: str = ""
    pin: Callable[[str, Setting], str] | None = None
    blind: bool = False
    fast: tuple[int, ...] = (0,)
    shapes: tuple[Mapping[str, int], ...] = ()
    tiled: int = 0

    @property
    def base(self) -> str:
        """The text that all others are changes of."""
        text = (ROOT / self.file).read_text("utf-8").replace(self.without, "")
        if not self.file.endswith(".md"):
            return text
        fence = re.search(r"```python\n(.*?)```", text, re.DOTALL)
        assert fence is not None
        return fence.group(1)

    @property
    def problem(self) -> Path:
        return ROOT / (self.spec or str(Path(self.file).with_suffix(".yaml")))

    def text(self, sites: int, setting: int, launches: Launches) -> str | None:
        """The text with the sites of a bit mask changed, and a setting; None if there is none."""
        text = self.changed(sites, launches)
        return None if text is None else self.pinned(text, self.settings[setting])

    def changed(self, sites: int, launches: Launches) -> str | None:
        """The text with sites changed, one after the other; None where one does not fit."""
        text: str | None = self.base
        for number, site in enumerate(self.sites):
            if text is not None and sites >> number & 1:
                text = site.change(text, launches)
        return text

    def pinned(self, text: str, setting: Setting) -> str | None:
        """The text with a launch setting; None where it cannot be written down."""
        if not setting.values and not setting.options:
            return text
        if self.pin is not None:
            return self.pin(text, setting)
        module = parse_module(text, self.problem.with_suffix(".py").name)
        pinned = set_launch_config(module, self.tuned, setting.values, setting.options)
        return None if isinstance(pinned, Refusal) else pinned


def _rewritten(text: str, launches: Launches, issue: str) -> str | None:
    """Every rewrite of an issue, one after the other, as long as one applies."""
    before = text
    for _ in range(12):
        module = parse_module(text, "kernel.py")
        context = AnalysisContext(launches=tuple(launches(text)))
        found = (one for one in analyze(module, context) if one.id == issue)
        results = (
            rewrite.apply(module, one, context) for one in found for rewrite in rewrites_for(issue)
        )
        new = next((one for one in results if not isinstance(one, Refusal)), None)
        if new is None or new == text:
            break
        text = new
    return text if text != before else None


def _edited(text: str, launches: Launches, edits: Sequence[tuple[str, str]]) -> str | None:
    """Each pattern replaced wherever it occurs; None where one does not occur."""
    for old, new in edits:
        text, count = re.subn(old, new, text)
        if not count:
            return None
    return text


def rewrite_site(name: str, stage: str, issue: str) -> Site:
    return Site(name, stage, partial(_rewritten, issue=issue))


def edit_site(name: str, stage: str, *edits: tuple[str, str]) -> Site:
    return Site(name, stage, partial(_edited, edits=edits))


def exactly(old: str) -> str:
    return re.escape(old)
