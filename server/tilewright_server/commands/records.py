"""The runs of the engine's store: what it adds to a run that was seen, and older runs."""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field
from pygls import uris

from tilewright_server.commands.arguments import Arguments, read_arguments
from tilewright_server.commands.jobs import refuse
from tilewright_server.jobs.engine_job import environment
from tilewright_server.jobs.local_gpu import ask_engine
from tilewright_server.jobs.run_record import RunRecord, candidate_view, figures_of
from tilewright_server.run_view import CandidateView, RunHead, RunState, Verdict
from tilewright_server.server import TilewrightServer

logger = logging.getLogger(__name__)


class RecordArguments(Arguments):
    """``record`` is the run's id in the engine's store."""

    record: str = Field(pattern=r"^\w+$")


async def run_record(server: TilewrightServer, *arguments: Any) -> dict[str, Any] | None:
    """``roof`` and ``estimates`` as ``tilewright show`` tells them; None where it does not."""
    record = read_arguments(RecordArguments, arguments).record
    command = (*server.engine_command, "show", record)
    try:
        shown = await ask_engine(command, environment(server.settings))
        return {"roof": shown["roof"], "estimates": shown["estimates"]}
    except (KeyError, TypeError, ValueError) as error:
        logger.warning("the record of run %s cannot be read: %s", record, error)
        return None


async def recorded_runs(server: TilewrightServer, *_: Any) -> list[dict[str, Any]]:
    """The runs of the store, the newest first, as ``tilewright runs`` lists them."""
    try:
        listed = await ask_engine((*server.engine_command, "runs"), environment(server.settings))
        return [dict(one) for one in listed["runs"]]
    except (KeyError, TypeError, ValueError) as error:
        logger.warning("the runs on record cannot be read: %s", error)
        return []


async def open_run(server: TilewrightServer, *arguments: Any) -> dict[str, Any]:
    """Add a run of the store to those that are shown; the answer has its id among them."""
    name = read_arguments(RecordArguments, arguments).record
    shown = next((one for one in server.runs.all() if one.head.record == name), None)
    if shown is not None:
        return {"run": shown.head.run}
    command = (*server.engine_command, "show", name)
    try:
        record = _recorded(await ask_engine(command, environment(server.settings)))
    except (KeyError, TypeError, ValueError) as error:
        logger.warning("run %s cannot be read: %s", name, error)
        return refuse(server, f"run {name} is not on record, or its record cannot be read")
    server.runs.add(record)
    return {"run": record.head.run}


def _recorded(shown: Mapping[str, Any]) -> RunRecord:
    """A run as it was seen, from what the engine has on record.

    Raises:
        KeyError, TypeError, ValueError: it lacks what every record has.
    """
    texts: Mapping[str, str] = shown["texts"]
    original = str(shown["original"])
    trials = [one for one in shown["trials"] if isinstance(one, Mapping)]
    state = RunState.DONE if shown["state"] == "finished" else RunState.INTERRUPTED
    head = RunHead(
        f"record-{shown['run']}",
        str(uris.from_fs_path(str(Path(str(shown["path"])).absolute()))),
        shown.get("target"),
        state,
        record=str(shown["run"]),
        device=shown.get("device"),
        message=f"on record since {str(shown.get('started') or '?')[:16].replace('T', ' ')}",
        judged=len(trials),
        budget=shown.get("budget"),
        kept=sum(bool(trial.get("kept")) for trial in trials),
        percent=100,
        elapsed_s=float(shown.get("seconds") or 0.0),
        cost=shown.get("spent"),
    )
    record = RunRecord(head, texts[original])
    record.problem = str(shown["problem"]) if shown.get("problem") else None
    around = shown.get("around")
    if isinstance(around, Mapping):
        record.around = {str(place): str(said) for place, said in around.items()}
    record.notes = tuple(map(str, shown.get("notes") or ()))
    for one in _candidates(original, trials, shown.get("figures") or {}):
        record.keep(one, texts.get(one.id))
    return record


def _candidates(
    original: str, trials: list[Mapping[str, Any]], figures: Mapping[str, Any]
) -> Iterator[CandidateView]:
    rows = figures_of(figures.get(original))
    yield CandidateView(original, None, Verdict.ORIGINAL, figures=rows)
    for trial in trials:
        yield candidate_view(trial, figures.get(str(trial.get("candidate"))))
