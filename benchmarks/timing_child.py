"""Times original, optimized and torch on one GPU, interleaved; run by ``examples_gpu.py``.

Reads a job as JSON on stdin, writes the samples as JSON on stdout. Imports the standard
library, torch and triton alone.
"""

import importlib.util
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

FLUSH_FACTOR = 2
FLUSHES = 8  # long enough that the host has enqueued the call before they end
WARM_UP = 10

TORCH: Mapping[str, Callable[..., torch.Tensor]] = {
    "matmul": torch.matmul,
    "softmax": lambda x: torch.softmax(x, dim=-1),
    "linear_gelu": lambda x, w, b: functional.gelu(functional.linear(x, w, b), approximate="tanh"),
    "layernorm": lambda x, weight, bias: functional.layer_norm(x, (x.shape[-1],), weight, bias),
}


def main() -> None:
    job = json.load(sys.stdin)
    device = torch.device(job["device"])
    with torch.cuda.device(device):
        inputs = [_make(entry, seed, device) for seed, entry in enumerate(job["inputs"])]
        runs = {
            "original": _entry(Path(job["original"]), job["entry"]),
            "optimized": _entry(Path(job["optimized"]), job["entry"]),
            "torch": TORCH[job["entry"]],
        }
        outputs = {name: run(*inputs) for name, run in runs.items()}
        samples = _interleave(runs, inputs, job["rounds"])
    reference = outputs["torch"]
    close = {
        name: torch.allclose(got, reference, rtol=job["rtol"], atol=job["atol"])
        for name, got in outputs.items()
    }
    name = torch.cuda.get_device_name(device)
    result = {"us": samples, "close_to_torch": close, "gpu": name, "torch": torch.__version__}
    sys.stdout.write(json.dumps(result))


def _make(entry: Mapping[str, Any], seed: int, device: torch.device) -> torch.Tensor:
    generator = torch.Generator(device).manual_seed(1000 + seed)
    x = torch.randn(entry["shape"], generator=generator, device=device)
    if "normalize" in entry["transforms"]:
        x = functional.normalize(x, dim=-1)
    return x.to(getattr(torch, entry["dtype"]))


def _entry(path: Path, name: str) -> Callable[..., torch.Tensor]:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    entry: Callable[..., torch.Tensor] = getattr(module, name)
    return entry


def _interleave(
    runs: Mapping[str, Callable[..., torch.Tensor]], inputs: Sequence[torch.Tensor], rounds: int
) -> dict[str, list[float]]:
    """Microseconds: each once a round, the order turning, caches flushed before each call."""
    cache = torch.cuda.get_device_properties(inputs[0].device).L2_cache_size
    flush = torch.empty(FLUSH_FACTOR * cache, dtype=torch.int8, device=inputs[0].device)
    names = list(runs)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds + WARM_UP):
        for step in range(len(names)):
            name = names[(turn + step) % len(names)]
            took = _time_once(runs[name], inputs, flush)
            if turn >= WARM_UP:
                samples[name].append(took)
    return samples


def _time_once(
    run: Callable[..., torch.Tensor], inputs: Sequence[torch.Tensor], flush: torch.Tensor
) -> float:
    """Between events on the stream; the flush keeps the GPU busy while the call is enqueued."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    for _ in range(FLUSHES):
        flush.zero_()
    start.record()
    run(*inputs)
    end.record()
    end.synchronize()
    return float(1e3 * start.elapsed_time(end))


if __name__ == "__main__":
    main()
