"""A recorded run decided once more from its record alone: no device, no model, no network."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import tilewright
from tilewright.devices.model import DeviceInfo, JobOutcome, Value
from tilewright.errors import InputError, Stopped
from tilewright.harness_fault import HarnessFaultError
from tilewright.models.settings import Ensemble
from tilewright.problems.model import Problem
from tilewright.scratch import scratch_folder
from tilewright.search.spec import StrategySpec
from tilewright.serialize import load
from tilewright.store.ledger import NotRecordedError
from tilewright.store.records import Records, RunRecord, RunState
from tilewright.store.store import Run
from tilewright.strategies.observer import Silent
from tilewright.strategies.optimize import OptimizeRequest, OriginalFailsError, run_search
from tilewright.strategies.present import dump_result
from tilewright.targets.model import Target
from tilewright.worker.messages.envelope import Job

_ABSENT = object()


class ReplayError(InputError):
    """The record lacks what a replay needs."""


@dataclass(frozen=True)
class Replayed:
    """A replay's result and the recorded one, both without ``seconds``.

    ``difference`` names the first place where they differ; None: they are equal byte for byte.
    """

    run: str
    result: Mapping[str, Any]
    recorded: Mapping[str, Any]
    difference: str | None


class _RecordedDevice:
    """The device of a recorded run: its description, and no work."""

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info

    def run(self, job: Job[Value], timeout_s: float) -> JobOutcome[Value]:
        """Refuse the job: what it would find is not on record."""
        del timeout_s
        raise NotRecordedError(f"the result of a {job.get('kind')} job is not on record")

    def close(self) -> None:
        """Nothing is open."""


def replay(records: Records, record: RunRecord) -> Replayed:
    """Make the decisions of a finished run again, and compare the result with the recorded one.

    Raises:
        ReplayError: the run is not finished, or was recorded without its texts.
    """
    if record.state is not RunState.FINISHED or record.result is None:
        raise ReplayError(
            f"run {record.id} is {record.state.value}, so there is no result to compare with; "
            "`tilewright show` lists its units, and the same `tilewright optimize` command "
            "finishes an interrupted run"
        )
    recorded = _comparable(record.result)
    try:
        found = _comparable(_decided(records, record))
        difference = first_difference(recorded, found)
    except NotRecordedError as error:
        found, difference = {}, f"the replay took another path: {error}"
    if difference is not None and _version(record) != tilewright.__version__:
        difference += (
            f" (recorded by Tilewright {_version(record)}, replayed by {tilewright.__version__})"
        )
    return Replayed(record.id, found, recorded, difference)


def _decided(records: Records, record: RunRecord) -> Mapping[str, Any]:
    """The result of the run, decided from its record."""
    request, info = _request(records, record)
    ledger = records.ledger(record.id, _end(record))
    try:
        with scratch_folder() as scratch:
            result = run_search(
                request,
                _RecordedDevice(info) if info else None,
                Run(record.id, record.seed, resumed=True),
                ledger,
                scratch,
                Silent(),
                time.perf_counter(),
            )
    except OriginalFailsError as error:
        return {"error": str(error)}
    finally:
        ledger.close()
    return dump_result(result)


def _end(record: RunRecord) -> BaseException | None:
    """What ended the run before its time, to be raised where its record ends."""
    if record.progress.get("stopped"):
        return Stopped("recorded")
    fault = record.progress.get("fault")
    return HarnessFaultError(*fault) if fault else None


def _request(records: Records, record: RunRecord) -> tuple[OptimizeRequest, DeviceInfo | None]:
    asked = record.request
    if "text" not in asked:
        raise ReplayError(
            f"run {record.id} was recorded by a version of Tilewright that kept no texts; it "
            "cannot be replayed, only shown"
        )
    problem, target, device = asked["problem"], asked["target"], asked["device"]
    request = OptimizeRequest(
        Path(record.path),
        _text(records, record, asked["text"]),
        load(Problem, json.loads(_text(records, record, problem))) if problem else None,
        load(Target, target) if target else None,
        asked["budget"],
        load(Ensemble, models) if (models := asked.get("models")) else None,
        StrategySpec.model_validate(asked.get("strategy") or {}),
    )
    return request, load(DeviceInfo, device) if device else None


def _text(records: Records, record: RunRecord, name: str) -> str:
    text = records.text(name)
    if text is None:
        raise ReplayError(f"run {record.id}: the text {name} is not on record; run it again")
    return text


def _version(record: RunRecord) -> str:
    return str(record.request.get("tilewright", "of an unknown version"))


def _comparable(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result as JSON gives it back, without the time that it took."""
    value: dict[str, Any] = json.loads(json.dumps(result))
    value.pop("seconds", None)
    return value


def first_difference(recorded: Any, found: Any, place: str = "result") -> str | None:
    """The first place where two JSON values differ, with both values; None where none does."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        names = list(dict.fromkeys((*recorded, *found)))
        pairs = [
            (f"{place}.{name}", recorded.get(name, _ABSENT), found.get(name, _ABSENT))
            for name in names
        ]
    elif isinstance(recorded, list) and isinstance(found, list):
        pairs = [
            (f"{place}[{at}]", *pair)
            for at, pair in enumerate(zip_longest(recorded, found, fillvalue=_ABSENT))
        ]
    else:
        return None if _same(recorded, found) else _words(place, recorded, found)
    return next(filter(None, (first_difference(a, b, where) for where, a, b in pairs)), None)


def _same(one: Any, other: Any) -> bool:
    if one is _ABSENT or other is _ABSENT:
        return one is other
    return json.dumps(one) == json.dumps(other)


def _words(place: str, recorded: Any, found: Any) -> str:
    return f"{place}: recorded {_short(recorded)}, replayed {_short(found)}"


def _short(value: Any) -> str:
    text = "nothing" if value is _ABSENT else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}… ({len(text)} characters)"
