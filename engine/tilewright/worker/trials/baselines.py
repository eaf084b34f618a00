"""Results of the original and its reference for a check, which the coordinator keeps."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch

from ..inputs import generation, layouts, tensor_files
from ..protocol import LOST, OUT_OF_MEMORY, TIMEOUT, UNSUPPORTED
from . import answers, results, run_faults, weights
from .input_files import InputFiles
from .results import Results
from .runner_handle import Handle, RunnerEndedError, owned
from .version import is_on_host, place_of

if TYPE_CHECKING:
    from typing import Unpack

    from ..messages.parts import Entries
    from ..messages.trial import Called, Check, Facts, Message, More, RunnerJob, TrialJob

_KEPT_PERFORMERS = 5  # original, reference, who makes inputs, what is timed against; one more
_KEPT_SHARE = 0.1
_KEPT_ON_HOST = 1 << 30
_KEPT_FILES = 4 << 30
_KEPT_WEIGHTS = 16
_FIRST_CALL_S = 120.0
_TICK_S = 0.01
_UPWARDS = {"float16": "float64", "bfloat16": "float64", "float32": "float64"}
_NUDGES = 2
_SECRETS = 3

_PASSING = (OUT_OF_MEMORY, TIMEOUT, LOST)
# The original answers once for all of a candidate's configurations and repetitions.
_NOT_OF_ORIGINAL = ("name", "config_index", "tried", "repeats", "required", "simpler")

Start = Callable[["RunnerJob", float], Handle]


@dataclass
class Base:
    """The measure of one check.

    Attributes:
        files: its inputs, in the judge's folder.
        state: weights for the candidate, likewise; None where there is no model.
        original: what the original gave; None where it failed, then ``failure`` says how.
        oracle: what the candidate is held against; ``oracle_name`` says what that is.
        noisy: what the oracle gives on inputs that are off by an ulp.
        note: what a person should know of the original.
        asked: what the reference was asked where it is the oracle.
        luck: what makes its results hang on luck; part of ``note``.
        fault: what it was seen doing wrong where it ran: memory it reached, races, another result
            than its reference's, or one that hangs on the order of programs.
        passing: whether it failed by what may be over the next time: memory that others held, or
            a host that was too busy.
        is_unsupported: whether it failed because the interpreter cannot run it.
        unfit: why nothing can be asked of a candidate where the check is not required.
        repeats_well: why it does not stand many calls in a row; empty if it does, None if nobody
            has tried.
        repeated: what the original was seen doing in such calls.
        clean_us: microseconds a call by itself, of each baseline that was timed.
        skipped: share of its results that is right with no launch made; None if nobody has tried.
        plan: how the inputs are refreshed while calls are timed; None if none were.
        secrets: seeds for orders and contents while it is timed. Few, so that the original's
            results on them can be kept; no candidate lives long enough to learn them.
    """

    files: InputFiles
    original: Results | None = None
    oracle: Results | None = None
    oracle_name: str = "original"
    noisy: tuple[Results, ...] = ()
    state: Entries | None = None
    failure: str = ""
    passing: bool = False
    is_unsupported: bool = False
    unfit: str = ""
    note: str = ""
    luck: str = ""
    asked: Message | None = None
    fault: str = ""
    repeats_well: str | None = None
    repeated: Facts | None = None
    clean_us: dict[str, float] = field(default_factory=dict)
    skipped: float | None = None
    plan: dict[str, str] | None = None
    secrets: tuple[int, ...] = field(default_factory=lambda: _random_secrets(_SECRETS))

    @property
    def inputs(self) -> Entries:
        """The manifest of its inputs."""
        return self.files.manifest

    @property
    def own(self) -> Results | None:
        """The original's results where the oracle is another: its error is the candidate's due."""
        return None if self.oracle is self.original else self.original

    @property
    def bytes_held(self) -> int:
        """Memory of the device that it holds."""
        held = {id(one): one.bytes_held for one in (self.original, self.oracle, *self.noisy) if one}
        return sum(held.values())


@dataclass
class Originals:
    """Runners of originals and references, and what they gave.

    Attributes:
        device: where they run.
        folder: the judge's own, for inputs and weights.
        start: starts a runner that lives until it is closed.
        kept_bytes: of files of inputs that no check uses at present.
        lock: to be held while one of the runners that are kept is asked anything.
    """

    device: str
    folder: Path
    start: Start
    kept_bytes: int = _KEPT_FILES
    lock: threading.RLock = field(default_factory=threading.RLock)
    _numbers: Callable[[], int] = field(default_factory=lambda: itertools.count().__next__)
    _runners: OrderedDict[str, Handle] = field(default_factory=OrderedDict)
    _bases: OrderedDict[str, Base] = field(default_factory=OrderedDict)
    _inputs: OrderedDict[str, InputFiles] = field(default_factory=OrderedDict)
    _weights: OrderedDict[str, dict[str, Any]] = field(default_factory=OrderedDict)

    def base(self, job: TrialJob, check: Check | Message) -> Base:
        """The measure of a check, made once for each original, reference, seed and check."""
        asked = _of_original(check)
        concerned = {name: job.get(name) for name in ("original", "reference", "entry", "seed")}
        key = _key([concerned, asked])
        while not self.lock.acquire(timeout=_TICK_S):  # another one may be made meanwhile
            if (known := self._bases.get(key)) is not None:
                return known
        try:
            if key not in self._bases:
                made = self._make(job, asked)
                if made.passing:
                    return made
                self._bases[key] = made
                self._let_go()
            self._bases.move_to_end(key)
            return self._bases[key]
        finally:
            self.lock.release()

    def original(self, job: TrialJob) -> Handle:
        """The runner of a job's original."""
        return self.runner(runner_of(job, job["original"]))

    def unsteady(self, job: TrialJob, check: Check, base: Base) -> str:
        """That the original, asked once more, gives something else on the same inputs; or nothing.

        Asked where a candidate's result is wrong: perhaps nobody's would be right.
        """
        assert base.original is not None
        plain = message_of({**_of_original(check), "order": "forward", "launch_options": {}})
        with self.lock:
            try:
                again = self.results(self.original(job), base, plain, _FIRST_CALL_S)
            except RunnerEndedError as error:
                return f"the original itself fails when it is called again: {error}"
        fault = results.fault(base.original, None, again, check)
        if fault is None:
            return ""
        return (
            "the original's own result changes from call to call on the same inputs, so no result "
            "can be compared with it: let it depend on its arguments alone, such as a seed "
            f"({fault})"
        )

    def _make(self, job: TrialJob, check: Check) -> Base:
        base = Base(self.inputs(job, check))
        if job.get("reference"):  # it gets ready while the original answers
            self._started(runner_of(job, job["original"]))
            self._started(_reference_of(job))
        try:
            self._ask_original(job, check, base)
        except RunnerEndedError as error:
            base.is_unsupported = error.status == UNSUPPORTED
            told = "" if base.is_unsupported else "the original itself fails: "
            base.failure = base.unfit = f"{told}{error}"
            base.passing = error.status in _PASSING
            return base
        assert base.original is not None
        base.oracle = base.original
        strayed = [
            f"the original itself {said}"
            for _, said in run_faults.stray_accesses(base.original.told)
        ]
        strayed += [f"in the original {said}" for _, said in run_faults.raced(base.original.told)]
        strayed += [
            f"the original itself, line {one['line']}: {one['message']} ({one['kind']})"
            for one in run_faults.kernel_faults(base.original.told)
        ]
        base.note = base.luck = base.fault = "; ".join(strayed)
        if check.get("order", "forward") != "forward" or check.get("launch_options"):
            self._hold_against_plain(job, check, base)
        elif check.get("gradients") or check.get("training"):
            return base  # the original's own word: a reference need not have either
        elif job.get("reference"):
            self._ask_reference(job, check, base)
        elif check.get("layout", "plain") != "plain":
            self._hold_against_contiguous(job, check, base)
        return base

    def _ask_original(self, job: TrialJob, check: Check, base: Base) -> None:
        """Its results; a model's weights are its own for the first seed, and others after it.

        Its own are the same at each call on a case: in the interpreter they are asked for once.
        """
        original = self.original(job)
        case = _key([job["original"], job.get("entry"), check["case"]])
        seed = int(check.get("weights", check["seed"]))
        other = int(job["seed"]) + seed if seed else None
        message = message_of(check, keep_state=True, observe=True)
        if seed and (known := self._weights.get(case)):
            original.calls += 1  # a folder of its own for each set
            base.state = self._saved_state(weights.varied(known, int(job["seed"]) + seed), original)
        else:
            base.original = self.results(original, base, message, _FIRST_CALL_S)
            base.state = self._kept_state(base.original.state, original, other, case)
        if base.state and seed:
            message["keep_state"] = False
            base.original = self.results(original, base, message, _FIRST_CALL_S)

    def _hold_against_plain(self, job: TrialJob, check: Check, base: Base) -> None:
        """Where programs run in another order the measure is still what they give in their own."""
        assert base.original is not None
        plain = self.base(job, {**check, "order": "forward", "launch_options": {}})
        if plain.original is None or plain.oracle is None:
            base.unfit = plain.unfit
            return
        fault = results.fault(plain.original, None, base.original, check)
        if fault is not None:
            changed = "launch options" if check.get("launch_options") else "the order of programs"
            base.unfit = f"the original's own result changes with {changed}: {fault}"
            base.fault = base.fault or base.unfit
        base.unfit = base.unfit or plain.unfit
        base.oracle, base.oracle_name, base.noisy = plain.oracle, plain.oracle_name, plain.noisy
        base.original = plain.original

    def _hold_against_contiguous(self, job: TrialJob, check: Check, base: Base) -> None:
        """Where inputs lie otherwise the measure is what they give when they lie as usual: an
        original that ignores strides would set one by what lies between the rows."""
        assert base.original is not None
        message = message_of({**check, "layout": "plain"}, contiguous=True)
        plain = self.results(self.original(job), base, message, _FIRST_CALL_S)
        fault = results.fault(plain, None, base.original, check)
        if fault is not None:
            base.unfit = f"the original's own result changes with {check['layout']} inputs: {fault}"

    def _ask_reference(self, job: TrialJob, check: Check, base: Base) -> None:
        """The reference in double precision, else in its own, if the original agrees with it."""
        assert base.original is not None
        assert job["reference"] is not None
        name = job["reference"]["entry"]["name"]
        told = disagrees = ""
        for upwards, how in ((_UPWARDS, " in float64"), (None, "")):
            message = message_of(
                {**check, "layout": "plain"}, shadow_dtype=upwards, guard=False, poison=False,
                contiguous=True,
            )  # fmt: skip
            try:
                runner = self._reference(job)
                oracle, noisy = self._with_nudged(runner, base, message, _NUDGES * bool(upwards))
            except RunnerEndedError as error:
                told = f"reference {name}{how}: {error}"
                continue
            # What rounding does to large inputs is no disagreement: without it, single precision
            # would be the measure of results that no two orders of computation share.
            fault = results.fault(oracle, None, base.original, check, noisy=noisy)
            if fault is None:
                base.oracle, base.oracle_name = oracle, f"reference {name}{how}"
                base.asked, base.noisy = message, noisy
                return
            told = disagrees = f"the original disagrees with {name}{how}: {fault}"
        base.unfit = told
        base.fault = "; ".join(filter(None, (base.fault, disagrees)))
        base.note = "; ".join(filter(None, (base.note, told)))

    def filled(
        self, job: TrialJob, check: Check, base: Base, number: float,
        only: str | None, *, oracle: bool,
    ) -> Results:  # fmt: skip
        """What the oracle gives, or the original, with a number in the place of what is not
        finite among the inputs, or in one of them."""
        with self.lock:
            if oracle and base.asked:
                runner, message = self._reference(job), base.asked
            else:
                runner, message = self.original(job), message_of(_of_original(check))
            filled = message_of(message, fill=number, filled_input=only)
            return self.results(runner, base, filled, _FIRST_CALL_S)

    def reference_results(self, job: TrialJob, base: Base, check: Check) -> Results:
        """What the reference gives in its own precision."""
        return self.results(self._reference(job), base, message_of(check), _FIRST_CALL_S)

    def _reference(self, job: TrialJob) -> Handle:
        """The runner of a job's reference."""
        return self.runner(_reference_of(job))

    def _with_nudged(
        self, runner: Handle, base: Base, message: Message, nudges: int
    ) -> tuple[Results, tuple[Results, ...]]:
        """What the oracle gives, and on inputs off by an ulp, so often: no order of computation
        avoids what that changes."""
        nudged = message_of(message, nudges=list(range(nudges)))
        oracle, *noisy = self._every(runner, base, nudged, _FIRST_CALL_S)
        return oracle, tuple(noisy)

    def results(self, runner: Handle, base: Base, message: Message, timeout_s: float) -> Results:
        """What a runner gives on the inputs of a base."""
        return self._every(runner, base, message, timeout_s)[0]

    def _every(
        self, runner: Handle, base: Base, message: Message, timeout_s: float
    ) -> list[Results]:
        """The same, and what it gives for each of the message's ``nudges``."""
        try:
            reply: Called = self.answer_about(
                runner, base, message_of(message, do="call"), timeout_s
            )
            with runner.answering():
                return [self._read(runner, each) for each in (reply, *reply.pop("nudged", ()))]
        finally:
            if not message.get("keep_state") or not runner.alive:
                runner.clear()

    def _read(self, runner: Handle, reply: Called) -> Results:
        reply["outputs"] = owned(reply["outputs"], runner.outbox)
        reply["changed_inputs"] = owned(reply["changed_inputs"], runner.outbox)
        return results.read(answers.of_call(reply), place_of(self.device))

    def answer_about(self, runner: Handle, base: Base, message: Message, timeout_s: float) -> Any:
        """Its answer about the inputs of a base, whose files it has until it is cleared."""
        runner.calls += 1
        lent: More = {"inputs": runner.place(base.inputs), "number": runner.calls}
        lent["state"] = runner.place(base.state) if base.state else None
        if "second" in message:
            lent["second"] = runner.place(message["second"])
        try:
            return runner.ask(message_of(message, **lent), timeout_s)
        except RunnerEndedError:
            runner.clear()
            raise

    def inputs(self, job: TrialJob, check: Check) -> InputFiles:
        """Files of a check's inputs in the judge's folder, made once for all layouts and turns."""
        case, values = check["case"], str(check.get("values", "normal"))
        layout = str(check.get("layout", "plain"))
        seed = int(check.get("exact_seed", int(job["seed"]) + int(check["seed"])))
        maker = job["inputs_from"] if case.get("inputs_from_module") else None
        key = _key([case, seed, values, layout, maker])
        if key not in self._inputs:
            made = self._inputs_of_file(job, case, seed, values) if maker else None
            if made is None:
                made = generation.make_inputs(case, seed, None, values)
            # Some layouts change values; who loads the files makes of them what files do not keep.
            made = layouts.laid_out(made, layout, generation.facts_of(case))
            # Files that were given up may be in use until their last measure goes: names are new.
            folder = self.folder / f"{key}-{self._numbers()}"
            manifest = tensor_files.save(made, str(folder), "input")
            self._inputs[key] = InputFiles(manifest, folder)
        self._inputs.move_to_end(key)
        return self._inputs[key]

    def _inputs_of_file(self, job: TrialJob, case: Any, seed: int, values: str) -> dict[str, Any]:
        """Inputs that the problem's own file makes."""
        runner = self.runner(runner_of(job, job["inputs_from"]))
        message = {"do": "inputs", "case": case, "seed": seed, "values": values}
        try:
            reply = runner.ask(message, _FIRST_CALL_S)
            return tensor_files.load(owned(reply["inputs"], runner.outbox))
        finally:
            runner.clear()

    def _kept_state(
        self, state: Entries | None, runner: Handle, seed: int | None, case: str
    ) -> Entries | None:
        """Weights that an original was built with, for its candidates; with a seed, others."""
        if not state:
            runner.clear()
            return None
        values = tensor_files.load(owned(state, runner.outbox))
        if is_on_host(self.device):
            self._weights[case] = {name: tensor_files.own(value) for name, value in values.items()}
            while len(self._weights) > _KEPT_WEIGHTS:
                self._weights.popitem(last=False)
        values = values if seed is None else weights.varied(values, seed)
        kept = self._saved_state(values, runner)
        runner.clear()
        return kept

    def _saved_state(self, values: dict[str, Any], runner: Handle) -> Entries:
        folder = self.folder / f"state-{runner.key}-{runner.calls}"
        return tensor_files.save(values, str(folder), "state")

    def runner(self, job: RunnerJob) -> Handle:
        """A runner that is kept, and ready."""
        handle = self._started(job)
        if handle.preparing:
            handle.preparing = False
            handle.prepared = handle.reply(_FIRST_CALL_S)
        return handle

    def _started(self, job: RunnerJob) -> Handle:
        """A runner that is kept; started, and told to prepare, when it is not there."""
        key = json.dumps([job["module"], job.get("entry")], sort_keys=True)
        handle = self._runners.get(key)
        if handle is None or not handle.alive:
            if handle is not None:
                handle.close()
            handle = self._runners[key] = self.start(job, 0.0)
            handle.prepare()
        self._runners.move_to_end(key)
        while len(self._runners) > _KEPT_PERFORMERS:
            _, oldest = self._runners.popitem(last=False)
            oldest.close()
        return handle

    def _let_go(self) -> None:
        """Forget the measures used longest ago when they hold too much."""
        limit = _KEPT_ON_HOST
        if not is_on_host(self.device):
            kind = getattr(torch, self.device.split(":")[0])
            limit = int(kind.get_device_properties(self.device).total_memory * _KEPT_SHARE)
        held = sum(base.bytes_held for base in self._bases.values())
        while held > limit and len(self._bases) > 1:
            held -= self._bases.popitem(last=False)[1].bytes_held
        while len(self._inputs) > 1 and sum(
            files.size for files in self._inputs.values()
        ) > self.kept_bytes:  # fmt: skip
            _, oldest = self._inputs.popitem(last=False)
            for key, base in list(self._bases.items()):
                if base.files is oldest:
                    del self._bases[key]


def with_config(check: Check, config: int) -> Message:
    """A check of one configuration of what is autotuned, which the candidate has to stand, tried
    before it counts."""
    name = f"{check['name']}, autotune configuration {config}"
    one: Check = {**check, "config_index": config, "required": True, "name": name}
    return message_of(one, tried=True)


def runner_of(job: TrialJob, module: str) -> RunnerJob:
    """What a runner of one file of a trial is started with."""
    return cast("RunnerJob", {**job["runner"], "module": module})


def _reference_of(job: TrialJob) -> RunnerJob:
    """What a job's reference is started with; what its file does beside computing is no matter."""
    assert job["reference"] is not None
    return cast("RunnerJob", {**job["runner"], **job["reference"], "observe": False})


def message_of(check: Check | Message, **more: Unpack[More]) -> Message:
    """A check, or what a runner was asked already, with more."""
    return cast("Message", {**check, **more})


def _of_original(check: Check | Message) -> Check:
    found = {name: check.get(name) for name in sorted(check) if name not in _NOT_OF_ORIGINAL}
    return cast("Check", found)


def _random_secrets(count: int) -> tuple[int, ...]:
    draw = random.SystemRandom()
    return tuple(draw.getrandbits(63) for _ in range(count))


def _key(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
