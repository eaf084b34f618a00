"""Cheats of the evidence as the replies of a model, in front of the whole loop."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

import oracle
from scripted_server import Answer, Request, ScriptedServer, serve

from tilewright.devices.model import Device
from tilewright.models.client import Client
from tilewright.models.model import ModelChoice, Role
from tilewright.models.settings import CallPolicy, Ensemble
from tilewright.problems.loading import load_problem
from tilewright.store.store import open_store
from tilewright.strategies.model import OptimizeResult
from tilewright.strategies.observer import Silent
from tilewright.strategies.optimize import OptimizeRequest, optimize

sys.path.insert(0, str(oracle.EVIDENCE))

from candidates import Candidate, candidates, spec_of


def cheats_of(gpu: bool) -> list[Candidate]:
    """The cheats that only a GPU can run, or the others."""
    return [cheat for cheat in candidates("cheats") if cheat.needs_gpu is gpu]


@contextmanager
def replying(cheats: list[Candidate]) -> Iterator[ScriptedServer]:
    """A model that answers each try of any stage with the next cheat."""
    left = iter(cheats)

    def script(request: Request, number: int) -> Answer:
        del number
        role = oracle.role_of(request.prompt)
        if role == "analyzer":
            return Answer("no JSON, so that a stage without issues is opened")
        if role == "planner":
            return Answer("{}")
        cheat = next(left, None)
        if cheat is None:
            return Answer("Nothing is left to try.")
        return Answer(f"{cheat.name}.\n\n``````python\n{cheat.text}``````\n")

    with serve(script, ("cheat",)) as server:
        yield server


def answered(cheats: list[Candidate], device: Device, folder: Path) -> OptimizeResult:
    """The run of a base with these replies, as many tries as there are cheats."""
    source = oracle.EVIDENCE / "bases" / cheats[0].base / "original.py"
    problem = replace(load_problem(spec_of(source), source), allow=cheats[0].allow)
    # Rewrites would change what the cheats were made from.
    alone = mock.patch("tilewright.strategies.optimize._free_proposers", return_value=())
    with replying(cheats) as server, alone:
        choices = (ModelChoice("cheat", server.base_url),)
        models = Ensemble(
            dict.fromkeys(Role, choices),
            tries=len(cheats),
            policy=CallPolicy(cache=False),
            prices={},
        )
        request = OptimizeRequest(source, source.read_text(), problem, None, 999, models)
        with mock.patch.dict(os.environ, TILEWRIGHT_HOME=str(folder)):
            store = open_store()
        try:
            return optimize(request, device, store, Silent(), Client)
        finally:
            store.close()
