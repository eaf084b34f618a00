"""Runs pairs of kernel files on equal inputs in Triton's interpreter; prints what differs as JSON.

Started by ``test_numerics.py`` in a process of its own, as the interpreter is chosen at import.
Reads a JSON list of {"name", "before", "after", "entry", "inputs": [{"shape", "dtype", "scale"}]}.
"""

import importlib.util
import json
import sys
from types import ModuleType

import torch


def load(path: str, name: str) -> ModuleType:
    """A kernel file as a module."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def difference(job: dict) -> dict:
    """Largest difference of the results, relative to values above 1; whether either has a NaN."""
    generator = torch.Generator().manual_seed(7)
    inputs = [
        (torch.randn(i["shape"], generator=generator) * i.get("scale", 1.0)).to(
            getattr(torch, i["dtype"])
        )
        for i in job["inputs"]
    ]
    results = [
        getattr(load(job[side], f"{job['name']}_{side}"), job["entry"])(
            *[x.clone() for x in inputs]
        )
        for side in ("before", "after")
    ]
    before, after = (r.double() for r in results)
    apart = (before - after).abs() / before.abs().clamp(min=1)
    return {
        "name": job["name"],
        "nan_before": bool(before.isnan().any()),
        "nan_after": bool(after.isnan().any()),
        "largest": float(apart.nan_to_num(0).max()),
        "same_shape": before.shape == after.shape,
    }


if __name__ == "__main__":
    with open(sys.argv[1]) as jobs, open(sys.argv[2], "w") as out:  # noqa: PTH123
        json.dump([difference(job) for job in json.load(jobs)], out)
