"""The examples are correct before anything is made of them: each against torch, ragged too."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("matmul", "softmax", "linear_gelu", "layernorm")

# Runs in a child: TRITON_INTERPRET must be set before triton is imported, and the test
# process itself imports neither torch nor triton.
CHILD = """
import importlib, json, sys
import torch
name, shapes, dtype, rtol, atol = json.loads(sys.argv[1])
kernel = getattr(importlib.import_module(name), name)
reference = getattr(importlib.import_module("references"), name)
torch.manual_seed(7)
for per_input in shapes:
    inputs = []
    for shape, transforms in per_input:
        x = torch.randn(shape)
        if "normalize" in transforms:
            x = torch.nn.functional.normalize(x, dim=-1)
        inputs.append(x.to(getattr(torch, dtype)))
    torch.testing.assert_close(kernel(*inputs), reference(*inputs), rtol=rtol, atol=atol)
    print("agrees at", [list(x.shape) for x in inputs])
"""


def _spec(name: str) -> dict:
    return yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())


def _job(name: str) -> tuple:
    spec = _spec(name)
    (variant,) = spec["ci"]
    shapes = [
        [
            (
                [dims[d] for d in spec["inputs"][p]["shape"]],
                spec["inputs"][p].get("inits", []),
            )
            for p in variant["params"]
        ]
        for dims in variant["dims"]
    ]
    return name, shapes, variant["dtype"], variant["rtol"], variant["atol"]


@pytest.mark.slow
@pytest.mark.triton
@pytest.mark.parametrize("name", NAMES)
def test_original_kernel_agrees_with_torch(name: str) -> None:
    import json

    job = _job(name)
    run = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(job)],
        env={"TRITON_INTERPRET": "1", "PYTHONPATH": str(EXAMPLES), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.count("agrees at") == len(job[1]) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_check_shapes_include_a_ragged_one(name: str) -> None:
    (variant,) = _spec(name)["ci"]
    assert any(
        all(d % 16 for d in dims.values()) or max(dims.values()) % 512 for dims in variant["dims"]
    )


@pytest.mark.parametrize("name", NAMES)
def test_source_is_a_first_version(name: str) -> None:
    """What the demo claims to improve must really be in the file as it is shipped."""
    text = (EXAMPLES / f"{name}.py").read_text()
    tell = {
        "matmul": ("a.to(tl.float32)", "acc += tl.dot", "BLOCK_M=32"),
        "softmax": ("tl.exp(x - row_max)", "BLOCK=1024"),
        "linear_gelu": ("(tl.exp(2 * u) - 1)", "acc += tl.dot"),
        "layernorm": ("tl.float64", "torch.cuda.synchronize()"),
    }[name]
    assert all(piece in text for piece in tell)
    assert "num_warps" not in text
