"""What a project permits: which facts that excuses, and how refusals and certificates say it."""

from typing import Any

from tilewright.evaluation import honesty, permissions
from tilewright.evaluation.waysout import way_out
from tilewright.problems.permissions import PERMISSIONS, PREPACKED, WORKSPACES
from tilewright.worker import workspaces

KEPT: dict[str, Any] = {"kept": {"Model.packed": 64, "Model.last": 32}, "packed": ["Model.packed"]}


def test_the_worker_knows_the_settings_by_the_same_names() -> None:
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


def test_a_way_out_is_named_for_what_was_asked() -> None:
    check = {"name": "ci[0], offset inputs", "case": "ci[0]", "layout": "offset"}
    assert "`align: 16`" in way_out("ci[0], offset inputs: output differs", [check])
    ragged = {"name": "ci-ragged[0]", "case": "ci-ragged[0]"}
    assert 'allow = ["fixed-shapes"]' in way_out("ci-ragged[0]: the candidate failed", [ragged])
    assert way_out("it runs the operator aten.mm", [ragged]) == ""
    assert way_out("ci[0]: wrong", [{"name": "ci[0]", "case": "ci[0]"}]) == ""
