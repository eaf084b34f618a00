"""Ideas that a model has: a plan for each slot, or the choice left to the candidate's author."""

from collections.abc import Sequence
from random import Random

from tilewright.agents import cards, change
from tilewright.agents.change import Plan, Task
from tilewright.agents.model import Unusable
from tilewright.analysis.preconditions.match import Applicable
from tilewright.evaluation.model import text_hash
from tilewright.knowledge.stages import Stage
from tilewright.models.model import Role
from tilewright.search.node import Idea, IdeaKind, Node
from tilewright.search.spec import MenuSpec
from tilewright.strategies.author import Author
from tilewright.strategies.calls import Answer, Place
from tilewright.strategies.ideas.patterns import entries, random_subset


class ModelIdeas:
    """Ideas of a model, as many as are wanted.

    Each slot has a menu of its own, drawn with dropout, and some slots are asked for what the menu
    does not have. An idea that came to no parent is tried again, with what the verifier found.

    Args:
        phases: 2: the planner describes the change, and the optimizer writes it; 1: the optimizer
            chooses and writes it in one call.
    """

    name = "model"

    def __init__(self, author: Author, menu: MenuSpec, phases: int) -> None:
        self._author = author
        self._menu = menu
        self._phases = phases
        self._known: dict[str, list[Idea]] = {}

    def ideas(self, node: Node, want: int, rng: Random) -> Sequence[Idea]:
        """Ideas that are still open, then new ones; none once no model can write them."""
        if not self._author.can_write:
            return ()
        known = self._known.setdefault(node.hash, [])
        again = [one for one in known if self._author.is_open(node, one)][:want]
        new = self._new(node, want - len(again), rng) if len(again) < want else []
        known.extend(new)
        return [*again, *new]

    def _new(self, node: Node, want: int, rng: Random) -> list[Idea]:
        every = entries(self._author, node)
        menus = [random_subset(every, rng, self._menu) for _ in range(want)]
        invents = [rng.random() < self._menu.invent for _ in range(want)]
        name = f"{rng.getrandbits(32):08x}"
        tasks = [
            Task(menu=tuple(map(cards.brief_words, menu)), invents=invent)
            for menu, invent in zip(menus, invents, strict=True)
        ]
        if self._phases == 1 or not self._author.calls.can_ask(Role.PLANNER):
            return [self._free(node, f"{name}.{n}", task) for n, task in enumerate(tasks)]
        plans = self._unlike(node, self._planned(node, menus, tasks))
        ideas = [
            plan or self._free(node, f"{name}.{n}", task)
            for n, (plan, task) in enumerate(zip(plans, tasks, strict=True))
        ]
        if missing := plans.count(None):
            self._author.note(
                f"{missing} of {len(plans)} plans are of no use: the candidate's author chooses"
            )
        return ideas

    def _unlike(self, node: Node, plans: Sequence[Idea | None]) -> list[Idea | None]:
        """The plans without those that repeat another of the text, which would end its search."""
        known = {idea.id for idea in self._known[node.hash]}
        found: list[Idea | None] = []
        for plan in plans:
            is_new = plan is not None and plan.id not in known
            found.append(plan if is_new else None)
            known |= {plan.id} if plan is not None else set()
        return found

    def _free(self, node: Node, name: str, task: Task) -> Idea:
        idea = Idea(f"free:{name}", "", IdeaKind.MODEL, Stage.DISCOVERY)
        self._author.give(node, idea, task)
        return idea

    def _planned(
        self, node: Node, menus: Sequence[Sequence[Applicable]], tasks: Sequence[Task]
    ) -> list[Idea | None]:
        """Plans of the planner, each with the transformation that it follows."""
        briefing, target = self._author.briefing(node), self._author.target(node)
        prompts = [
            change.build_plan(briefing, Task(menu=t.menu, invents=t.invents, target=target))
            for t in tasks
        ]
        answers = self._author.calls.ask_each(
            prompts, Place(Role.PLANNER), range(len(prompts)), change.SCHEMA
        )
        return [self._plan(node, *pair) for pair in zip(answers, menus, strict=True)]

    def _plan(self, node: Node, answer: Answer, menu: Sequence[Applicable]) -> Idea | None:
        if answer.reply is None:
            return None
        ids = [one.pattern.id for one in menu]
        plan = change.parse_plan(answer.reply.text, ids)
        if isinstance(plan, Unusable):
            return None
        chosen = [one for one in menu if one.pattern.id == plan.entry]
        idea = _idea(plan)
        task = Task(plan.text, plan.stage, tuple(map(cards.full_words, chosen)))
        self._author.give(node, idea, task)
        return idea


def _idea(plan: Plan) -> Idea:
    name = text_hash(plan.text)[:12]
    key = f"pattern:{plan.entry}#{name}" if plan.entry else f"free:{name}"
    return Idea(key, plan.text, IdeaKind.MODEL, plan.stage, plan.expects)
