"""The plan of checks: few, telling, and taken apart where an original does not stand them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.evaluation.checks import Check
from tilewright.evaluation.families import SEEDS, checks_for, simpler, watched_for
from tilewright.problems.loading import load_problem
from tilewright.problems.model import Problem
from tilewright.serialize import dump, load

EXAMPLES = Path(__file__).parents[2] / "examples"
STEMS = ("matmul", "softmax", "linear_gelu", "layernorm")


def example(stem: str) -> Problem:
    return load_problem(EXAMPLES / f"{stem}.yaml")


@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize("can_time", [False, True])
def test_the_specs_own_cases_come_first_and_are_required(stem: str, can_time: bool) -> None:
    problem = example(stem)
    checks = checks_for(problem, can_time=can_time)
    required = [check for check in checks if check.required]
    assert checks[: len(required)] == tuple(required)
    small = [(check.case, check.seed) for check in required if check.case.category == "ci"]
    assert small == [(case, seed) for case in problem.check_cases() for seed in SEEDS]
    measured = [check for check in required if check.case in problem.measured_cases()]
    assert len(measured) == (1 if can_time else 0)
    assert all(load(Check, dump(check)) == check for check in checks)
    assert len({check.name + str(check.seed) for check in checks}) == len(checks)


@pytest.mark.parametrize("stem", STEMS)
def test_the_interpreter_is_asked_for_no_more_than_twice_as_much(stem: str) -> None:
    checks = checks_for(example(stem), can_time=False)
    required = [check for check in checks if check.required]
    odd = [check for check in checks if not check.required]
    assert len(odd) <= len(required) + 2
    assert sum(check.repeats for check in odd) <= len(required) + 3
    assert {check.order for check in checks} == {"forward", "reversed", "shuffled"}
    assert any(check.is_ragged and check.layout == "strided" for check in odd)
    assert any(check.repeats > 1 for check in odd)


def test_seeds_of_different_checks_of_a_case_differ() -> None:
    for can_time in (False, True):
        checks = checks_for(example("softmax"), can_time=can_time)
        seen = [(check.case.name, check.seed) for check in checks]
        assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("stem", STEMS)
def test_a_small_case_and_odd_extents_are_watched_beside_a_device(stem: str) -> None:
    plain, odd = watched_for(example(stem))
    assert plain.case == example(stem).check_cases()[0]
    assert odd.is_ragged
    assert {plain.order, odd.order, plain.layout, odd.layout} == {"forward", "plain"}


def test_a_device_takes_every_family_and_no_order() -> None:
    checks = checks_for(example("matmul"), can_time=True)
    assert {check.values for check in checks} >= {
        "normal", "large", "tiny", "sparse", "signed_zeros", "nonfinite", "outliers",
        "constant_rows", "shifted",
    }  # fmt: skip
    assert {check.order for check in checks} == {"forward"}
    assert {check.layout for check in checks} >= {"plain", "strided", "transposed", "offset"}
    assert {dict(check.launch_options).get("num_warps") for check in checks} == {None, 4, 8}


def test_the_interpreter_is_asked_for_the_same_families_of_a_vector_as_of_a_matrix() -> None:
    axpy = load_problem(Path(__file__).parents[1] / "evidence" / "bases" / "axpy" / "axpy.yaml")
    for problem in (axpy, example("matmul")):
        values = {check.values for check in checks_for(problem, can_time=False)}
        assert values >= {"large", "nonfinite", "sparse", "outliers", "mixed_constant", "shifted"}
    mixed = next(c for c in checks_for(axpy, can_time=False) if c.values == "mixed_constant")
    parts = [part.values for part in simpler(axpy, mixed)]
    assert parts == ["outliers", "tiny", "signed_zeros", "constant_rows"]
    without = replace(axpy, reference=None)
    values = {check.values for check in checks_for(without, can_time=False)}
    assert "mixed" in values
    assert values.isdisjoint({"shifted", "mixed_constant"})


@pytest.mark.parametrize(
    ("dtype", "has_reference", "on_device", "asked"),
    [
        ("int32", True, False, True),
        ("int32", True, True, False),
        ("int32", False, False, False),
        ("uint8", False, True, True),
        ("bool", True, False, False),
        ("float32", True, False, False),
    ],
)
def test_integers_that_nothing_bounds_are_asked_for_widely_where_that_is_safe(
    dtype: str, has_reference: bool, on_device: bool, asked: bool
) -> None:
    problem = example("softmax")
    case = problem.check_cases()[0]
    case = replace(case, inputs=(replace(case.inputs[0], dtype=dtype),))
    problem = replace(problem, cases={**problem.cases, "ci": (case,)}, ragged=None)
    problem = problem if has_reference else replace(problem, reference=None)
    wide = [c for c in checks_for(problem, can_time=on_device) if c.values == "wider_integers"]
    assert bool(wide) is asked
    assert all(simpler(problem, c)[0].values == "wide_integers" for c in wide)
    bounded = replace(case, inputs=(replace(case.inputs[0], low=0, high=3),))
    problem = replace(problem, cases={**problem.cases, "ci": (bounded,)})
    values = {check.values for check in checks_for(problem, can_time=on_device)}
    assert "wider_integers" not in values


def test_a_check_that_is_too_much_is_taken_apart() -> None:
    problem = example("matmul")
    odd = next(c for c in checks_for(problem, can_time=False) if c.layout == "strided")
    parts = simpler(problem, odd)
    assert [(p.is_ragged, p.values, p.layout, p.order) for p in parts] == [
        (True, "normal", "plain", "forward"),
        (False, "large", "plain", "forward"),
        (False, "normal", "strided", "forward"),
        (False, "normal", "plain", "shuffled"),
    ]
    assert not any(part.required for part in parts)
    extents = simpler(problem, parts[0])
    assert [sorted(set(p.case.dims.items()) - set(problem.check_cases()[-1].dims.items()))
            for p in extents] == [[("M", 263)], [("N", 293)], [("K", 79)]]  # fmt: skip
    assert all(simpler(problem, part) == () for part in (*parts[1:], *extents))


def test_names_say_what_is_out_of_the_ordinary() -> None:
    names = [check.name for check in checks_for(example("softmax"), can_time=False)]
    assert names[0] == "ci[0]"
    assert names[1] == "ci[0], programs reversed"
    assert re.fullmatch(
        r"ci-ragged\[0\], ROWS=\d+, COLS=\d{4}, large values, strided inputs, programs shuffled",
        names[4],
    )
