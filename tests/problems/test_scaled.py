"""Small cases that are too much for the interpreter."""

from tilewright.problems.scaled import MOST, scaled_dims
from tilewright.problems.spec import parse_spec

SPEC = """
entry: layer
inputs:
  X: {{shape: [BATCH, WIDE], dtype: float16}}
ci:
  - params: [X]
    dims: {{BATCH: {batch}, WIDE: {wide}, OUT: {wide}, SHAPE: [{wide}], ALPHA: 0.5}}
    flop: "2*BATCH*WIDE*OUT"
"""


def test_what_is_equal_stays_equal_and_is_little_work() -> None:
    spec = parse_spec(SPEC.format(batch=16384, wide=4096), "layer.yaml")
    (case,) = spec.interpreted
    assert case.category == "ci-scaled"
    assert case.dims["WIDE"] == case.dims["OUT"]
    assert case.dims["SHAPE"] == (case.dims["WIDE"],)
    assert case.dims["ALPHA"] == 0.5
    assert case.inputs[0].shape == (case.dims["BATCH"], case.dims["WIDE"])
    assert case.flop is not None
    assert case.flop < MOST / 4
    assert spec.cases["ci"][0].dims["BATCH"] == 16384
    assert spec.ragged is not None
    assert all(one.dims["OUT"] == case.dims["OUT"] for one in spec.ragged.primes)


def test_what_the_interpreter_finishes_is_left_as_it_is() -> None:
    assert parse_spec(SPEC.format(batch=4, wide=1024), "layer.yaml").interpreted == ()


def test_what_cannot_be_made_smaller_is_left() -> None:
    dims = {"N": 1 << 30, "PARTS": 64}
    assert scaled_dims(dims, lambda some: 1e12 if some == dims else None) == dims
    assert scaled_dims(dims, lambda some: None) == dims
    assert scaled_dims({"N": 64}, lambda some: 1e12) == {"N": 64}
