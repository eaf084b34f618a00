"""What a project permits: which facts that excuses, and how refusals and certificates say it."""

from typing import Any

import pytest

from tilewright.evaluation import honesty, permissions
from tilewright.evaluation.correctness import way_out
from tilewright.problems.model import Case, Entry, EntryKind, Problem
from tilewright.problems.permissions import HOST_READS, PERMISSIONS, PREPACKED, WORKSPACES

KEPT: dict[str, Any] = {"kept": {"Model.packed": 64, "Model.last": 32}, "packed": ["Model.packed"]}


@pytest.mark.triton
def test_the_worker_knows_the_settings_by_the_same_names() -> None:
    from tilewright.worker.trials import workspaces

    assert {workspaces.WORKSPACES, workspaces.PREPACKED} == {WORKSPACES, PREPACKED}
    assert {WORKSPACES, PREPACKED} <= set(PERMISSIONS)


def test_what_is_kept_is_refused_and_the_setting_named() -> None:
    found = honesty.faults({}, KEPT)
    assert len(found) == 2
    assert all('allow = ["workspaces"]' in text for text in found)
    assert "prepacked-weights" in found[0]
    assert "prepacked-weights" not in found[1], "it is not made of weights alone"


def test_each_setting_excuses_its_own() -> None:
    (fault,) = honesty.faults({}, KEPT, (PREPACKED,))
    assert "Model.last" in fault
    assert honesty.faults({}, KEPT, (WORKSPACES,)) == ()


def test_what_differed_once_is_not_packed() -> None:
    facts = {**KEPT, "unpacked": ["Model.packed"]}
    assert len(honesty.faults({}, facts, (PREPACKED,))) == 2


def test_a_container_may_be_filled_once_and_not_grow() -> None:
    facts = {"kept": {"m.BOX[0]": 8}, "state": ["m.BOX", "m.BOX[key 0][1]"]}
    assert honesty.faults({}, facts, (WORKSPACES,)) == ()
    grows = {**facts, "steady": ["m.BOX"]}
    (fault,) = honesty.faults({}, grows, (WORKSPACES,))
    assert "m.BOX" in fault
    counts = {**facts, "state": ["m.calls"]}
    assert any("m.calls" in text for text in honesty.faults({}, counts, (WORKSPACES,)))


def test_a_certificate_says_what_was_permitted() -> None:
    told = list(permissions.used({}, KEPT, (PREPACKED, WORKSPACES)))
    assert len(told) == 2
    assert "Model.packed (64 bytes)" in told[0]
    assert "weights that change later are not followed" in told[0]
    assert "overwritten before each checked call" in told[1]
    assert list(permissions.used(KEPT, KEPT, (WORKSPACES,))) == [], "the original keeps it too"


def _problem(**changes: Any) -> Problem:
    case = Case("ci", 0, {}, None, (), **changes)
    return Problem("p.yaml", "", Entry(EntryKind.MODEL, "Model"), None, {"ci": (case,)}, "ci")


def test_a_way_out_is_named_for_what_was_asked() -> None:
    check = {"name": "ci[0], offset inputs", "case": "ci[0]", "layout": "offset"}
    told = way_out("ci[0], offset inputs: output differs", [check], _problem())
    assert "`align: 16`" in told
    assert 'allow = ["fixed-layouts"]' in told
    ragged = {"name": "ci-ragged[0]", "case": "ci-ragged[0]"}
    told = way_out("ci-ragged[0]: the candidate failed", [ragged], _problem())
    assert 'allow = ["fixed-shapes"]' in told


def test_who_has_no_spec_is_pointed_to_settings_alone() -> None:
    odd = {"layout": "strided", "values": "nonfinite"}
    check = {"name": "ci-ragged[0], odd", "case": "ci-ragged[0]", **odd}
    told = way_out("ci-ragged[0], odd: it fails", [check], _problem(inputs_from_module=True))
    assert "spec" not in told
    assert 'allow = ["fixed-layouts", "finite-inputs", "fixed-shapes"]' in told


def test_numbers_that_the_host_reads_are_permitted_and_told() -> None:
    read = {"calls": 1, "bytes": 4, "where": "line 3"}
    facts = {"operators": {"aten._local_scalar_dense": read, "aten.all": read}}
    refused = honesty.faults({}, facts)
    assert len(refused) == 2
    assert all('allow = ["host-reads"]' in text for text in refused)
    assert honesty.faults({}, facts, (HOST_READS,)) == ()
    assert len(list(permissions.used({}, facts, (HOST_READS,)))) == 2
    assert list(permissions.used(facts, facts, (HOST_READS,))) == [], "the original reads it too"
    computes = {"operators": {"aten.sum": read, "tensor.tolist": read}}
    assert len(honesty.faults({}, computes, (HOST_READS,))) == 2
