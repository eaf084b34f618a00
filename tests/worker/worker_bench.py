"""A short way to ask a worker for things."""

import itertools
from pathlib import Path
from typing import Any

from tilewright.devices.client import WorkerClient
from tilewright.devices.model import JobOutcome, JobStatus
from tilewright.worker.trials import results

KERNELS = Path(__file__).parent / "kernels"


def tensor(name: str, *shape: int, dtype: str = "float32", **more: Any) -> dict[str, Any]:
    """An input of a case."""
    return {"name": name, "shape": list(shape), "dtype": dtype, **more}


def case_of(*inputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A case as the worker gets it."""
    return {"category": "ci", "index": 0, "dims": {}, "inputs": list(inputs), **more}


def function(name: str) -> dict[str, Any]:
    return {"kind": "function", "name": name, "path": None}


def fault(
    expected: dict[str, Any], actual: dict[str, Any], *, rtol: float = 0.0, atol: float = 0.0
) -> str:
    """What a judge finds wrong with what one run gave, held against what another did; or nothing.

    Of a run by its files: ``expected`` may be ``{"outputs": manifest}`` alone.
    """
    case = {"rtol": rtol, "atol": atol}
    read = [results.read({"changed_inputs": [], **value}, "cpu") for value in (expected, actual)]
    return results.fault(read[0], None, read[1], {"case": case}) or ""


class Bench:
    """A worker and a folder."""

    def __init__(self, client: WorkerClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self._number = itertools.count()

    def out(self) -> str:
        return str(self.folder / f"out{next(self._number)}")

    def ask(self, kind: str, timeout_s: float = 60.0, **job: Any) -> JobOutcome:
        return self.client.run({"kind": kind, **job}, timeout_s)

    def get(self, kind: str, **job: Any) -> dict[str, Any]:
        """The value of a job that must succeed."""
        outcome = self.ask(kind, **job)
        assert outcome.status is JobStatus.OK, (outcome.message, outcome.value, outcome.output)
        return dict(outcome.value)

    def inputs(self, case: dict[str, Any], seed: int = 0, **more: Any) -> list[dict[str, Any]]:
        inputs: list[dict[str, Any]] = self.get(
            "inputs", case=case, seed=seed, out=self.out(), **more
        )["inputs"]
        return inputs

    def run(
        self,
        file: str | Path,
        name: str,
        case: dict[str, Any],
        timeout_s: float = 60.0,
        **more: Any,
    ) -> JobOutcome:
        job = {
            "module": str(KERNELS / file), "entry": function(name), "case": case,
            "device": "interpreter", "out": self.out(), **more,
        }  # fmt: skip
        if "inputs" not in job:
            job["inputs"] = self.inputs(case)
        return self.ask("run", timeout_s, **job)

    def ran(self, file: str | Path, name: str, case: dict[str, Any], **more: Any) -> dict[str, Any]:
        outcome = self.run(file, name, case, **more)
        assert outcome.status is JobStatus.OK, (outcome.message, outcome.value)
        return dict(outcome.value)

    def variant(self, file: str, old: str, new: str) -> Path:
        """A copy of a kernel file with one change."""
        text = (KERNELS / file).read_text()
        assert text.count(old) == 1
        path = self.folder / f"variant{next(self._number)}" / file
        path.parent.mkdir()
        path.write_text(text.replace(old, new))
        return path
