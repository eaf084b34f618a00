"""Guidance of the prompts, chosen by what became of the candidates that it led to.

Each variant is an arm of a bandit: its share of candidates that came to parents is drawn from the
Beta distribution of what was seen, and the arm with the highest draw guides the next generation.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Lock

from tilewright.agents import summarizer
from tilewright.agents.model import Unusable
from tilewright.evaluation.model import StepName
from tilewright.memory.model import Experience
from tilewright.models.model import Role
from tilewright.search.draws import rng
from tilewright.strategies.calls import Answer, Calls, Place
from tilewright.strategies.model import Trial

_MOST_PITFALLS = 2
_VARIANTS: tuple[tuple[str, ...], ...] = (
    (),
    (
        "Prefer a change of what the kernel does (passes, launches, bytes that are moved) to a "
        "change of how it is launched.",
    ),
    (
        "Make the smallest change that can have the gain: what stays as it is cannot fail.",
        "Name in your reasons the lines of the file that the time goes to.",
    ),
)
_PITFALLS: Mapping[StepName, str] = {
    StepName.SYNTAX: "Many answers do not parse: close every bracket, and keep indents.",
    StepName.STRUCTURE: "Many answers are no usable change of the file: follow section 1 exactly.",
    StepName.COMPILE: "Many candidates do not compile: use only names that section 2 has.",
    StepName.CORRECTNESS: (
        "Many candidates give wrong results: check masks, the last tile, and the types of sums."
    ),
    StepName.SPEED: "Many candidates are correct and not faster: change what section 8 names.",
}
_FREE = "free:"


class Bandit:
    """Chooses the guidance of each generation.

    The last arm is made of what earlier candidates failed at, by rule. The choice follows from the
    seed and the trials of earlier generations, so that a resumed run makes it again.
    """

    def __init__(self, trials: Callable[[], Sequence[Trial]], seed: int, spec_hash: str) -> None:
        self._trials = trials
        self._seed = seed
        self._spec_hash = spec_hash
        self._chosen: dict[int, tuple[int, tuple[str, ...]]] = {}
        self._lock = Lock()

    def guidance(self, generation: int) -> tuple[str, ...]:
        """The sentences for a generation."""
        with self._lock:
            if generation not in self._chosen:
                self._chosen[generation] = self._choice(generation)
            return self._chosen[generation][1]

    def _choice(self, generation: int) -> tuple[int, tuple[str, ...]]:
        trials = [t for t in self._trials() if t.node is not None and t.candidate.call]
        variants = (*_VARIANTS, pitfalls(trials))
        good, bad = Counter[int](), Counter[int]()
        for trial in trials:
            assert trial.node is not None
            arm = self._chosen.get(trial.node.generation)
            if arm is not None:
                (good if trial.node.alive else bad)[arm[0]] += 1
        draw = rng(self._seed, self._spec_hash, "guidance", generation)
        arms = [n for n, variant in enumerate(variants) if variant or n == 0]
        draws = {n: draw.betavariate(1 + good[n], 1 + bad[n]) for n in arms}
        best = max(arms, key=lambda n: draws[n])
        return best, variants[best]


def pitfalls(trials: Sequence[Trial]) -> tuple[str, ...]:
    """What most candidates failed at, in sentences that quote nothing of theirs."""
    failed = (trial.evaluation.failed for trial in trials)
    steps = Counter(step.step for step in failed if step is not None and step.step in _PITFALLS)
    return tuple(_PITFALLS[name] for name, count in steps.most_common(_MOST_PITFALLS) if count > 1)


def summarized(calls: Calls, learned: Sequence[Experience]) -> list[Experience]:
    """The experiences, those of free changes with a title and a mechanism of the summarizer's.

    One call for each such change; the same pair of texts makes the same prompt, which is answered
    from the cache of replies. Where there is no usable answer, an experience stays as it is.
    """
    free = [one for one in learned if one.key.startswith(_FREE) and one.diff]
    if not free or not calls.can_ask(Role.SUMMARIZER):
        return list(learned)
    prompts = [summarizer.build(one.diff, one.title, _measured(one)) for one in free]
    place = Place(Role.SUMMARIZER)
    answers = calls.ask_each(prompts, place, [0] * len(prompts), summarizer.SCHEMA)
    told = {
        one.id: _summarized_experience(one, answer)
        for one, answer in zip(free, answers, strict=True)
    }
    return [told.get(one.id, one) for one in learned]


def _summarized_experience(one: Experience, answer: Answer) -> Experience:
    found = summarizer.parse(answer.reply.text) if answer.reply is not None else None
    if found is None or isinstance(found, Unusable):
        return one
    return replace(one, title=found.title, mechanism=found.mechanism)


def _measured(one: Experience) -> str:
    found = one.measured
    return f"{found.ratio:.2f} times the speed [{found.low:.2f}, {found.high:.2f}]"
