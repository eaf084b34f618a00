"""What models say before a stage begins: issues that no detector sees, the order of the stages."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from tilewright.agents import analyzer, planner
from tilewright.agents.briefing import Briefing
from tilewright.agents.model import ProposedIssue, Unusable
from tilewright.agents.prompt import Prompt
from tilewright.analysis.model import Issue
from tilewright.knowledge.stages import Stage, order_stages
from tilewright.models.model import BudgetSpentError, ContextLengthError, Role
from tilewright.source.text import Range
from tilewright.strategies.briefing import Briefer, Position
from tilewright.strategies.calls import Answer, Calls, Place
from tilewright.strategies.planner import replan

OPEN_ENDED = "open_ended"


class Adviser:
    """The analyzer and the planner of a run.

    Issues of the analyzer add stages and are shown to the optimizer as a model's; no rewrite acts
    on them. The planner orders the stages and may skip some: no model is asked in a stage that it
    skips, but rewrites and the tuner take their turn there.

    Attributes:
        suspected: the issues that a model reported of the text analyzed last.
    """

    def __init__(self, calls: Calls, briefer: Briefer, note: Callable[[str], None]) -> None:
        self.suspected: tuple[Issue, ...] = ()
        self._calls = calls
        self._briefer = briefer
        self._note = note
        self._analyzed: str | None = None
        self._order: tuple[Stage, ...] | None = None
        self._skipped: frozenset[Stage] = frozenset()
        self._open = False

    def plan(
        self, position: Position, done: Sequence[Stage], always: Collection[Stage]
    ) -> tuple[Stage, ...]:
        """The stages still to do at a position, in a legal order."""
        self._analyze(position)
        issues = (*position.issues, *self.suspected_of(position.module.text))
        more = (Stage.DISCOVERY,) if self._open else ()
        stages = replan(issues, done, (*always, *more))
        if self._order is None:
            self._order = self._ordered(position, issues, stages)
        wish = [stage for stage in self._order if stage in stages]
        return order_stages((*wish, *stages))

    def wants(self, stage: Stage, issues: Sequence[Issue], text: str) -> bool:
        """Whether the optimizer is to be asked in a stage."""
        if stage in self._skipped:
            return False
        if stage is Stage.DISCOVERY and self._open:
            return True
        return any(i.stage is stage for i in (*issues, *self.suspected_of(text)))

    def suspected_of(self, text: str) -> tuple[Issue, ...]:
        """The analyzer's issues whose evidence is still in the text, each on its present line."""
        placed = (_placed(issue, text) for issue in self.suspected)
        return tuple(issue for issue in placed if issue is not None)

    def _analyze(self, position: Position) -> None:
        """Ask the analyzer of a text that it has not seen; settings of a launch tell it nothing."""
        text = position.module.text
        seen = analyzer.essence(text)
        if seen == self._analyzed or not self._calls.can_ask(Role.ANALYZER):
            return
        first, self._analyzed = self._analyzed is None, seen
        briefing = self._briefer.briefing(position)
        answer = self._role_answer(
            Role.ANALYZER, lambda limit: analyzer.build(briefing, limit), analyzer.SCHEMA
        )
        found = _proposed(answer, briefing)
        if isinstance(found, str):
            self._note(f"the analyzer reports no issues: {found}")
            self._open |= first and not isinstance(answer.error, BudgetSpentError)
            self.suspected = ()
        else:
            self._open = False
            self.suspected = tuple(_issue(one, answer.choice.name, text) for one in found.issues)
            for why in found.refused:
                self._note(f"the analyzer: {why}")

    def _ordered(
        self, position: Position, issues: tuple[Issue, ...], stages: tuple[Stage, ...]
    ) -> tuple[Stage, ...]:
        """The planner's order; the default one where there is nothing to order, or no answer."""
        if len(stages) < 2 or not self._calls.can_ask(Role.PLANNER):
            return stages
        briefing = replace(self._briefer.briefing(position), issues=issues)
        answer = self._role_answer(
            Role.PLANNER,
            lambda limit: planner.build(briefing, stages, limit),
            planner.SCHEMA,
        )
        if answer.reply is None:
            self._note(f"stages are taken in the default order: {answer.error}")
            return stages
        plan = planner.parse(answer.reply.text, stages)
        if plan.note:
            self._note(plan.note)
        skipped = frozenset(plan.skipped) - {Stage.CORRECTNESS}
        if skipped:
            names = ", ".join(stage.value for stage in stages if stage in skipped)
            self._note(f"the planner skips {names}: only rewrites and the tuner are tried there")
        self._skipped = skipped
        return plan.stages

    def _role_answer(
        self, role: Role, build: Callable[[int | None], Prompt], schema: Any
    ) -> Answer:
        """The role's answer; where the prompt was too long, to one of half its length."""
        prompt = build(None)
        answer = self._calls.ask(prompt, Place(role), schema)
        if isinstance(answer.error, ContextLengthError):
            answer = self._calls.ask(build(prompt.tokens // 2), Place(role), schema)
        return answer


def _proposed(answer: Answer, briefing: Briefing) -> analyzer.Analysis | str:
    """What an answer reports; a sentence where nothing of it can be read."""
    if answer.reply is None:
        return str(answer.error)
    found = analyzer.analysis(answer.reply.text, briefing)
    return found.message if isinstance(found, Unusable) else found


def _issue(proposed: ProposedIssue, model: str, text: str) -> Issue:
    """A proposed issue as an issue; its ``data`` says that it is a model's."""
    lines = text.splitlines() or [""]
    line = min(max(1, proposed.line), len(lines))
    gain = {} if proposed.gain is None else {"gain": f"{proposed.gain:g}"}
    return Issue(
        id=proposed.id or OPEN_ENDED,
        stage=proposed.stage,
        severity=proposed.severity,
        message=f"suspected by a model: {proposed.title}. Proposed fix: {proposed.fix}",
        kernel=None,
        range=Range(line, 0, line, len(lines[line - 1])),
        data={"suspected_by": model, "evidence": proposed.evidence, **gain},
    )


def _placed(issue: Issue, text: str) -> Issue | None:
    """The issue on the line that has its evidence now; None if no line has it any more."""
    evidence = issue.data["evidence"].strip().splitlines()
    first = evidence[0].strip() if evidence else ""
    lines = text.splitlines() or [""]
    at = [number for number, line in enumerate(lines, 1) if first in line]
    if not at:
        return None
    line = min(at, key=lambda number: abs(number - issue.range.line))
    return replace(issue, range=Range(line, 0, line, len(lines[line - 1])))
