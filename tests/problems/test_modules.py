"""Problems that modules state: KernelBench's in one file or two, robust-kbench's tasks."""

import ast
import json
from pathlib import Path

import pytest

from tilewright.problems.constants import constants_of, smaller
from tilewright.problems.loading import find_problem, load_problem
from tilewright.problems.model import Entry, EntryKind, Problem, ProblemError
from tilewright.problems.modules import completed

REFERENCE = """\
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, in_features, out_features, heads, scale_shape):
        self.heads = heads
        self.head = out_features // heads

    def forward(self, x):
        return x

batch_size = 16 * 64
in_features = 8192
out_features = 768
heads = 12
scale_shape = (out_features, 1)
kernel_size = 7
lengths = [64, 4096]
unrelated = 4096

def get_inputs():
    return [torch.rand(batch_size, in_features)]

def get_init_inputs():
    return [in_features, out_features, heads, scale_shape]
"""
KERNEL = """\
import triton

@triton.jit
def kernel(x):
    pass

class ModelNew(nn.Module):
    def forward(self, x):
        kernel[(1,)](x)
"""
TASK = """\
import torch

def forward_fn(x, weight):
    return x @ weight

class Model(torch.nn.Module):
    def __init__(self, width, kind="plain"):
        self.weight = width

    def forward(self, x, fn=forward_fn):
        return fn(x, self.weight)

def get_inputs(rows=4, width=8):
    return [rows]
"""
SETTINGS = {
    "single_input_configs": [{"rows": 4096}],
    "single_init_configs": [{"kind": "plain"}],
    "single_shared_configs": [{"width": 2048}],
    "multi_input_configs": [{"rows": 1}, {"rows": 8192}],
    "multi_init_configs": [{"kind": "plain"}, {"kind": "odd"}],
    "multi_shared_configs": [{"width": 1024}],
}


def _kernelbench(folder: Path) -> Problem:
    (folder / "ref.py").write_text(REFERENCE)
    (folder / "kernel.py").write_text(KERNEL)
    return load_problem(folder / "ref.py", folder / "kernel.py")


def _task(folder: Path) -> Path:
    (folder / "func_forward.py").write_text(TASK)
    (folder / "config_forward.json").write_text(json.dumps(SETTINGS))
    return folder / "func_forward.py"


def test_a_kernel_has_its_reference_in_another_file(tmp_path: Path) -> None:
    problem = _kernelbench(tmp_path)
    assert problem.entry == Entry(EntryKind.MODEL, "Model", preferred="ModelNew")
    assert problem.entry.name_in(["Model", "ModelNew"]) == "ModelNew"
    assert problem.entry.name_in(["Model"]) == "Model"
    assert problem.reference == Entry(EntryKind.MODEL, "Model", str(tmp_path / "ref.py"))


def test_both_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "both.py").write_text(REFERENCE + KERNEL)
    problem = find_problem(tmp_path / "both.py")
    assert problem is not None
    assert problem.reference == Entry(EntryKind.MODEL, "Model", str(tmp_path / "both.py"))


def test_a_kernel_without_a_model_names_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "ref.py").write_text(REFERENCE)
    (tmp_path / "kernel.py").write_text("def launch(x):\n    return x\n")
    with pytest.raises(ProblemError, match="none of Model, ModelNew") as caught:
        load_problem(tmp_path / "ref.py", tmp_path / "kernel.py")
    assert caught.value.path == str(tmp_path / "kernel.py")


def test_smaller_sizes_keep_what_divides_them(tmp_path: Path) -> None:
    constants = constants_of(ast.parse(REFERENCE))
    assert constants.values == {
        "batch_size": 1024, "in_features": 8192, "out_features": 768, "heads": 12,
    }  # fmt: skip
    assert smaller(constants.values, 32) == {
        "batch_size": 4, "in_features": 32, "out_features": 24, "heads": 3,
    }  # fmt: skip
    assert smaller({"n": 65535, "lengths": (64, 4097)}, 32) == {"n": 31, "lengths": (32, 33)}
    own, *small = _kernelbench(tmp_path).sizes
    assert own.cases[0].dims == {}
    assert [size.cases[0].dims["in_features"] for size in small] == [32, 16, 8, 128, 512]


def test_constants_bound_together_are_constants_each() -> None:
    text = REFERENCE.replace("heads = 12", "heads, (a, b), c = 12, (3, 4), f()").replace(
        "batch_size =", "rows = batch_size ="
    )
    values = constants_of(ast.parse(text.replace("in_features)]", "a, b, rows)]"))).values
    assert values == {
        "rows": 1024, "batch_size": 1024, "in_features": 8192, "out_features": 768, "heads": 12,
        "a": 3, "b": 4,
    }  # fmt: skip


def test_small_sizes_have_variants_that_fit_no_tile(tmp_path: Path) -> None:
    ragged = _kernelbench(tmp_path).sizes[1].ragged
    assert ragged is not None
    for case in ragged.primes:
        extents = {name: int(str(value)) for name, value in case.dims.items()}
        assert extents["in_features"] % 2
        assert extents["heads"] == 3
        assert extents["out_features"] % 3 == 0, "the constructor divides it by its heads"
        assert case.inputs_from_module
    assert any("out_features was varied in multiples of 3" in text for text in ragged.kept)


def test_a_tasks_settings_are_its_cases(tmp_path: Path) -> None:
    problem = find_problem(_task(tmp_path))
    assert problem is not None
    assert problem.entry == Entry(EntryKind.MODEL, "Model")
    (own,) = problem.sizes[0].cases
    assert (own.dims, own.init_named) == (
        {"rows": 4096, "width": 2048}, {"kind": "plain", "width": 2048},
    )  # fmt: skip
    small = problem.sizes[1].cases
    assert {case.init_named["kind"] for case in small} == {"plain", "odd"}
    assert all(case.init_named["width"] == case.dims["width"] == 32 for case in small)


def test_a_kernel_among_a_tasks_files_is_called_by_its_model(tmp_path: Path) -> None:
    task = _task(tmp_path)
    kernel = tmp_path / "fast.py"
    kernel.write_text("def forward_fn(x, weight):\n    return launch(x, weight)\n")
    problem = find_problem(kernel)
    assert problem is not None
    assert (problem.path, problem.task) == (str(task), TASK)
    assert problem.reference == Entry(EntryKind.MODEL, "Model", str(task))
    whole = completed(kernel.read_text(), TASK, "Model")
    assert whole.startswith(kernel.read_text())
    defined = [getattr(node, "name", "") for node in ast.parse(whole).body]
    assert [name for name in defined if name] == ["forward_fn", "Model", "get_inputs"]
    (tmp_path / "helper.py").write_text("def other():\n    pass\n")
    assert find_problem(tmp_path / "helper.py") is None


def test_settings_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    task = _task(tmp_path)
    (tmp_path / "config_forward.json").write_text('{"single_input_configs": 3}')
    with pytest.raises(ProblemError, match="'single_input_configs' must be a list") as caught:
        load_problem(task)
    assert caught.value.path == str(tmp_path / "config_forward.json")
