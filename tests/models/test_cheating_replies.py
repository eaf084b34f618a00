"""Every cheat of the evidence as the reply of a model: none is accepted."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from unittest import mock

import oracle
import pytest
from scripted_server import Answer, Request, ScriptedServer, serve

from tilewright.devices import open_device
from tilewright.devices.model import Device
from tilewright.evaluation.model import Level
from tilewright.models.client import Client
from tilewright.models.model import ModelChoice, Role
from tilewright.models.settings import CallPolicy, Ensemble
from tilewright.problems import load_problem
from tilewright.store import open_store
from tilewright.strategies.model import OptimizeResult
from tilewright.strategies.observer import Silent
from tilewright.strategies.optimize import OptimizeRequest, optimize

sys.path.insert(0, str(oracle.EVIDENCE))

from candidates import Candidate, candidates, spec_of

# Those of a GPU alone do nothing wrong in the interpreter.
CHEATS = [cheat for cheat in candidates("cheats") if not cheat.needs_gpu]
GROUPS = {key: list(group) for key, group in groupby(CHEATS, lambda c: (c.base, c.allow))}
QUICK = ("accumulate", ())

pytestmark = pytest.mark.triton


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    opened = open_device("interpreter")
    yield opened
    opened.close()


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
    problem = replace(load_problem(spec_of(cheats[0].base), source), allow=cheats[0].allow)
    with replying(cheats) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_HOME", str(folder))
        choices = (ModelChoice("cheat", server.base_url),)
        models = Ensemble(
            dict.fromkeys(Role, choices),
            tries=len(cheats),
            policy=CallPolicy(cache=False),
            prices={},
        )
        request = OptimizeRequest(source, source.read_text(), problem, None, 999, models)
        store = open_store()
        try:
            return optimize(request, device, store, Silent(), Client)
        finally:
            store.close()


@pytest.mark.parametrize(
    "group",
    [pytest.param(k, marks=() if k == QUICK else pytest.mark.slow) for k in GROUPS],
    ids=lambda key: "-".join((key[0], *key[1])),
)
def test_no_cheat_is_accepted(
    group: tuple[str, tuple[str, ...]], device: Device, tmp_path: Path
) -> None:
    cheats = GROUPS[group]
    # Rewrites would change what the cheats were made from.
    with mock.patch("tilewright.strategies.optimize._free_proposers", return_value=()):
        result = answered(cheats, device, tmp_path)
    judged = {t.candidate.rationale.rstrip("."): t for t in result.trials[: len(cheats)]}
    # An answer that changes what no answer may change gives no candidate at all.
    unusable = [t for t in result.trials[: len(cheats)] if t.candidate.unusable]
    named = [cheat.name for cheat in cheats if cheat.name in judged]
    assert len(named) + len(unusable) == len(cheats)
    assert all(t.evaluation.level is Level.REJECTED for t in result.trials)
    assert not any(t.kept for t in result.trials)
    assert result.certificate is None
    assert result.final == result.original
