"""Forms of the language in Triton's interpreter: as the compiler has them, or named as unknown."""

import torch
from worker_bench import Bench, case_of, tensor

from tilewright.devices.model import JobStatus
from tilewright.worker.inputs import tensor_files


def test_forms_that_the_interpreter_lacks_are_computed(bench: Bench) -> None:
    case = case_of(tensor("x", 4, 16))
    inputs = bench.inputs(case)
    x = tensor_files.load(inputs)["x"]
    told = bench.ran("language.py", "everything", case, inputs=inputs)
    values = list(tensor_files.load(told["outputs"]).values())
    flat, square = x.reshape(-1), x.reshape(-1)[:16].repeat(16, 1).bfloat16().double()
    expected = {
        "spelled": 4 * flat[:16] - 1,
        "closed": 3 * flat[:32] + 1,
        "product": (square @ square).reshape(-1),
        "combined": torch.cat([x.prod(-1), x.sigmoid().sum(-1), flat]),
        "converted": torch.cat(
            [
                flat.to(torch.float8_e5m2).float(),
                flat.bfloat16().float(),
                torch.erfc(flat),
                (flat.bfloat16() * 3).float(),
            ]
        ),
        "exchanged": flat,
        "added": 1 + flat.bfloat16(),
        "blocks": 2 * flat[:60],
    }
    for (name, wanted), found in zip(expected.items(), values, strict=True):
        torch.testing.assert_close(
            found.double(), wanted.double(), rtol=1e-5, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}"
        )


def test_what_it_cannot_run_is_no_error_of_the_kernel(bench: Bench) -> None:
    outcome = bench.run("language.py", "assembly", case_of(tensor("x", 16)))
    assert outcome.status is JobStatus.UNSUPPORTED
    assert "cannot run assembled: inline_asm not supported" in outcome.message
