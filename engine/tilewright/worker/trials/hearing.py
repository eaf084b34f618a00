"""One trial: every check of a candidate against its measure, then its honesty, then its time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from . import faults, results
from .handle import Handle, PerformerEndedError
from .originals import Base, Originals
from .results import Results

_PATIENCE_S = 15.0
_PATIENCE_RATIO = 10.0


class Hearing:
    """What the judge makes of one candidate.

    Args:
        candidate: its performer, which has been told to prepare.
        job: the ``trial`` job (``protocol``).
        deadline: of ``time.monotonic``, when nobody waits any longer.
    """

    def __init__(
        self, originals: Originals, candidate: Handle, job: Mapping[str, Any], deadline: float
    ) -> None:
        self._originals = originals
        self._candidate = candidate
        self._job = job
        self._deadline = deadline
        self._checks: list[dict[str, Any]] = []
        self._configs = 1

    def value(
        self, prepared: dict[str, Any] | None, failed: PerformerEndedError | None
    ) -> dict[str, Any]:
        """The trial's value: ``fault`` is what a person is told, None where nothing was found."""
        if prepared is None:
            told = f"the candidate failed: {failed or 'it could not be prepared'}"
            return {"checks": [], "fault": told, "prepared": None}
        start = time.monotonic()
        fault = next(filter(None, map(self._check, self._planned())), None)
        checked = time.monotonic() - start
        return {
            "checks": self._checks, "fault": fault, "prepared": prepared, "checked_s": checked,
        }  # fmt: skip

    def _planned(self) -> Iterator[dict[str, Any]]:
        """The checks asked for; then, where no tuner can choose, each other configuration."""
        checks = self._job["checks"]
        yield from checks
        again = self._job.get("each_config")
        if again is not None and checks:
            for config in range(1, self._configs):
                yield {
                    **again, "config_index": config, "required": True,
                    "name": f"{again['name']}, autotune configuration {config}",
                }  # fmt: skip

    def _check(self, check: dict[str, Any]) -> str | None:
        """Hold the candidate against one measure; what is wrong, with the check's name."""
        record: dict[str, Any] = {name: check.get(name) for name in ("name", "seed")}
        record["case"] = _case_name(check["case"])
        self._checks.append(record)
        base = self._originals.base(self._job, _asked_of_original(check))
        record["oracle"] = base.oracle_name
        if not check.get("required", True) and (base.unfit or base.failure):
            record["skipped"] = f"nothing is asked of the candidate here: {base.unfit}"
            return None
        if base.failure:
            return self._told(check, base.failure)
        if base.note:
            record["note"] = base.note
        for _ in range(int(check.get("repeats") or 1)):
            fault = self._call(check, base, record)
            if fault is not None:
                return self._told(check, fault)
        return None

    def _told(self, check: Mapping[str, Any], fault: str) -> str:
        return f"{check['name']}: {fault}"

    def _call(self, check: dict[str, Any], base: Base, record: dict[str, Any]) -> str | None:
        assert base.original is not None
        assert base.oracle is not None
        try:
            given = self._given(check, base)
        except PerformerEndedError as error:
            return f"the candidate failed: {error}"
        self._configs = max(self._configs, *given.told.get("configs", {}).values(), 1)
        told, before = given.told, base.original.told
        wrong = next(faults.of_run(before, told), None)
        if wrong is not None:
            return wrong
        if told.get("caveats"):
            record["caveats"] = told["caveats"]
        case = check["case"]
        record |= {"rtol": case["rtol"], "atol": case["atol"]}
        wrong = results.fault(base.oracle, base.original, given, case, record)
        return wrong and faults.in_other_order(check, wrong)

    def _given(self, check: dict[str, Any], base: Base) -> Results:
        assert base.original is not None
        patience = _PATIENCE_S + _PATIENCE_RATIO * base.original.seconds
        left = self._deadline - time.monotonic()
        message = {**check, "observe": True}
        return self._originals.results(
            self._candidate, base, message, max(1.0, min(patience, left))
        )


def _asked_of_original(check: dict[str, Any]) -> dict[str, Any]:
    """The original answers for all its configurations with its first."""
    return {name: check[name] for name in check if name not in ("config_index", "repeats", "name")}


def _case_name(case: Mapping[str, Any]) -> str:
    return f"{case['category']}[{case['index']}]"
