"""The idea sources of a run, by the names that a specification uses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.evaluation.workbench import Workbench
from tilewright.hardware.chips import chip
from tilewright.hardware.model import HardwareError
from tilewright.search.idea_source import IdeaSource
from tilewright.search.spec import SourceName, StrategyName, StrategySpec
from tilewright.store.ledger import Ledger
from tilewright.strategies.author import Author
from tilewright.strategies.ideas.bottlenecks import Bottlenecks
from tilewright.strategies.ideas.launches import Launches
from tilewright.strategies.ideas.model import ModelIdeas
from tilewright.strategies.ideas.patterns import Patterns
from tilewright.strategies.ideas.rewrites import Rewinds, Rewrites
from tilewright.strategies.ideas.text_facts import FactsOf
from tilewright.strategies.ideas.tilings import Tilings
from tilewright.strategies.model import Proposer
from tilewright.strategies.search_memory import SearchMemory
from tilewright.targets.model import Target

_REWRITE = "rewrite"
_DETERMINISTIC: tuple[SourceName, ...] = ("rewrites", "launches")


@dataclass(frozen=True)
class Available:
    """What sources may use of a run."""

    facts: FactsOf
    proposers: Sequence[Proposer]
    bench: Workbench | None
    target: Target | None
    can_time: bool
    note: Callable[[str], None]
    author: Author | None
    spec: StrategySpec
    ledger: Ledger
    memory: SearchMemory | None = None


def _rewrites(run: Available) -> IdeaSource | None:
    found = next((one for one in run.proposers if one.name == _REWRITE), None)
    return Rewrites(found, run.facts) if found is not None else None


def _launches(run: Available) -> IdeaSource | None:
    if run.target is None or run.bench is None:
        return None
    try:
        chip(run.target)
    except HardwareError as error:
        run.note(f"launch configurations are not tried: {error}")
        return None
    return Launches(run.target, run.facts, run.note)


def _tilings(run: Available) -> IdeaSource | None:
    """Settings by the extents of a call, where several cases are timed; else plain settings."""
    launches = _launches(run)
    if launches is None or run.bench is None or run.target is None or not run.can_time:
        return launches
    if len(run.bench.problem.measured_cases()) < 2:
        run.note("the problem times one case, so that one launch setting serves all calls")
        return launches
    return Tilings(run.bench, run.ledger, run.target, run.note)


def _patterns(run: Available) -> IdeaSource | None:
    return Patterns(run.author, run.spec.menu) if run.author is not None else None


def _model(run: Available) -> IdeaSource | None:
    if run.author is None:
        return None
    return ModelIdeas(run.author, run.spec.menu, run.spec.phases)


def _bottlenecks(run: Available) -> IdeaSource | None:
    return Bottlenecks(run.author) if run.author is not None else None


SOURCES: Mapping[SourceName, Callable[[Available], IdeaSource | None]] = {
    "rewrites": _rewrites,
    "launches": _launches,
    "patterns": _patterns,
    "model": _model,
    "bottlenecks": _bottlenecks,
}
"""How each source is made; one that gives None has nothing to offer in this run."""


STEPS: Mapping[StrategyName, Callable[[Available], IdeaSource | None]] = {
    "rewind": lambda run: Rewinds(run.facts),
    "tiling": _tilings,
}
"""Steps that have a source of their own in the place of those of the specification."""


def idea_sources(names: Sequence[SourceName], run: Available) -> list[IdeaSource]:
    """The sources that this run has, in the order of the specification.

    Those that ask the memory weigh, or replay, what the deterministic ones offer.
    """
    made = {name: SOURCES[name](run) for name in names if name in SOURCES}
    found = {name: source for name, source in made.items() if source is not None}
    if run.memory is not None and {"schedule", "memory"} & set(names):
        offered = [found[name] for name in _DETERMINISTIC if name in found]
        found |= run.memory.sources(offered, writes=run.author is not None)
    return [found[name] for name in names if name in found]
