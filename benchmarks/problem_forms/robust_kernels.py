"""Triton kernels in the form of robust-kbench's tasks: each a file that defines ``forward_fn``.

    python benchmarks/problem_forms/robust_kernels.py FOLDER ROBUST_KBENCH

copies the tasks named here to FOLDER, each with its kernel as ``kernel.py`` among its files.
"""

import shutil
import sys
from pathlib import Path

from kernelbench_modules import GEMM, HEAD, LONG_ROWS, LOSS, RELU, ROWS

RMS = (
    "x = x.to(tl.float32); y = x * tl.rsqrt(tl.sum(x * x, 0) / N + P0); "
    "y = y * tl.load(w_ptr + at, mask=mask)"
)

KERNELS = {
    "llama_rmsnorm": ROWS.replace("{other}", "0.0").replace("{act}", RMS)
    + "\n\ndef forward_fn(x, w, eps=1e-8):\n    return rows(x, w, None, eps)\n",
    "layernorm": LONG_ROWS
    + "\n\ndef forward_fn(x, weight, bias, eps):\n    return layer_norm(x, weight, bias, eps)\n",
    "mnist_linear": GEMM.replace("{act}", "")
    + "\n\ndef forward_fn(x, weights, biases):\n    return linear(x, weights, biases)\n",
    "mnist_linear_relu": GEMM.replace("{act}", RELU.format("y"))
    + "\n\ndef forward_fn(x, weights, biases):\n    return linear(x, weights, biases)\n",
    "mnist_cross_entropy": LOSS + "\n\ndef forward_fn(predictions, targets):\n"
    "    rows, n = predictions.shape\n"
    "    y = torch.empty((rows,), device=predictions.device, dtype=predictions.dtype)\n"
    "    loss_kernel[(rows,)](predictions.contiguous(), targets, y, n,\n"
    "                         BLOCK=triton.next_power_of_2(n))\n"
    "    return y.mean()\n",
}


def write(folder: Path, tasks: Path) -> list[Path]:
    """The copied tasks' kernels."""
    written = []
    for name, text in KERNELS.items():
        task = folder / name
        task.mkdir(parents=True, exist_ok=True)
        for file in ("func_forward.py", "config_forward.json"):
            shutil.copy(tasks / name / file, task / file)
        (task / "kernel.py").write_text(HEAD + text.replace("\n    \n", "\n"))
        written.append(task / "kernel.py")
    return written


if __name__ == "__main__":
    print(*write(Path(sys.argv[1]), Path(sys.argv[2]) / "tasks"), sep="\n")
