"""Constraints are given where they certainly hold, and their checks are well formed."""

import pytest
from each import each

from tilewright.hardware.chips import all_chips
from tilewright.hardware.model import Chip
from tilewright.knowledge.base import all_constraints, constraints
from tilewright.knowledge.model import AppliesTo, Constraint

PARAMETERS = {
    "option_power_of_two": {"option"},
    "option_maximum": {"option", "maximum"},
    "option_maximum_when": {"option", "maximum", "when", "values"},
    "option_values": {"option", "values"},
    "option_forbidden": {"option"},
    "tile_power_of_two": set(),
    "tile_maximum_elements": {"maximum"},
    "dot_minimum": {"m", "n", "k"},
    "call_forbidden": {"calls"},
    "keyword_forbidden": {"call", "keyword"},
    "launch_repeats_tuned": set(),
}


def _ids(target: str | None, triton: tuple[int, int] | None) -> set[str]:
    return {c.id for c in constraints(target, triton)}


@each(all_constraints(), lambda c: c.id)
def test_a_check_has_its_parameters(constraint: Constraint) -> None:
    check = constraint.check
    assert set(check.parameters) == PARAMETERS[check.name]


def test_without_target_and_version_only_what_always_holds() -> None:
    always = _ids(None, None)
    assert {"num_warps_power_of_two", "tile_element_limit"} <= always
    assert not any(i.startswith(("cuda", "hip", "cdna", "xpu")) for i in always)
    assert "no_block_pointers" not in always


@pytest.mark.parametrize(("minor", "gone"), [(6, False), (7, False), (8, False), (9, True)])
def test_block_pointers_end_with_3_8(minor: int, gone: bool) -> None:
    assert ("no_block_pointers" in _ids(None, (3, minor))) is gone


def test_the_register_mode_changed_its_words() -> None:
    old, new = _ids("xpu:pvc", (3, 5)), _ids("xpu:pvc", (3, 6))
    assert ("xpu_grf_mode_words" in old, "xpu_grf_mode_figures" in old) == (True, False)
    assert ("xpu_grf_mode_words" in new, "xpu_grf_mode_figures" in new) == (False, True)
    assert "cuda_no_grf_mode" in _ids("cuda:90", None)


@each(all_chips(), lambda chip: chip.id)
def test_the_warp_limit_is_the_chips(chip: Chip) -> None:
    limits = [
        c.check.parameters["maximum"]
        for c in constraints(chip.id)
        if c.check.name == "option_maximum" and c.check.parameters["option"] == "num_warps"
    ]
    assert limits == [chip.max_warps]


@each(all_chips(), lambda chip: chip.id)
def test_clusters_only_where_there_are_some(chip: Chip) -> None:
    target = chip.id
    forbidden = any(c.check.parameters.get("option") == "num_ctas" for c in constraints(target))
    assert forbidden is (target not in ("cuda:90", "cuda:100", "cuda:120"))


def test_versions() -> None:
    where = AppliesTo(triton=">=3.6,<3.8")
    covered = [minor for minor in range(12) if where.covers_triton((3, minor))]
    assert covered == [6, 7]
    assert not where.covers_triton((4, 7))
