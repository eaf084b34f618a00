"""The verify-and-refine loop: a model proposes, the cascade verifies, the model gets the findings.

One loop a stage. A try is one call; its candidate is judged like any other, and the next try's
prompt says what became of it. The loop ends with the first candidate that is kept.
"""

import difflib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tilewright.agents import observation, optimizer
from tilewright.agents.briefing import Briefing
from tilewright.agents.model import Proposal, Step, Unusable
from tilewright.agents.prompt import Prompt
from tilewright.evaluation.model import Candidate, Level, text_hash
from tilewright.knowledge.stages import Stage
from tilewright.models.model import BudgetSpentError, ContextLengthError, ReplyError, Role
from tilewright.strategies.advice import Adviser
from tilewright.strategies.briefing import Briefer, Position
from tilewright.strategies.calls import Answer, Calls, Place
from tilewright.strategies.model import ProposalRequest, Trial

NAME = "model"


@dataclass
class _Trajectory:
    """The tries of one stage.

    Attributes:
        briefing: of the text that the stage's loop began with, which each try is to change.
        steps: earlier tries that the next prompt shows, the oldest first.
        limit: tokens of a prompt, once the model has refused one as too long.
    """

    briefing: Briefing
    stage: Stage
    issues: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    limit: int | None = None

    @property
    def parent(self) -> str:
        return self.briefing.text

    def prompt(self, role: Role) -> Prompt:
        """The next prompt of a role."""
        return optimizer.build(self.briefing, self.stage, self.steps, self.limit, role)

    def shorten(self, refused: Prompt) -> bool:
        """Leave out the oldest step, which is four entries of the trajectory, or, where one step is
        left, halve the prompt once. False: there is nothing to leave out."""
        shorter = optimizer.shortened(self.steps)
        if shorter is not None:
            self.steps = shorter
        elif self.limit is None:
            self.limit = refused.tokens // 2
        else:
            return False
        return True

    def candidate(self, answer: Answer, parsed: Proposal | Unusable) -> Candidate:
        """What a reply proposes; the parent's text with a reason where it gives no text."""
        usable = isinstance(parsed, Proposal)
        return Candidate(
            text=parsed.text if isinstance(parsed, Proposal) else self.parent,
            parent=text_hash(self.parent),
            proposer=f"{NAME}:{answer.choice.name}",
            rationale=parsed.rationale if isinstance(parsed, Proposal) else "no usable reply",
            stage=self.stage,
            issues=self.issues if usable else (),
            call=answer.key,
            unusable=parsed.message if isinstance(parsed, Unusable) else "",
        )

    def diff(self, text: str) -> str:
        """Unified, against the text that the stage began with."""
        return diff_of(self.briefing.file_name, self.parent, text)


@dataclass
class _Samples:
    """Further replies to the prompt that led to a candidate, of which the best is kept."""

    trajectory: _Trajectory
    prompt: Prompt
    attempt: int
    answers: deque[Answer] = field(default_factory=deque)
    asked: bool = False


class CoverProposer:
    """Proposes what a model makes of a stage, with the cascade's findings of each try.

    Once a try is kept, the stage is done for the model, unless ``samples`` asks for more replies to
    the same prompt: these have to beat the one that was kept.

    Args:
        note: is given a sentence for each stage that ends without a candidate.
    """

    name = NAME
    independent = False  # a try follows from what became of those before it

    def __init__(
        self, calls: Calls, adviser: Adviser, briefer: Briefer, note: Callable[[str], None]
    ) -> None:
        self._calls = calls
        self._adviser = adviser
        self._briefer = briefer
        self._note = note
        self._asked: set[Stage] = set()
        self._further: dict[Stage, _Samples] = {}

    def propose(self, request: ProposalRequest) -> Iterator[Candidate]:
        """The next candidates of a stage; resumed once the one before was judged."""
        stage = request.stage
        if stage in self._further:
            yield from self._samples(request, self._further[stage])
        elif stage not in self._asked and self._is_wanted(request):
            self._asked.add(stage)
            yield from self._tries(request, self.trajectory(request))

    def trajectory(self, request: ProposalRequest) -> _Trajectory:
        """The loop of a stage before its first try."""
        suspected = self._adviser.suspected_of(request.module.text)
        every = (*request.issues, *request.others)
        position = Position(request.module, request.context, every, request.trials, request.present)
        here = (*request.issues, *(i for i in suspected if i.stage is request.stage))
        issues = dict.fromkeys(issue.id for issue in here)
        briefing = self._briefer.briefing(position, suspected)
        return _Trajectory(briefing, request.stage, tuple(issues))

    def _is_wanted(self, request: ProposalRequest) -> bool:
        wanted = self._adviser.wants(request.stage, request.issues, request.module.text)
        return wanted and self._calls.can_ask(Role.OPTIMIZER)

    def _tries(self, request: ProposalRequest, trajectory: _Trajectory) -> Iterator[Candidate]:
        tries = self._calls.ensemble.tries
        for attempt in range(1, tries + 1):
            request.attempt(attempt)
            asked = self._ask(trajectory, Role.OPTIMIZER, attempt)
            if asked is None:
                return
            yield from self._tried(request, trajectory, *asked, attempt)
        asked = self._ask(trajectory, Role.EXTRACTOR, tries + 1)
        if asked is not None:
            parsed = parsed_answer(asked[1], trajectory.briefing, optimizer.parse)
            yield trajectory.candidate(asked[1], parsed)

    def _tried(
        self,
        request: ProposalRequest,
        trajectory: _Trajectory,
        prompt: Prompt,
        answer: Answer,
        attempt: int,
    ) -> Iterator[Candidate]:
        """One try's candidate; once resumed, it was not kept, and the next try will know why."""
        parsed = parsed_answer(answer, trajectory.briefing, optimizer.parse)
        candidate = trajectory.candidate(answer, parsed)
        before = len(request.trials)
        if self._may_sample(trajectory):
            self._further[request.stage] = _Samples(trajectory, prompt, attempt)
        yield candidate
        self._further.pop(request.stage, None)
        step = self._step(request, trajectory, parsed, candidate, request.trials[before:])
        trajectory.steps = (*trajectory.steps, step)

    def _step(
        self,
        request: ProposalRequest,
        trajectory: _Trajectory,
        parsed: Proposal | Unusable,
        candidate: Candidate,
        trials: Sequence[Trial],
    ) -> Step:
        """What the next prompt says of a try that was not kept; ``trials``: those made of it."""
        if isinstance(parsed, Unusable):
            return Step(parsed.thought, "", parsed.message)
        diff = trajectory.diff(parsed.text)
        if not trials:
            return Step(parsed.thought, diff, _repeated(candidate, request.trials))
        before = request.present() if request.present is not None else None
        evaluation = trials[-1].evaluation
        found = [observation.words(evaluation, parsed.text, before)]
        if evaluation.level is Level.CORRECT and evaluation.speedup is not None:
            found += self._briefer.summary(parsed.text)
        return Step(parsed.thought, diff, "\n".join(found))

    def _may_sample(self, trajectory: _Trajectory) -> bool:
        """Whether there is a best of several: only where what is kept has to be faster."""
        timed = self._briefer.measured and trajectory.stage is not Stage.CORRECTNESS
        return timed and self._calls.ensemble.samples > 1

    def _samples(self, request: ProposalRequest, further: _Samples) -> Iterator[Candidate]:
        """Further replies to a prompt, each of which has to beat what was kept before it."""
        if not further.asked:
            further.asked = True
            if self._calls.can_ask(Role.OPTIMIZER):
                request.attempt(further.attempt)
                place = Place(Role.OPTIMIZER, request.stage, further.attempt)
                samples = range(1, self._calls.ensemble.samples)
                prompts = [further.prompt] * len(samples)
                further.answers.extend(self._calls.ask_each(prompts, place, samples))
        while further.answers:
            answer = further.answers.popleft()
            if self._is_reply(request.stage, answer):
                trajectory = further.trajectory
                parsed = parsed_answer(answer, trajectory.briefing, optimizer.parse)
                yield trajectory.candidate(answer, parsed)
        self._further.pop(request.stage, None)

    def _ask(
        self, trajectory: _Trajectory, role: Role, attempt: int
    ) -> tuple[Prompt, Answer] | None:
        """The reply to the next prompt, with the prompt; None where the loop has to end."""
        place = Place(role, trajectory.stage, attempt)
        while self._calls.can_ask(role):
            prompt = trajectory.prompt(role)
            answer = self._calls.ask(prompt, place)
            if isinstance(answer.error, ContextLengthError) and trajectory.shorten(prompt):
                continue
            return (prompt, answer) if self._is_reply(trajectory.stage, answer) else None
        return None

    def _is_reply(self, stage: Stage, answer: Answer) -> bool:
        """Whether there is something to judge: a text, or an answer of no use."""
        error = answer.error
        if error is None or isinstance(error, ReplyError):
            return True
        if not isinstance(error, BudgetSpentError):
            self._note(f"{stage.value}: {answer.choice.name} gave no candidate: {error}")
        return False


def diff_of(name: str, before: str, after: str) -> str:
    """The unified diff of a file's two texts."""
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    return "".join(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"))


def parsed_answer(
    answer: Answer,
    briefing: Briefing,
    parse: Callable[[str, Briefing], Proposal | Unusable],
) -> Proposal | Unusable:
    """What an answer proposes, or why it is of no use."""
    if answer.reply is None:
        return Unusable(str(answer.error))
    parsed = parse(answer.reply.text, briefing)
    if isinstance(parsed, Unusable) and answer.reply.finish == "length":
        most = answer.choice.max_output_tokens
        cut = f"the reply was cut at {most} tokens; answer with less text. {parsed.message}"
        return Unusable(cut, parsed.thought)
    return parsed


def _repeated(candidate: Candidate, trials: Sequence[Trial]) -> str:
    """What is said of a candidate that is not judged again."""
    for trial in reversed(trials):
        if trial.candidate.hash == candidate.hash and not trial.candidate.unusable:
            return f"The same text was tried before (trial {trial.number}): {trial.reason}"
    return "The text is the present one: nothing was changed."
