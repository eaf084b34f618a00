"""Issues from running a file's host functions, for ``check --executed``: on drafted inputs, and on
those of a model's review."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tilewright.agents import reviewer, speed_reviewer
from tilewright.agents.model import Unusable
from tilewright.agents.prompt import Prompt
from tilewright.agents.reviewer import Review
from tilewright.agents.speed_reviewer import SpeedReview
from tilewright.analysis.model import Issue
from tilewright.checking import Checked
from tilewright.checking.configuration import Rules
from tilewright.cli.compile_issues import has_triton_kernels
from tilewright.cli.model_options import connect
from tilewright.cli.output import ERR, working
from tilewright.cli.session import device_for
from tilewright.devices.model import INTERPRETER, Device
from tilewright.errors import TilewrightError
from tilewright.evaluation.workbench import place_source
from tilewright.executed.issues import executed_issues, import_issue
from tilewright.executed.jobs import NotImportedError, all_tried, launching_methods
from tilewright.executed.lost_time import lost_time
from tilewright.executed.reviews import reviewed, reviewed_functions
from tilewright.executed.search import Tried
from tilewright.home import home
from tilewright.models.model import CallRequest, ModelError, Role, Spent
from tilewright.models.settings import Ensemble
from tilewright.scratch import scratch_folder
from tilewright.source.model import Module

_Parsed = TypeVar("_Parsed")


@dataclass(frozen=True)
class Reviews:
    """What models say of a file: of its faults, and of its lost time; None where they do not."""

    faults: Review | None = None
    speed: SpeedReview | None = None


class Reviewers:
    """The models that review the files of a command, one after the other.

    Raises:
        InputError: an endpoint demands a key, and there is none.
    """

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble
        self._client = connect(ensemble, Spent())
        self._asked = 0

    def review(self, module: Module, path: Path) -> Reviews:
        """The reviews of a file; why there is none is said."""
        functions = reviewed_functions(module)
        if not functions:
            return Reviews()
        choice = self._ensemble.choose(Role.REVIEWER, self._asked)
        self._asked += 1

        def parsed(prompt: Prompt, parse: Callable[[str], _Parsed | Unusable]) -> _Parsed | None:
            request = CallRequest(Role.REVIEWER, choice, prompt.messages())
            with working(f"{choice.name} reviews {path}"):
                found = parse(self._client.complete(request).text)
            if isinstance(found, Unusable):
                ERR.print(f"{path}: not reviewed: {found.message}")
                return None
            return found

        faults, speed = None, None
        try:
            faults = parsed(reviewer.build(module.text, functions), reviewer.parse)
            speed = parsed(speed_reviewer.build(module.text, functions), speed_reviewer.parse)
        except ModelError as error:
            ERR.print(f"{path}: not reviewed: {error}")
        return Reviews(faults, speed)

    def close(self) -> None:
        """Give back the connections, and say how the calls were made."""
        for note in self._client.notes:
            ERR.print(f"note: {note}")
        self._client.close()


def with_executed(
    checked: Checked, path: Path, rules: Rules, reviewers: Reviewers | None = None
) -> Checked:
    """A checked file with what running it shows; what cannot be run is said and left out."""
    module = checked.module
    if not has_triton_kernels(checked, path, "run"):
        return checked
    reviews: list[Tried] = []
    try:
        review = reviewers.review(module, path) if reviewers is not None else Reviews()
        with working(f"running {path}"), scratch_folder() as scratch:
            placed = place_source(path, module.text, scratch / "executed")
            with device_for(INTERPRETER, None) as device:
                found = all_tried(module, str(placed), device)
                reviews = _reviewed(module, str(placed), review, path, device)
    except NotImportedError as error:
        new = import_issue(module, error.error)
        if not new:
            ERR.print(f"{path}: not run: {error}")
        return checked.with_issues(_unknown(new, checked), rules)
    except TilewrightError as error:
        ERR.print(f"{path}: not run: {error}")
        return checked
    _say_rest(module, path, found)
    for one in reviews:
        if one.why:
            ERR.print(f"{path}: {one.function}: a review shows nothing of it: {one.why}")
    new = executed_issues(module, [*found, *reviews])
    return checked.with_issues(_unknown(new, checked), rules)


def _reviewed(
    module: Module, placed: str, reviews: Reviews, path: Path, device: Device
) -> list[Tried]:
    """What running the reviews shows."""
    found = []
    if reviews.faults is not None:
        written = _place_code(reviews.faults.code, path)
        found += reviewed(module, placed, reviews.faults, written, device)
    if reviews.speed is not None:
        written = _place_code(reviews.speed.code, path)
        found += lost_time(module, placed, reviews.speed, written, device)
    return found


def _place_code(code: str, path: Path) -> Path:
    """Where the module of a review is kept, so that a person can read it."""
    digest = hashlib.sha256(code.encode()).hexdigest()[:12]
    place = home() / "reviews" / f"{path.stem}_{digest}.py"
    place.parent.mkdir(exist_ok=True)
    place.write_text(code)
    return place


def _unknown(new: Sequence[Issue], checked: Checked) -> Iterator[Issue]:
    """Those that the text does not show already."""
    known = {(issue.id, issue.range.line) for issue in checked.issues}
    return (issue for issue in new if (issue.id, issue.range.line) not in known)


def _say_rest(module: Module, path: Path, found: Sequence[Tried]) -> None:
    for one in found:
        if one.call is None:
            ERR.print(f"{path}: {one.function}: not run: {one.why}")
    if not found:
        methods = launching_methods(module)
        others = f" but {', '.join(methods)}, which are run where --model reviews them"
        ERR.print(
            f"{path}: not run: no function of it launches a kernel{others if methods else ''}"
        )
