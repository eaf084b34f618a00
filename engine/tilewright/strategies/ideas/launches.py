"""Ideas that are launch configurations: tile sizes, warps and stages of a kernel."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

from tilewright.evaluation.model import Candidate, text_hash
from tilewright.hardware.chips import chip
from tilewright.knowledge.stages import Stage
from tilewright.rewrites.launch_config import set_launch_config
from tilewright.rewrites.model import Refusal
from tilewright.rewrites.tiles import tunable
from tilewright.search.node import Idea, IdeaKind, Node
from tilewright.source.model import Kernel
from tilewright.strategies.ideas.text_facts import FactsOf, TextFacts
from tilewright.strategies.menus import Setting, menu, neighbours
from tilewright.strategies.ranking import presorted
from tilewright.targets.model import Target


class Launches:
    """The tuner's menu and the steps from the present setting, most promising first.

    Args:
        note: is given what cannot be set, and why.
    """

    name = "launches"

    def __init__(self, target: Target, facts: FactsOf, note: Callable[[str], None]) -> None:
        self._target = target
        self._facts = facts
        self._note = note
        self._known: dict[str, tuple[Idea, ...]] = {}
        self._refused: set[str] = set()

    def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
        """All settings of the node's kernels."""
        del want, rng
        if node.hash not in self._known:
            facts = self._facts(node.text)
            kernels = facts.module.entry_kernels()
            self._known[node.hash] = tuple(
                idea for kernel in kernels for idea in self._settings(facts, kernel)
            )
        return self._known[node.hash]

    def _settings(self, facts: TextFacts, kernel: Kernel) -> Iterator[Idea]:
        module, on = facts.module, chip(self._target)
        found = tunable(module, kernel)
        if isinstance(found, Refusal):
            self._note(f"{kernel.name} is not tuned: {found.reason}")
            return
        launch = next((x for x in facts.context.launches if x.kernel == kernel.name), None)
        if launch is None:
            return
        every = [*neighbours(Setting({}, {}), found, on), *menu(found, launch, on)]
        settings = {str(setting): setting for setting in every}
        refused: list[str] = []
        for setting in presorted(module, kernel, launch, [*settings.values()], on):
            text = set_launch_config(module, kernel, setting.values, setting.options)
            if isinstance(text, Refusal):
                refused.append(text.reason)
            elif text != module.text:
                yield _idea(kernel, setting, text, text_hash(module.text))
        if refused and kernel.name not in self._refused:
            self._refused.add(kernel.name)
            some = f"{len(refused)} launch configurations cannot be written"
            self._note(f"{kernel.name}: {some} (the first: {refused[0]})")


def _idea(kernel: Kernel, setting: Setting, text: str, parent: str) -> Idea:
    words = f"Launch {kernel.name} with {setting}"
    candidate = Candidate(
        text, parent, "launch", words, Stage.AUTOTUNING, ("suboptimal_autotune_configs",)
    )
    name = f"launch:{setting}@{kernel.name}"
    return Idea(name, words, IdeaKind.LAUNCH, Stage.AUTOTUNING, candidate=candidate)
