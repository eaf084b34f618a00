"""Variants of a spec's small cases at extents that fit no tile."""

import math
import textwrap
import time
from pathlib import Path
from random import Random

import pytest

from tilewright.problems.loading import load_problem
from tilewright.problems.model import Dim, Problem, Ragged
from tilewright.problems.ragged import ragged_dims, tied_dims
from tilewright.problems.scalars import fixed


def problem(folder: Path, inputs: str, ci: str) -> Problem:
    path = folder / "p.yaml"
    path.write_text(f"name: p\nentry: f\ninputs:\n{textwrap.indent(textwrap.dedent(inputs), '  ')}"
                    f"\nci:\n{textwrap.indent(textwrap.dedent(ci), '  ')}")  # fmt: skip
    return load_problem(path)


def is_prime(number: int) -> bool:
    return number > 2 and all(number % d for d in range(2, int(number**0.5) + 1))


def test_extents_are_primes_beyond_the_small_cases(tmp_path: Path) -> None:
    found = problem(
        tmp_path,
        "X: {shape: [ROWS, COLS], dtype: float32}\nY: {shape: [COLS], dtype: float32}",
        "- params: [X, Y]\n  dims: [{ROWS: 4, COLS: 1024}, {ROWS: 5, COLS: 700}]",
    ).ragged
    assert found is not None
    for beyond in found.primes:
        rows, columns = beyond.inputs[0].shape
        assert rows > 5
        assert columns > 1024
        assert is_prime(rows)
        assert is_prime(columns)
        assert beyond.inputs[1].shape == (columns,)
        assert beyond.name == "ci-ragged[0]"
    one_row, one_column = found.thin
    for case in one_row:
        rows, columns = case.inputs[0].shape
        assert (rows, is_prime(columns)) == (1, True)
        assert 595 < columns < 700
    assert {case.inputs[0].shape for case in one_column} == {(3, 1)}
    assert [case.inputs[0].shape for case in found.single] == [(3, 700), (5, 691)]


def test_nobody_can_know_the_extents_before(tmp_path: Path) -> None:
    inputs = "X: {shape: [ROWS, COLS], dtype: float32}"
    ci = "- params: [X]\n  dims: {ROWS: 5, COLS: 1500}"
    seen = {case.dims["COLS"] for _ in range(8) for case in _ragged(tmp_path, inputs, ci).primes}
    assert len(seen) > 12


def _ragged(folder: Path, inputs: str, ci: str) -> Ragged:
    found = problem(folder, inputs, ci).ragged
    assert found is not None
    return found


def test_the_interpreter_is_not_given_more_than_it_can_do(tmp_path: Path) -> None:
    found = problem(
        tmp_path,
        "A: {shape: [M, K], dtype: float32}\nB: {shape: [K, N], dtype: float32}",
        "- params: [A, B]\n  dims: {M: 267, N: 301, K: 83}",
    ).ragged
    assert found is not None
    for case in found.primes:
        extents = [int(str(value)) for value in case.dims.values()]
        assert all(map(is_prime, extents))
        assert math.prod(extents) <= 1 << 21
        assert extents[0] <= 131


@pytest.mark.parametrize("extent", [1 << 19, 1 << 20, 10**23])
def test_large_extents_are_read_at_once(tmp_path: Path, extent: int) -> None:
    start = time.process_time()
    found = _ragged(
        tmp_path,
        "X: {shape: [N, M], dtype: float32}",
        f"- params: [X]\n  dims: {{N: {extent}, M: 3}}",
    )
    assert time.process_time() - start < 60
    assert all(case.inputs[0].shape[0] < 132 for case in found.primes)


def test_only_extents_vary_and_formulas_follow(tmp_path: Path) -> None:
    found = problem(
        tmp_path,
        "X: {shape: [N, 2*D], dtype: float32}\nEPS: {value: E}\nG: {value: GROUPS}",
        "- params: [X, EPS, G]\n  dims: {N: 16, D: 64, E: 0.5, GROUPS: 4}",
    ).ragged
    assert found is not None
    for case in (*found.primes, *(one for way in found.thin for one in way), *found.single):
        assert case.inputs[0].shape[1] == 2 * int(str(case.dims["D"]))
        assert (case.dims["E"], case.dims["GROUPS"]) == (0.5, 4)


def test_shapes_without_dimensions_have_no_variants(tmp_path: Path) -> None:
    inputs = "X: {shape: [16, 64], dtype: float32}"
    assert problem(tmp_path, inputs, "- params: [X]").ragged is None


def test_what_a_formula_cannot_take_is_left_out(tmp_path: Path) -> None:
    found = problem(
        tmp_path,
        "X: {shape: [N, N - 16], dtype: float32}",
        "- params: [X]\n  dims: {N: 32}",
    ).ragged
    assert found is not None
    assert found.primes
    for case in found.primes:
        first, second = case.inputs[0].shape
        assert first > 32
        assert first - second == 16
    assert found.thin == ()


def test_a_scalar_may_have_a_range_to_vary_in(tmp_path: Path) -> None:
    found = problem(
        tmp_path,
        "X: {shape: [N], dtype: float32}\nALPHA: {value: 0.5, range: [0.1, 2.0]}",
        "- params: [X, ALPHA]\n  dims: {N: 32}",
    )
    alpha = found.check_cases()[0].inputs[1]
    assert (alpha.value, alpha.low, alpha.high) == (0.5, 0.1, 2.0)


def test_what_indices_go_up_to_is_beyond_16_bits_in_a_small_case(tmp_path: Path) -> None:
    found = _ragged(
        tmp_path,
        "IDS: {shape: [COUNT], dtype: int64, range: [0, ROWS]}\n"
        "TABLE: {shape: [ROWS, WIDTH], dtype: float32}",
        "- params: [IDS, TABLE]\n  dims: {COUNT: 16, ROWS: 32, WIDTH: 64}",
    )
    assert found.far
    for case in found.far:
        ids, table = case.inputs
        assert table.shape[0] > 1 << 16
        assert (ids.low, ids.high) == (0, table.shape[0])
        assert math.prod(table.shape) < 1 << 20
        assert ids.shape[0] > 1
    plain = _ragged(
        tmp_path, "X: {shape: [N], dtype: int64, range: [0, 5]}", "- {params: [X], dims: {N: 9}}"
    )
    assert plain.far == ()


def test_a_float_with_several_values_may_be_anything_between(tmp_path: Path) -> None:
    found = problem(
        tmp_path,
        "X: {shape: [N], dtype: float32}\nALPHA: {value: A}\nEPS: {value: 1.0e-5}\nK: {value: J}",
        "- params: [X, ALPHA, EPS, K]\n  dims: [{N: 32, A: 1.5, J: 1}, {N: 33, A: -0.75, J: 2}]",
    )
    assert found.ragged is not None
    for case in (*found.check_cases(), *found.ragged.primes):
        _, alpha, eps, k = case.inputs
        assert (alpha.low, alpha.high) == (-0.75, 1.5)
        assert (eps.low, eps.high) == (None, None)
        assert (k.low, k.high) == (None, None), "whole numbers may be names of things"
    assert fixed(found.check_cases()) == {"EPS": 1e-5}


HALVES = """\
def gated(x, w):
    rows, width2 = x.shape
    half = width2 // 2
    assert w.shape[0] % 16 == 0, "tiles of 16"
    grid = ((rows + 7) // 8, triton.cdiv(half, 64))
    return kernel[grid](x, w, half)
"""


def _with_code(tmp_path: Path, inputs: str, variant: str, code: str) -> Ragged:
    inputs, variant = (textwrap.indent(text, "  ") for text in (inputs, variant))
    spec = f"entry: gated\ninputs:\n{inputs}\nci:\n{variant}\n"
    (tmp_path / "k.py").write_text(code)
    (tmp_path / "k.yaml").write_text(spec)
    found = load_problem(tmp_path / "k.yaml").ragged
    assert found is not None
    return found


def test_what_the_original_divides_stays_a_multiple(tmp_path: Path) -> None:
    found = _with_code(
        tmp_path,
        "X: {shape: [M, WIDTH2], dtype: float32}\nW: {shape: [K, WIDTH2], dtype: float32}",
        "- {params: [X, W], dims: {M: 24, WIDTH2: 256, K: 64}}",
        HALVES,
    )
    thin = [case for way in found.thin for case in way]
    for case in (*found.primes, *thin, *found.single):
        rows, width, depth = (int(str(case.dims[name])) for name in ("M", "WIDTH2", "K"))
        assert (width % 2, depth % 16) == (0, 0)
        assert rows in (1, 24) or is_prime(rows)
    assert all(is_prime(int(str(case.dims["WIDTH2"])) // 2) for case in found.primes)
    assert [text.split(" was ")[0] for text in found.kept] == ["WIDTH2", "K"]
    assert "line 3: width2 // 2" in found.kept[0]


@pytest.mark.parametrize(
    "code",
    [
        "def gated(x, w):\n    n = x.shape[1]\n    return f(n // 2, n % 2)\n",
        "def gated(x, w):\n    n = x.shape[1]\n    return f((n + 1) // 2)\n",
        "def gated(x, w):\n    n = x.shape[1]\n    return f(n // 2 + 1)\n",
    ],
)
def test_a_rest_that_the_original_takes_care_of_is_varied(tmp_path: Path, code: str) -> None:
    found = _with_code(
        tmp_path,
        "X: {shape: [M, N], dtype: float32}\nW: {shape: [N], dtype: float32}",
        "- {params: [X, W], dims: {M: 24, N: 256}}",
        code,
    )
    assert found.kept == ()
    assert all(is_prime(int(str(case.dims["N"]))) for case in found.primes)


def test_splits_are_followed_into_models_and_kernels(tmp_path: Path) -> None:
    code = """\
class Model:
    def __init__(self, width, heads):
        self.heads = heads
        self.head_width = width // heads

    def forward(self, x):
        a, b = torch.chunk(x, 3, dim=1)
        return launch(x.contiguous())

def launch(x):
    kernel[(1,)](x, x.size(0))

def kernel(p, n):
    half = n // 2
"""
    spec = """\
inputs:
  X: {shape: [ROWS, COLUMNS, WIDTH], dtype: float32}
inits: [{dim: WIDTH}, {dim: HEADS}]
ci:
  - {params: [X], dims: {ROWS: 32, COLUMNS: 48, WIDTH: 64, HEADS: 4}}
"""
    (tmp_path / "m.py").write_text(code)
    (tmp_path / "m.yaml").write_text(spec)
    found = load_problem(tmp_path / "m.yaml").ragged
    assert found is not None
    for case in (*found.primes, *found.single):
        extents = [int(str(case.dims[name])) for name in ("ROWS", "COLUMNS", "WIDTH")]
        assert [extent % step for extent, step in zip(extents, (2, 3, 4), strict=True)] == [0, 0, 0]


def test_extents_that_belong_together_in_the_spec_are_tried_together(tmp_path: Path) -> None:
    found = _ragged(
        tmp_path,
        "X: {shape: [M, H], dtype: float32}\nY: {shape: [M, W], dtype: float32}",
        "- {params: [X, Y], dims: [{M: 32, H: 64, W: 128}, {M: 48, H: 96, W: 192}]}",
    )
    assert found.tied
    assert all(2 * int(str(c.dims["H"])) == int(str(c.dims["W"])) for c in found.tied)
    assert any(2 * int(str(c.dims["H"])) != int(str(c.dims["W"])) for c in found.primes)


def test_three_dimensions_of_one_size_hang_together() -> None:
    dims = {"M": 64, "N": 64, "K": 128}
    for found in tied_dims([dims], dims, dims, Random(1)):
        assert found["M"] == found["N"]
        assert int(str(found["K"])) == 2 * int(str(found["N"]))
    same = {"M": 64, "N": 64, "K": 64}
    assert all(len(set(found.values())) == 1 for found in tied_dims([same], same, same, Random(1)))


def test_extents_in_multiples_of_a_tile_go_beyond_the_small_cases(tmp_path: Path) -> None:
    """A product of elements says little where one instruction works on a whole tile."""
    path = tmp_path / "p.yaml"
    path.write_text(
        "name: p\nentry: f\nmultiples: {K: 128, M: 128, N: 512}\ninputs:\n"
        "  A: {shape: [K, M], dtype: float32}\n  B: {shape: [K, N], dtype: float32}\n"
        "ci:\n- params: [A, B]\n  dims: {K: 384, M: 256, N: 512}\n"
    )
    found = load_problem(path).ragged
    assert found is not None
    assert found.primes
    for case in found.primes:
        extents = {name: int(str(value)) for name, value in case.dims.items()}
        assert extents["K"] in (5 * 128, 7 * 128)
        assert extents["M"] in (3 * 128, 5 * 128)
        assert extents["N"] in (3 * 512, 5 * 512)


def test_many_tiles_are_brought_down_to_a_few() -> None:
    steps = {"K": 128, "M": 128, "N": 512}
    dims: dict[str, Dim] = dict.fromkeys(steps, 4096)
    found = ragged_dims(dims, steps, dict.fromkeys(steps, 4096), steps=steps)
    assert found
    for one in found:
        assert (one["M"], one["N"]) == (3 * 128, 3 * 512)
