"""Input data: deterministic, different for each name, and what the spec asks for."""

from pathlib import Path

import pytest
import torch
from worker_bench import Bench, case_of, tensor

from tilewright.devices.model import JobStatus
from tilewright.worker.inputs import generation, tensor_files
from tilewright.worker.loading import entry_point

pytestmark = pytest.mark.triton


def values(*specs: dict[str, object], seed: int = 0, **more: object) -> dict[str, torch.Tensor]:
    return generation.make_inputs(case_of(*specs), seed, **more)  # type: ignore[arg-type]


def test_two_inputs_never_share_a_stream_and_seeds_repeat() -> None:
    made = values(tensor("a", 64, 64), tensor("b", 64, 64))
    assert not torch.equal(made["a"], made["b"])
    assert torch.equal(made["a"], values(tensor("a", 64, 64))["a"])
    assert not torch.equal(made["a"], values(tensor("a", 64, 64), seed=1)["a"])


@pytest.mark.parametrize("ascending", [False, True])
def test_integers_of_a_range_have_both_ends_of_it(ascending: bool) -> None:
    spec = tensor("ids", 5, dtype="int64", low=0, high=90_000, ascending=ascending)
    drawn = [values(spec, seed=seed)["ids"] for seed in range(4)]
    assert all((int(ids.min()), int(ids.max())) == (0, 89_999) for ids in drawn)
    assert len({tuple(ids.tolist()) for ids in drawn}) == 4


def test_integers_without_a_range_go_as_far_as_they_are_asked_to() -> None:
    spec = tensor("x", 4, 500, dtype="int8")
    assert int(values(spec)["x"].max()) == 7
    wide = values(spec, values="wider_integers")["x"]
    assert (int(wide.min()), int(wide.max())) == (-128, 127)
    assert int(wide[3].min()) >= 63 or int(wide[1].min()) >= 63  # sums do not cancel out
    bounded = values(tensor("x", 500, dtype="int8", low=0, high=3), values="wider_integers")["x"]
    assert int(bounded.max()) == 2


def test_a_mean_far_above_the_spread_and_rows_of_several_families() -> None:
    shifted = values(tensor("x", 8, 500), values="shifted")["x"]
    assert 299 < float(shifted.mean()) < 301
    assert 0.9 < float(shifted.std()) < 1.1
    for shape in ((8, 500), (2000,)):
        mixed = values(tensor("x", *shape), values="mixed_constant")["x"].reshape(4, -1)
        parts = mixed if len(shape) == 1 else mixed.reshape(2, 4, -1).transpose(0, 1).reshape(4, -1)
        large, tiny, zeros, constant = parts
        assert float(large.abs().max()) > 100
        assert float(tiny.abs().max()) < 0.01
        assert 0.5 < float((zeros == 0).float().mean()) < 0.8
        assert len(constant.unique()) == (1 if len(shape) == 1 else 2)


def test_integers_keep_to_their_range_and_bools_vary() -> None:
    made = values(tensor("pick", 1000, dtype="int64", low=3, high=7), tensor("m", 64, dtype="bool"))
    assert set(made["pick"].tolist()) == {3, 4, 5, 6}
    assert set(made["m"].tolist()) == {True, False}


@pytest.mark.parametrize(
    ("transform", "holds"),
    [
        ("softmax", lambda x: torch.allclose(x.sum(-1), torch.ones(16))),
        ("abs", lambda x: bool((x >= 0).all())),
        ("normalize", lambda x: torch.allclose(x.norm(dim=-1), torch.ones(16))),
        ("symmetric", lambda x: torch.equal(x, x.T)),
        ("triu", lambda x: bool((x.tril(-1) == 0).all())),
        ("tril", lambda x: bool((x.triu(1) == 0).all())),
        ("uniform", lambda x: bool((x.abs() <= 1).all()) and x.std() > 0.4),
        ("rademacher", lambda x: set(x.unique().tolist()) == {-1.0, 1.0}),
    ],
)
def test_transforms_do_what_they_say(transform: str, holds: object) -> None:
    made = values(tensor("x", 16, 16, transforms=[transform]))["x"]
    assert holds(made)  # type: ignore[operator]


def test_values_scale_the_distribution() -> None:
    large = values(tensor("x", 1000), values="large")["x"].std()
    tiny = values(tensor("x", 1000), values="tiny")["x"].std()
    assert large > 30
    assert tiny < 0.01


@pytest.mark.parametrize("dtype", ["bfloat16", "bool", "int8", "float64", "float8_e4m3fn"])
def test_manifests_keep_every_bit(tmp_path: object, dtype: str) -> None:
    data = torch.arange(24).to(tensor_files.dtype_of(dtype)).reshape(2, 3, 4)
    views = {
        "all": data,
        "cut": data[:, 1:, ::2],
        "turned": data.permute(2, 0, 1),
        "0d": data[1, 2, 3],
    }
    loaded = tensor_files.load(tensor_files.save(views, str(tmp_path), "t"))
    for name, view in views.items():
        assert loaded[name].stride() == view.stride()
        assert torch.equal(loaded[name].float(), view.float())


def test_scalars_and_misalignment_travel(tmp_path: object) -> None:
    data = torch.arange(10.0)
    manifest = tensor_files.save({"n": 3, "eps": 1e-5, "x": data[3:]}, str(tmp_path), "t")
    loaded = tensor_files.load(manifest)
    assert (loaded["n"], loaded["eps"]) == (3, 1e-5)
    assert loaded["x"].data_ptr() % 16 == 12


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (tensor("x", 4, dtype="float61"), "has no dtype 'float61'"),
        (tensor("x", 4, dtype="int32", low=5, high=5), "the range 5..5 holds no integer"),
        (tensor("x", 4, 5, transforms=["symmetric"]), "needs a square matrix, got (4, 5)"),
        (tensor("x", 4, transforms=["spin"]), "unknown transform 'spin'"),
    ],
)
def test_a_spec_that_cannot_be_made_says_why(
    bench: Bench, spec: dict[str, object], words: str
) -> None:
    outcome = bench.ask("inputs", case=case_of(spec), seed=0, out=bench.out())
    assert outcome.status is JobStatus.ERROR
    assert words in outcome.message


def test_inputs_can_come_from_the_module(bench: Bench) -> None:
    path = bench.folder / "problem.py"
    path.write_text("import torch\n\ndef get_inputs():\n    return [torch.randn(4, 5), 3]\n")
    case = case_of(inputs_from_module=True)
    first, second = (
        bench.get("inputs", case=case, seed=seed, out=bench.out(), module=str(path))["inputs"]
        for seed in (1, 1)
    )
    assert first[1] == {"name": "input_1", "value": 3}
    assert torch.equal(tensor_files.load(first)["input_0"], tensor_files.load(second)["input_0"])


def test_zeros_that_a_module_makes_stay_zero(tmp_path: Path) -> None:
    path = tmp_path / "triangle.py"
    path.write_text(
        "import torch\n\ndef get_inputs():\n"
        "    return [torch.tril(torch.ones(8, 8)), torch.randn(8, 8)]\n"
    )
    case = case_of(inputs_from_module=True)
    lower = torch.ones(8, 8).tril() != 0
    for family in ("shifted", "nonfinite", "constant_rows"):
        made = generation.make_inputs(case, 3, entry_point.load_module(str(path)), family)
        assert not made["input_0"][~lower].any()
        assert (made["input_0"][lower] != 1).any()
    shifted = generation.make_inputs(case, 3, entry_point.load_module(str(path)), "shifted")
    assert (shifted["input_1"] != 0).all()


@pytest.mark.parametrize("shape", [(8,), (2, 4), (4, 2), (8, 1), (4, 256), (2, 3, 5)])
def test_nan_shares_no_row_and_no_column_with_an_infinity(shape: tuple[int, ...]) -> None:
    """Next to an infinity, a kernel that takes NaN for zero gives NaN all the same."""
    for seed in range(20):
        made = values(tensor("x", *shape), seed=seed, values="nonfinite")["x"]
        assert [int(f(made).sum()) for f in (torch.isnan, torch.isposinf, torch.isneginf)] == [
            1, 1, 1,
        ]  # fmt: skip
        rows = made.reshape(-1, shape[-1])
        for lines in (rows, rows.T):
            if len(lines) > 1:
                (line,) = lines[lines.isnan().any(1)]
                assert not line.isinf().any()
