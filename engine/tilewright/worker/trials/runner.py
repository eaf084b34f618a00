"""A version of the file, doing one thing at a time as a coordinator asks.

Each message has ``do``:

- ``prepare``: -> seconds, facts, confinement, reached: open the device, then import the file.
- ``compile``: checks, target ``[backend, arch]`` -> notes, reached: import the file and compile
  what the checks launch, as far as that can be done without calling; the device is left alone.
  ``reached``: when it got how far, by ``time.monotonic`` of its host.
- ``call``: what a ``run`` job has in addition to module, entry and device, and ``number``, after
  which its outputs are filed -> what such a job gives. Also turn, plan (contents,
  ``timing.fresh``), layout, observe (``facts``, ``honesty``), skip_launches, launch_options, nudges
  (seeds: the same call once more for each, on inputs that are off by an ulp -> nudged, a value
  each).
- ``repeat``: see ``repeating``.
- ``inputs``: case, seed, values -> inputs (manifest), of a file that makes its own.
- ``time.open``: case, inputs, state?, baseline? (path; the version itself where it is left out),
  twice=false (the baseline in the candidate's place as well) -> nothing; then ``time.…``: see
  ``timing``.
- ``end``.

An answer that has ``failed`` has the status of a job that failed so, a message, and ``spent``:
whether the device answers nothing more to this process.
"""

from __future__ import annotations

import contextlib
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import tamper
from ..inputs import generation, module_inputs, tensor_files
from ..jobs import measure
from ..protocol import OK, HarnessError, JobError
from ..runtime import job_process
from ..runtime.connections import Wire
from ..timing.clocks import AnyClock, clock_for
from ..timing.paired_runner import Contest
from . import call_sequences
from . import version as calling
from .version import Version

if TYPE_CHECKING:
    from ..messages.trial import Facts

_TICK_S = 3600.0


class Runner:
    """One version, in the surroundings that its host code needs."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._reached: dict[str, float] = dict(job.get("reached") or {})
        self._stack = contextlib.ExitStack()
        self._version: Version | None = None
        self._facts: Facts = {}
        self._clock: AnyClock | None = None
        self._contest: Contest | None = None

    def __enter__(self) -> Runner:
        self._stack.enter_context(calling.surroundings(self._job["device"], self._job["module"]))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def serve(self, wire: Wire) -> None:
        """Answer until the coordinator has nothing more to ask."""
        while not wire.gone:
            message = wire.wait(_TICK_S)
            if message is None:
                continue
            if message.get("do") == "end":
                return
            wire.send(self._answer(message))

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        answer = job_process.attempted(lambda: self.do(message))
        if answer["status"] == OK:
            return dict(answer["value"])
        told = {"failed": answer["status"], "message": answer["message"]}
        spent = self._clock is not None and _is_spent(self._clock)
        return {**told, "traceback": answer["value"].get("traceback"), "spent": spent}

    def do(self, message: dict[str, Any]) -> dict[str, Any]:
        """Do what a message asks; raises JobError for what is unknown."""
        wanted = str(message.get("do"))
        if wanted.startswith("time.") and wanted != "time.open":
            return self._time(message)
        known = {
            "prepare": self._prepare, "compile": self._compile, "call": self._call,
            "repeat": self._repeat,
            "inputs": self._inputs, "time.open": self._open,
        }  # fmt: skip
        if wanted not in known:
            raise JobError(f"a runner has no operation {wanted!r}")
        return known[wanted](message)

    @property
    def version(self) -> Version:
        """The file, imported when it is first needed."""
        if self._version is None and self._job.get("observe", True):
            with tamper.observed(str(self._job["module"])) as seen:
                self._version = Version(self._job)
            self._facts = seen.facts()
        elif self._version is None:
            self._version = Version(self._job)
        return self._version

    def _prepare(self, message: dict[str, Any]) -> dict[str, Any]:
        start = time.perf_counter()
        if not calling.is_on_host(self._job["device"]):
            # Before the file is imported: what it changes of torch is not what is timed with.
            self._clock = _opened(self._job["device"])
        self._reached["opened"] = time.monotonic()
        assert self.version is not None
        self._reached["imported"] = time.monotonic()
        return {
            "seconds": time.perf_counter() - start, "facts": self._facts,
            "confinement": self._job.get("confinement"), "reached": self._reached,
        }  # fmt: skip

    def _compile(self, message: dict[str, Any]) -> dict[str, Any]:
        notes: list[str] = []
        assert self.version is not None
        self._reached["imported"] = time.monotonic()
        backend, arch = message["target"]
        for check in message["checks"]:
            job = {**self._job, **check}
            measure.compile_ahead(job, self.version.module, (backend, arch), notes)
        self._reached["compiled"] = time.monotonic()
        return {"notes": notes, "reached": self._reached}

    def _call(self, message: dict[str, Any]) -> dict[str, Any]:
        out = f"{self._job['out']}/{message['number']}"
        job = {**self._job, **message, "out": out}
        value = self.version.call(job)
        nudges = message.get("nudges") or ()
        if nudges:
            again = ({**job, "nudge": seed, "out": f"{out}/nudge{seed}"} for seed in nudges)
            value["nudged"] = [self.version.call(one) for one in again]
        return value

    def _repeat(self, message: dict[str, Any]) -> dict[str, Any]:
        out = f"{self._job['out']}/repeated"
        return call_sequences.perform(self.version, {**self._job, **message, "out": out})

    def _open(self, message: dict[str, Any]) -> dict[str, Any]:
        """Both versions in this process, on the inputs of a case."""
        job = {**self._job, **message}
        device = calling.place_of(job["device"])
        inputs = calling.arranged(job["inputs"], job, device)
        # Now: once this is answered the files are taken back, and versions are loaded later.
        state = calling.weights(job)
        own = self.version.entry(job, device, state)[0]
        based = {**job, "module": job.get("baseline") or job["module"]}

        def anew() -> Any:
            return Version(based).entry(based, device, state)[0]

        if job.get("twice"):
            self._contest = Contest(
                device, None, None, inputs, clock=self._clock, load=lambda: (anew(), anew())
            )
        else:
            original = anew() if job.get("baseline") else own
            self._contest = Contest(device, original, own, inputs, clock=self._clock)
        return {}

    def _time(self, message: dict[str, Any]) -> dict[str, Any]:
        if self._contest is None:
            raise JobError(f"{message['do']} before time.open")
        told = self._contest.answer(message)
        if message["do"] == "time.end":
            self._contest = None
        return told

    def _inputs(self, message: dict[str, Any]) -> dict[str, Any]:
        values = str(message.get("values", "normal"))
        module = module_inputs.maker(str(self._job["module"]), message["case"])
        made = generation.make_inputs(message["case"], int(message["seed"]), module, values)
        return {"inputs": tensor_files.save(made, f"{self._job['out']}/inputs", "input")}


def _opened(device: str) -> AnyClock:
    """A device's clock; raises HarnessError where the device cannot be opened."""
    try:
        clock = clock_for(device)
        clock.synchronize()
    except (RuntimeError, AssertionError) as error:  # torch raises both
        raise HarnessError(
            f"{device} could not be opened: {' '.join(str(error).split())}"
        ) from error
    return clock


def _is_spent(clock: AnyClock) -> bool:
    """Whether a kernel's fault, such as a misaligned address, has ended what this process can do
    on its device: every later call would fail with the same error."""
    try:
        clock.synchronize()
    except RuntimeError:
        return True
    return False
