"""Optimization rewind: what good kernels lose when one issue is put in, as measured experience."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.evaluation.model import Candidate, Evaluation, Level, Speedup, text_hash
from tilewright.knowledge.base import taxonomy
from tilewright.memory.conditions import conditions_of
from tilewright.memory.model import Experience, Origin, Outcome, Provenance, Transition
from tilewright.memory.pairs import experience, figures_of
from tilewright.memory.signature import signature_of
from tilewright.rewrites.rewinds import Rewind, Rewound, all_rewinds
from tilewright.search.node import Idea, IdeaKind
from tilewright.source import parse_module
from tilewright.source.model import Language, Module

PER_KERNEL = 3
"""Sites of one kernel that are tried for each issue."""
Judge = Callable[[str], Evaluation]
"""The evaluation of a text with its speed against the good text."""


@dataclass(frozen=True)
class Site:
    """A rewind at one place of a good kernel."""

    rewind: Rewind
    kernel: str
    rewound: Rewound


class Effect(StrEnum):
    """What a rewind did. Only ``SLOWER`` is remembered."""

    SLOWER = "slower"
    NONE = "no measurable effect"
    FASTER = "faster"
    REFUSED = "refused"
    UNKNOWN = "no verdict"


@dataclass(frozen=True)
class Rewinding:
    """A site, what the cascade found of it, and the entry, where it really cost time."""

    site: Site
    evaluation: Evaluation
    effect: Effect
    reason: str
    entry: Experience | None = None


def sites(module: Module, context: AnalysisContext) -> list[Site]:
    """Where an issue can be put into a kernel that does not have it.

    The first site of every rewind comes first, then the second ones, so that a budget that ends
    early has seen every issue. A rewind that supposes another chip than the chosen one is left out.
    """
    rounds: dict[int, list[Site]] = {}
    for kernel in module.kernels:
        if kernel.language is not Language.TRITON:
            continue
        for rewind in all_rewinds():
            found = _sites_of(module, kernel.name, rewind, context)
            for number, site in zip(range(PER_KERNEL), found, strict=False):
                rounds.setdefault(number, []).append(site)
    every = [site for number in sorted(rounds) for site in rounds[number]]
    first: dict[str, Site] = {}
    for site in every:
        first.setdefault(site.rewound.text, site)
    return list(first.values())


def _sites_of(
    module: Module, name: str, rewind: Rewind, context: AnalysisContext
) -> Iterator[Site]:
    kernel = module.kernel(name)
    assert kernel is not None
    for rewound in rewind.apply(module, kernel, context):
        supposed = rewound.context
        if supposed.target != context.target:
            continue
        after = parse_module(rewound.text, module.path)
        if _count(after, rewind.issue, supposed) > _count(module, rewind.issue, supposed):
            yield Site(rewind, name, rewound)


def _count(module: Module, issue: str, context: AnalysisContext) -> int:
    """How often an issue is found."""
    return sum(found.id == issue for found in analyze(module, context, suppressed=True))


def rewound(
    module: Module,
    context: AnalysisContext,
    chosen: Sequence[Site],
    judge: Judge,
    source: Provenance,
    created: str = "",
) -> Iterator[Rewinding]:
    """Judge sites one by one, each alone in the good text.

    Args:
        context: with the launches of the good text on its problem.
        source: of the good text; ``kernel`` is replaced.
    """
    if not chosen:
        return
    present = figures_of(judge(module.text))
    for site in chosen:
        evaluation = judge(site.rewound.text)
        effect, reason = effect_of(evaluation)
        entry = None
        if effect is Effect.SLOWER:
            entry = _entry(module, context, site, evaluation, source, present, created)
        yield Rewinding(site, evaluation, effect, reason, entry)


def effect_of(evaluation: Evaluation) -> tuple[Effect, str]:
    """What a rewind did, and why one that is not remembered is not."""
    failed, speedup = evaluation.failed, evaluation.speedup
    if evaluation.error is not None:
        return Effect.UNKNOWN, evaluation.error.message
    if evaluation.level is Level.REJECTED:
        assert failed is not None
        return Effect.REFUSED, f"{failed.step.value}: {failed.message}"
    if speedup is None:
        return Effect.UNKNOWN, failed.message if failed else "it was not measured"
    words = speedup.words
    if speedup.is_slower:
        return Effect.SLOWER, words
    return (Effect.FASTER if speedup.is_faster else Effect.NONE), words


def _entry(
    module: Module,
    context: AnalysisContext,
    site: Site,
    evaluation: Evaluation,
    source: Provenance,
    present: Mapping[str, float],
    created: str,
) -> Experience:
    """The way back from the rewound text to the good one."""
    assert evaluation.speedup is not None
    rewind, text = site.rewind, site.rewound.text
    slow = parse_module(text, module.path)
    transition = Transition(
        before=text,
        after=module.text,
        idea=_idea(rewind, module.text, text),
        evaluation=replace(evaluation, speedup=inverse(evaluation.speedup)),
        signature=signature_of(module, context),
        source=replace(source, kernel=text_hash(text), origin=Origin.MINED),
        facts_before=figures_of(evaluation),
        facts_after=present,
        when=conditions_of(rewind.issue, slow, slow.kernel(site.kernel), context),
    )
    return experience(transition, Outcome.HELPED, created)


def _idea(rewind: Rewind, good: str, slow: str) -> Idea:
    key = f"rewrite:{rewind.rewrite}"
    stage = taxonomy()[rewind.issue].stage
    candidate = Candidate(good, text_hash(slow), key, rewind.applies, stage, (rewind.issue,))
    return Idea(key, taxonomy()[rewind.issue].title, IdeaKind.REWRITE, stage, (), candidate)


def inverse(speedup: Speedup) -> Speedup:
    """The contest seen from the other side."""
    return replace(
        speedup,
        value=1 / speedup.value,
        low=1 / speedup.high,
        high=1 / speedup.low,
        original_us=speedup.candidate_us,
        candidate_us=speedup.original_us,
        original_host_us=speedup.candidate_host_us,
        candidate_host_us=speedup.original_host_us,
    )
