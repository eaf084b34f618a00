"""Running kernels in the interpreter, and judging what came back."""

from pathlib import Path
from typing import Any

import pytest
import torch
from worker_bench import Bench, case_of, fault, function, tensor

from tilewright.devices.model import JobStatus
from tilewright.worker.inputs import tensor_files

pytestmark = pytest.mark.triton

PRODUCT = case_of(tensor("a", 65, 70, dtype="float16"), tensor("b", 70, 50, dtype="float16"))


def against_the_reference(
    bench: Bench, file: Path | str, name: str = "matmul", case: dict[str, Any] = PRODUCT
) -> str:
    """What is wrong with the file's outputs, held against the reference of the unchanged one."""
    inputs = bench.inputs(case)
    expected = bench.ran("matmul.py", "reference", case, inputs=inputs)
    actual = bench.ran(file, name, case, inputs=inputs)
    return fault(expected, actual, rtol=1e-2, atol=1e-2)


def test_a_matrix_product_agrees_with_torch(bench: Bench) -> None:
    assert against_the_reference(bench, "matmul.py") == ""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("acc = tl.dot(a, b, acc)", "acc = tl.dot(a, b)", "elements differ, first at"),
        ("return c\n", "return c * 2\n", "everything got is 2 times what was expected"),
        ("return c\n", "return c * 0\n", "everything got is zero"),
        ("return c\n", "return c[:-1]\n", "expected shape (65, 50), got (64, 50)"),
        ("return c\n", "return c.float()\n", "expected dtype float16, got float32"),
        ("return c\n", "return c, c\n", "expected a tensor to be returned, got a tuple of 2"),
        ("triton.cdiv(N, TILE_N)", "N // TILE_N", "the last columns 32..49"),
        (
            "triton.cdiv(N, TILE_N)",
            "N // TILE_N",
            "never written: the last columns 32..49 (what is left",
        ),
    ],
)
def test_a_wrong_candidate_is_described(bench: Bench, old: str, new: str, words: str) -> None:
    assert words in against_the_reference(bench, bench.variant("matmul.py", old, new))


def test_a_transposed_result_is_called_so(bench: Bench) -> None:
    case = case_of(tensor("a", 32, 32, dtype="float16"), tensor("b", 32, 32, dtype="float16"))
    path = bench.variant("matmul.py", "return c\n", "return c.T\n")
    assert "the result is the transpose" in against_the_reference(bench, path, case=case)


def test_a_result_need_not_have_the_strides_of_the_expected_one(bench: Bench) -> None:
    path = bench.variant("matmul.py", "return c\n", "return c.T.contiguous().T\n")
    assert against_the_reference(bench, path) == ""


def test_library_functions_autotune_and_heuristics_are_interpreted(bench: Bench) -> None:
    case = case_of(tensor("x", 5, 100))
    inputs = bench.inputs(case)
    got = bench.ran("rows.py", "softmax", case, inputs=inputs, config_index=2)
    want = bench.ran("rows.py", "reference", case, inputs=inputs)
    assert got["launches"] == {"softmax_kernel": 1}
    assert got["configs"] == {"softmax_kernel": 4}
    assert not fault(want, got, rtol=1e-5, atol=1e-6)


def test_inputs_changed_in_place_are_found_and_given_back(bench: Bench) -> None:
    case = case_of(tensor("x", 300))
    inputs = bench.inputs(case)
    before = Path(inputs[0]["file"]).read_bytes()
    value = bench.ran("rows.py", "increment", case, inputs=inputs)
    assert value["inputs_changed"] == ["x"]
    assert value["output_tree"] == {"kind": "none"}
    assert Path(inputs[0]["file"]).read_bytes() == before
    assert Path(value["changed_inputs"][0]["file"]).read_bytes() != before


def test_no_launch_is_seen(bench: Bench) -> None:
    assert bench.ran("rows.py", "reference", case_of(tensor("x", 4, 4)))["launches"] == {}


def test_memory_that_was_never_written_does_not_pass(bench: Bench) -> None:
    case = case_of(tensor("x", 8, 8))
    inputs = bench.inputs(case)
    got = bench.ran("rows.py", "forgets_to_store", case, inputs=inputs)
    found = fault({"outputs": inputs}, got, rtol=1e9, atol=1e9)
    assert found.endswith("all of it is the poison of fresh memory")


def model(name: str) -> dict[str, Any]:
    return {"kind": "model", "name": name, "path": None}


def test_models_share_their_weights_and_return_trees(bench: Bench) -> None:
    case = case_of(tensor("x", 3, 8), init_args=[8], dtype="float32")
    inputs = bench.inputs(case)
    first = bench.ran("rows.py", "", case, entry=model("Scaled"), inputs=inputs, keep_state=True)
    assert [entry["name"] for entry in first["state"]] == ["weight"]
    kinds = [item["kind"] for item in first["output_tree"]["items"]]
    assert kinds == ["tensor", "dict"]
    again = bench.ran(
        "rows.py", "", case, entry=model("Renamed"), inputs=inputs, state=first["state"]
    )
    assert not fault(first, again)
    wider = bench.run(
        "rows.py", "", case, entry=model("Wider"), inputs=inputs, state=first["state"]
    )
    assert wider.status is JobStatus.ERROR
    assert "weight (9,)" in wider.message
    assert "weight (8,)" in wider.message


def test_bfloat16_is_computed_as_such_or_in_another_dtype(bench: Bench) -> None:
    case = case_of(tensor("a", 32, 32, dtype="bfloat16"), tensor("b", 32, 32, dtype="bfloat16"))
    plain = bench.ran("matmul.py", "matmul", case)
    other = bench.ran("matmul.py", "matmul", case, shadow_dtype={"bfloat16": "float32"})
    dtypes = [ran["outputs"][0]["dtype"] for ran in (plain, other)]
    assert dtypes == ["bfloat16", "float32"]
    assert "bfloat16 was computed in float32" in other["caveats"]
    one, two = (tensor_files.load_entry(ran["outputs"][0], "cpu") for ran in (plain, other))
    torch.testing.assert_close(one.float(), two, rtol=1e-2, atol=1e-2)


def test_an_error_names_the_users_line(bench: Bench) -> None:
    outcome = bench.run("hostile.py", "fails_on_a_line", case_of(tensor("x", 4)))
    assert outcome.status is JobStatus.ERROR
    lines = (Path(__file__).parent / "kernels" / "hostile.py").read_text().splitlines()
    line = next(at for at, text in enumerate(lines, 1) if "x.reshape(7, 7, 7)" in text)
    assert f"hostile.py:{line}" in outcome.message


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"kind": "dance"}, "unknown job 'dance'"),
        ({"kind": "run", "device": "interpreter"}, "a run job needs 'module'"),
        ({"kind": "capture", "module": "/nowhere.py"}, "there is no file /nowhere.py"),
    ],
)
def test_a_job_that_makes_no_sense_is_refused(
    bench: Bench, job: dict[str, Any], words: str
) -> None:
    outcome = bench.client.run(job, 30)
    assert outcome.status is JobStatus.ERROR
    assert words in outcome.message


def test_measuring_one_candidate(bench: Bench) -> None:
    case = case_of(tensor("x", 4, 16))
    value = bench.get(
        "measure", module=str(Path(__file__).parent / "kernels" / "rows.py"), case=case,
        entry=function("softmax"), inputs=bench.inputs(case),
        device="interpreter", out=bench.out(), budget_s=0.05, gpu_lock=str(bench.folder / "lock"),
    )  # fmt: skip
    assert len(value["us"]) >= 10
    assert min(value["us"]) > 0
    assert value["launches"] == {"softmax_kernel": 1}
    assert value["waited_s"] >= 0
    quick = bench.get(
        "measure", module=str(Path(__file__).parent / "kernels" / "rows.py"), case=case,
        entry=function("softmax"), inputs=bench.inputs(case), device="interpreter", budget_s=0.05,
    )  # fmt: skip
    assert quick["us"]
    assert "outputs" not in quick, "a look at the clock alone writes nothing"
