"""What the original and its reference make of a check: the judge's measure, kept between trials."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from .. import generate, tensors
from ..calling import INTERPRETER, place_of
from . import results
from .handle import Handle, PerformerEndedError, owned
from .results import Results

_KEPT_PERFORMERS = 3
_KEPT_SHARE = 0.1
_KEPT_ON_HOST = 1 << 30
_FIRST_CALL_S = 120.0
_UPWARDS = {"float16": "float64", "bfloat16": "float64", "float32": "float64"}

Start = Callable[[dict[str, Any], float], Handle]


@dataclass
class Base:
    """The measure of one check.

    Attributes:
        inputs: manifest of files in the judge's folder.
        state: weights for the candidate, likewise; None where there is no model.
        original: what the original gave; None where it failed, then ``failure`` says how.
        oracle: what the candidate is held against; ``oracle_name`` says what that is.
        note: what a person should know of the original.
        unfit: why nothing can be asked of a candidate where the check is not required.
    """

    inputs: list[dict[str, Any]]
    original: Results | None = None
    oracle: Results | None = None
    oracle_name: str = "original"
    state: list[dict[str, Any]] | None = None
    failure: str = ""
    unfit: str = ""
    note: str = ""
    bytes_held: int = 0
    folder: Path | None = None


@dataclass
class Originals:
    """Performers of originals and references, and what they gave.

    Attributes:
        device: where they run.
        folder: the judge's own, for inputs and weights.
        start: starts a performer that lives until it is closed.
    """

    device: str
    folder: Path
    start: Start
    _performers: OrderedDict[str, Handle] = field(default_factory=OrderedDict)
    _bases: OrderedDict[str, Base] = field(default_factory=OrderedDict)
    _next: int = 0

    def base(self, job: Mapping[str, Any], check: Mapping[str, Any]) -> Base:
        """The measure of a check, made once for each original, reference, seed and check."""
        concerned = {name: job.get(name) for name in ("original", "reference", "entry", "seed")}
        text = json.dumps([concerned, {**check, "name": ""}], sort_keys=True, default=str)
        key = hashlib.sha256(text.encode()).hexdigest()
        if key not in self._bases:
            self._bases[key] = self._make(job, check)
            self._let_go()
        self._bases.move_to_end(key)
        return self._bases[key]

    def original(self, job: Mapping[str, Any]) -> Handle:
        """The performer of a job's original."""
        return self._performer({**job["performer"], "module": job["original"]})

    def _make(self, job: Mapping[str, Any], check: Mapping[str, Any]) -> Base:
        self._next += 1
        folder = self.folder / str(self._next)
        folder.mkdir(parents=True)
        base = Base(self._inputs(job, check, folder), folder=folder)
        try:
            original = self.original(job)
            message = {**check, "keep_state": True, "observe": True}
            base.original = self.results(original, base, message, _FIRST_CALL_S)
        except PerformerEndedError as error:
            base.failure = base.unfit = f"the original itself fails: {error}"
            return base
        base.state = self._kept_state(base.original.state, original, folder)
        base.oracle = base.original
        if check.get("order", "forward") != "forward" or check.get("launch_options"):
            self._hold_against_plain(job, check, base)
        elif job.get("reference"):
            self._ask_reference(job, check, base)
        base.bytes_held = base.original.bytes_held + base.oracle.bytes_held
        return base

    def _hold_against_plain(
        self, job: Mapping[str, Any], check: Mapping[str, Any], base: Base
    ) -> None:
        """Where programs run in another order the measure is still what they give in their own."""
        assert base.original is not None
        plain = self.base(job, {**check, "order": "forward", "launch_options": {}})
        if plain.original is None or plain.oracle is None:
            base.unfit = plain.unfit
            return
        fault = results.fault(plain.original, None, base.original, check["case"])
        if fault is not None:
            what = "with the order of programs" if check.get("order") else "with launch options"
            base.unfit = f"the original's own result changes {what}: {fault}"
        base.oracle, base.oracle_name = plain.oracle, plain.oracle_name

    def _ask_reference(self, job: Mapping[str, Any], check: Mapping[str, Any], base: Base) -> None:
        """The reference in double precision, else in its own, if the original agrees with it."""
        assert base.original is not None
        reference = job["reference"]
        told: list[str] = []
        for upwards, name in ((_UPWARDS, " in float64"), (None, "")):
            try:
                performer = self._performer({**job["performer"], **reference})
                message = {**check, "shadow_dtype": upwards, "guard": False, "poison": False}
                oracle = self.results(performer, base, message, _FIRST_CALL_S)
            except PerformerEndedError as error:
                told.append(f"reference {reference['entry']['name']}{name}: {error}")
                continue
            fault = results.fault(oracle, None, base.original, check["case"], widened=True)
            if fault is None:
                base.oracle = oracle
                base.oracle_name = f"reference {reference['entry']['name']}{name}"
                return
            told.append(f"the original disagrees with {reference['entry']['name']}{name}: {fault}")
        base.unfit = base.note = told[-1]

    def results(
        self,
        performer: Handle,
        base: Base,
        message: Mapping[str, Any],
        timeout_s: float,
        inputs: list[dict[str, Any]] | None = None,
    ) -> Results:
        """What a performer gives on the inputs of a base, or on others."""
        performer.calls += 1
        try:
            lent = performer.place(base.inputs if inputs is None else inputs)
            state = performer.place(base.state) if base.state else None
            asked = {**message, "do": "call", "inputs": lent, "state": state}
            reply = performer.ask({**asked, "number": performer.calls}, timeout_s)
            for name in ("outputs", "changed_inputs"):
                reply[name] = owned(reply[name], performer.outbox)
            return results.read(reply, place_of(self.device))
        finally:
            if not message.get("keep_state"):
                performer.clear()

    def inputs(self, base: Base) -> dict[str, Any]:
        """The inputs of a base, on the device."""
        return tensors.load(base.inputs, place_of(self.device))

    def saved(self, values: Mapping[str, Any], base: Base, name: str) -> list[dict[str, Any]]:
        """A manifest of other inputs for a base's check, beside its own."""
        assert base.folder is not None
        return tensors.save(values, str(base.folder / name), "input")

    def _inputs(
        self, job: Mapping[str, Any], check: Mapping[str, Any], folder: Path
    ) -> list[dict[str, Any]]:
        case, seed = check["case"], int(job["seed"]) + int(check["seed"])
        values = str(check.get("values", "normal"))
        if case.get("inputs_from_module"):
            performer = self._performer({**job["performer"], "module": job["inputs_from"]})
            reply = performer.ask({"do": "inputs", "case": case, "seed": seed}, _FIRST_CALL_S)
            made = tensors.load(owned(reply["inputs"], performer.outbox))
        else:
            made = generate.make_inputs(case, seed, None, values)
        return tensors.save(made, str(folder / "inputs"), "input")

    def _kept_state(
        self, state: list[dict[str, Any]] | None, performer: Handle, folder: Path
    ) -> list[dict[str, Any]] | None:
        """Weights that an original was built with, for its candidates."""
        kept = []
        for number, entry in enumerate(owned(state, performer.outbox) if state else []):
            if "file" in entry:
                file = folder / f"state{number}.bin"
                shutil.copyfile(entry["file"], file)
                entry = {**entry, "file": str(file)}
            kept.append(entry)
        performer.clear()
        return kept or None

    def _performer(self, job: dict[str, Any]) -> Handle:
        key = json.dumps([job["module"], job.get("entry")], sort_keys=True)
        handle = self._performers.get(key)
        if handle is None or not handle.alive:
            if handle is not None:
                handle.close()
            handle = self._performers[key] = self.start(job, 0.0)
        self._performers.move_to_end(key)
        while len(self._performers) > _KEPT_PERFORMERS:
            _, oldest = self._performers.popitem(last=False)
            oldest.close()
        return handle

    def _let_go(self) -> None:
        """Forget the measures used longest ago when they hold too much."""
        limit = _KEPT_ON_HOST
        if self.device != INTERPRETER:
            kind = getattr(torch, self.device.split(":")[0])
            limit = int(kind.get_device_properties(self.device).total_memory * _KEPT_SHARE)
        held = sum(base.bytes_held for base in self._bases.values())
        while held > limit and len(self._bases) > 1:
            _, oldest = self._bases.popitem(last=False)
            held -= oldest.bytes_held
            if oldest.folder is not None:
                shutil.rmtree(oldest.folder, ignore_errors=True)
