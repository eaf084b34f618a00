"""NKI kernels through the cascade, in the simulator: what is said of them, and what never is."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.certificates.files import as_json
from tilewright.devices.model import Device
from tilewright.devices.opening import open_device
from tilewright.evaluation.cascade import Cascade
from tilewright.evaluation.certificate import certify
from tilewright.evaluation.certificate_file import certificate_file, own_rule_text
from tilewright.evaluation.limits_of_evidence import SIMULATOR_LIMITS
from tilewright.evaluation.model import Evaluation, Level, StepName, StepStatus
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import load_problem
from tilewright.problems.model import Problem
from tilewright.targets.model import Target

pytestmark = pytest.mark.triton

TRN2 = Target("neuron", "trn2")
HEAD = """
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

"""
SLOW = (
    HEAD
    + """
@nki.jit
def scaled(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(rows // 128):
        for c in nl.affine_range(columns // 8):
            tile = nl.load(x[nl.ds(r * 128, 128), nl.ds(c * 8, 8)])
            result = nisa.tensor_scalar(tile, nl.multiply, 3.0)
            nl.store(out[nl.ds(r * 128, 128), nl.ds(c * 8, 8)], result)
    return out
"""
)
FAST = SLOW.replace("columns // 8", "columns // 64").replace("c * 8, 8", "c * 64, 64")
WRONG = FAST.replace("rows // 128", "1")
PLAIN = SLOW.replace("@nki.jit\n", "")
SPEC = """
entry: scaled
reference: {file: reference.py, entry: scaled}
multiples: {ROWS: 128, COLS: 64}
inputs:
  X: {shape: [ROWS, COLS], dtype: inherit}
ci:
  - params: [X]
    dtype: DTYPE
    dims: {ROWS: 256, COLS: 128}
    rtol: 1.0e-5
    atol: 1.0e-6
"""
REFERENCE = """
def scaled(x):
    return 3.0 * x
"""


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    opened = open_device("neuron-sim")
    yield opened
    opened.close()


def problem_in(folder: Path, text: str, dtype: str = "float32") -> Problem:
    (folder / "scaled.py").write_text(text)
    (folder / "reference.py").write_text(REFERENCE)
    (folder / "scaled.yaml").write_text(SPEC.replace("DTYPE", dtype))
    return load_problem(folder / "scaled.yaml")


def judged(
    device: Device, folder: Path, original: str, candidate: str, dtype: str = "float32"
) -> tuple[Evaluation, Workbench]:
    problem = problem_in(folder, original, dtype)
    # One check and one of another kind are enough to see what is said.
    problem = replace(problem, ragged=None)
    bench = Workbench(device, problem, folder / "scaled.py", folder / "scratch", 5)
    cascade = Cascade(original, str(folder / "scaled.py"), bench, TRN2)
    return cascade.judge(candidate, original), bench


def status(evaluation: Evaluation, name: StepName) -> StepStatus:
    step = evaluation.step(name)
    assert step is not None
    return step.status


def test_a_faster_kernel_is_correct_and_estimated_and_nothing_more(
    device: Device, tmp_path: Path
) -> None:
    evaluation, bench = judged(device, tmp_path, SLOW, FAST)
    assert evaluation.level is Level.CORRECT
    assert status(evaluation, StepName.COMPILE) is StepStatus.SKIPPED
    assert status(evaluation, StepName.CORRECTNESS) is StepStatus.PASSED
    assert status(evaluation, StepName.ESTIMATE) is StepStatus.PASSED
    assert status(evaluation, StepName.SPEED) is StepStatus.SKIPPED
    gain = evaluation.estimate
    assert gain is not None
    assert gain.value > gain.error > 1
    assert (gain.target, gain.case) == ("neuron:trn2", "ci[0]")

    certificate = certify(evaluation, bench, TRN2)
    assert SIMULATOR_LIMITS in certificate.unverified
    file = certificate_file(
        certificate, (SLOW, FAST), bench.problem, device.info, tmp_path / "scaled.py"
    )
    assert file is not None
    assert file.level == "correct"
    assert "estimated faster" in file.summary
    assert "in the NKI simulator on CPU" in file.summary
    assert "nothing was measured" in file.summary
    assert not file.speed
    told = as_json(file)
    assert told["estimate"]["value"] == pytest.approx(gain.value, rel=1e-3)
    assert told["device"]["id"] == "neuron-sim"


def test_a_kernel_that_stores_part_of_its_rows_is_refused_with_the_line(
    device: Device, tmp_path: Path
) -> None:
    evaluation, _ = judged(device, tmp_path, FAST, WRONG)
    assert evaluation.level is Level.REJECTED
    assert evaluation.failed is not None
    assert "never stored" in evaluation.failed.message
    assert "line 10" in evaluation.failed.message


def test_types_that_numpy_lacks_go_to_the_kernel_and_back(device: Device, tmp_path: Path) -> None:
    evaluation, _ = judged(device, tmp_path, SLOW, FAST, "bfloat16")
    assert evaluation.level is Level.CORRECT


def test_a_kernel_without_a_decorator_may_be_the_entry(device: Device, tmp_path: Path) -> None:
    evaluation, _ = judged(device, tmp_path, PLAIN, PLAIN.replace("3.0)", "6.0 / 2)"))
    assert evaluation.level is Level.CORRECT


NKIBENCH_REFERENCE = """
import numpy as np

ROWS = 256


def get_inputs():
    return [np.random.normal(size=(ROWS, 64)).astype(np.float32)]


def forward(x):
    return x * 3.0


def transform_to_nki_inputs(inputs):
    return [np.reshape(inputs[0], (256, 64))]


def transform_nki_outputs(result, reference):
    return [np.reshape(result, reference.shape)]
"""


def test_nkibenchs_rule_is_reported_and_does_not_decide(device: Device, tmp_path: Path) -> None:
    """Elements near zero are wrong: one norm over the output does not see it."""
    reference = tmp_path / "scaled_0.py"
    reference.write_text(NKIBENCH_REFERENCE)
    kernel = FAST.replace("def scaled", "def kernel")
    small = "nisa.tensor_scalar(tile, nl.multiply, 3.0)\n"
    leaves_out = small + (
        "            size = nl.abs(result)\n"
        "            kept = nisa.tensor_scalar(size, nl.greater, 2e-4)\n"
        "            result = nisa.tensor_tensor(result, kept, nl.multiply)\n"
    )
    candidate = kernel.replace(small, leaves_out)
    (tmp_path / "kernel.py").write_text(kernel)
    problem = load_problem(reference, tmp_path / "kernel.py")
    bench = Workbench(device, problem, tmp_path / "kernel.py", tmp_path / "scratch", 5)
    evaluation = Cascade(kernel, "kernel.py", bench, TRN2).judge(candidate, kernel)
    step = evaluation.step(StepName.CORRECTNESS)
    assert step is not None
    rule = step.data["own_rule"]
    assert (rule["passed"], rule["seeds"]) == (True, [0, 21, 42, 63, 84])
    assert rule["largest_error"] < 2e-5
    assert evaluation.level is Level.REJECTED
    assert own_rule_text(rule).startswith("NKIBench's own rule accepts it: relative error")
