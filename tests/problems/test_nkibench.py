"""Folders of NKIBench: which reference belongs to a kernel, and what is called how."""

import json
from pathlib import Path

import pytest

from tilewright.problems.loading import find_problem, load_problem
from tilewright.problems.model import OwnRule, ProblemError
from tilewright.problems.nkibench import holds_refused

REFERENCE = """
import numpy as np

M = 256


def get_inputs():
    return [np.random.normal(size=(M, 64)).astype(np.float32), 2.0]


def forward(x, scale):
    return x * scale


def transform_to_nki_inputs(inputs):
    return [np.reshape(inputs[0], (2, 128, 64)), inputs[1]]


def transform_nki_outputs(result, reference):
    return [np.reshape(result, reference.shape)]
"""
KERNEL = """
import neuronxcc.nki as nki


@nki.jit
def {name}(x, scale):
    return x
"""


def folder(tmp_path: Path, *, name: str = "kernel", problem: str = "scaled") -> tuple[Path, Path]:
    """(kernel, reference) of a folder as NKIBench has it; their names do not belong together."""
    bench = tmp_path / "NKIBench"
    for part in ("kernels", "reference"):
        (bench / part).mkdir(parents=True)
    kernel, reference = bench / "kernels/other_order_0.py", bench / f"reference/{problem}_M256.py"
    kernel.write_text(KERNEL.format(name=name))
    reference.write_text(REFERENCE)
    paths = {"task": f"./reference/{reference.name}", "kernel": f"./kernels/{kernel.name}"}
    summary = {problem: {"cases": {"1": {"values": {}, "impls": [paths]}}}}
    (bench / "summary.json").write_text(json.dumps(summary))
    return kernel, reference


def test_a_kernel_finds_its_reference_by_the_summary(tmp_path: Path) -> None:
    kernel, reference = folder(tmp_path)
    found = find_problem(kernel)
    assert found is not None
    assert (found.path, found.entry.name) == (str(reference), "kernel")
    assert found.entry.layout == str(reference)
    assert found.reference is not None
    assert (found.reference.name, found.reference.path) == ("forward", str(reference))
    assert found.own_rule == OwnRule("NKIBench", 2e-5, (0, 21, 42, 63, 84), "float16")
    assert [case.name for case in found.check_cases()] == ["ci[0]"]


def test_the_folder_and_the_reference_name_the_same_problem(tmp_path: Path) -> None:
    kernel, reference = folder(tmp_path)
    by_folder = load_problem(reference.parents[1], kernel)
    assert by_folder == load_problem(reference, kernel) == find_problem(kernel)


def test_mamba_has_a_tolerance_of_its_own(tmp_path: Path) -> None:
    kernel, _ = folder(tmp_path, problem="mamba")
    found = find_problem(kernel)
    assert found is not None
    assert found.own_rule is not None
    assert found.own_rule.tolerance == 3e-5


def test_the_other_name_of_a_kernel_is_taken(tmp_path: Path) -> None:
    kernel, _ = folder(tmp_path, name="optimized_kernel")
    found = find_problem(kernel)
    assert found is not None
    assert found.entry.name == "optimized_kernel"


def test_a_file_without_a_kernel_of_these_names_is_refused(tmp_path: Path) -> None:
    kernel, _ = folder(tmp_path, name="fast_kernel")
    with pytest.raises(ProblemError, match=r"none of kernel, optimized_kernel.*it has fast_kernel"):
        find_problem(kernel)


def test_a_folder_that_does_not_list_the_file_says_how_to_name_the_problem(tmp_path: Path) -> None:
    _, reference = folder(tmp_path)
    other = tmp_path / "other.py"
    other.write_text(KERNEL.format(name="kernel"))
    with pytest.raises(ProblemError, match=r"lists no kernel.*name the file in reference/"):
        load_problem(reference.parents[1], other)
    assert load_problem(reference, other).entry.name == "kernel"


@pytest.mark.parametrize(
    ("summary", "why"),
    [("{", "cannot be read as JSON"), ('{"scaled": {"cases": {"1": 3}}}', None)],
)
def test_a_summary_that_is_none(tmp_path: Path, summary: str, why: str | None) -> None:
    kernel, reference = folder(tmp_path)
    (reference.parents[1] / "summary.json").write_text(summary)
    if why is None:
        assert find_problem(kernel) is None
        return
    with pytest.raises(ProblemError, match=why):
        find_problem(kernel)


def test_a_reference_that_is_not_there_is_named(tmp_path: Path) -> None:
    kernel, reference = folder(tmp_path)
    reference.unlink()
    with pytest.raises(ProblemError, match=r"scaled_M256\.py, which is not there"):
        find_problem(kernel)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("x = nl.bfloat16", True),
        ("x = nl.float32  # not float16", False),
        ('x = "#"; y = nl.float16', False),
        ("x = nl.float32", False),
    ],
)
def test_the_rule_on_texts_reads_a_line_up_to_its_first_hash(text: str, refused: bool) -> None:
    rule = OwnRule("NKIBench", 2e-5, (0,), "float16")
    assert holds_refused(rule, text) is refused
