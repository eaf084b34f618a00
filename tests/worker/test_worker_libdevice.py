"""What the interpreter lacks and real kernels use: libdevice, and methods of float arguments."""

import pytest
from worker_bench import Bench, case_of, fault, tensor

from tilewright.devices.model import JobStatus

pytestmark = pytest.mark.triton

CASE = case_of(tensor("x", 100))


def test_libdevice_and_float_arguments_compute_as_on_a_device(bench: Bench) -> None:
    inputs = bench.inputs(CASE)
    expected = bench.ran("device_math.py", "reference", CASE, inputs=inputs)
    actual = bench.ran("device_math.py", "device_math", CASE, inputs=inputs)
    assert not fault(expected, actual, rtol=1e-5, atol=1e-6)


def test_what_cannot_be_computed_is_named(bench: Bench) -> None:
    outcome = bench.run("device_math.py", "bits", CASE)
    assert outcome.status is JobStatus.UNSUPPORTED
    assert "libdevice.jn cannot be computed in Triton's interpreter" in outcome.message
