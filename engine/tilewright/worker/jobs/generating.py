"""``inputs``: a case's input data, written as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import generate, makers, tensors


def perform(job: dict[str, Any]) -> dict[str, Any]:
    """Generate and save; the module is imported only when the case takes its inputs from it."""
    case, out = job["case"], job["out"]
    Path(out).mkdir(parents=True, exist_ok=True)
    module = None
    if case.get("inputs_from_module"):
        path = (job.get("entry") or {}).get("path") or job["module"]
        module = makers.maker(path, case)
    else:
        generate.check_memory(case, out)
    values = generate.make_inputs(case, int(job["seed"]), module, job.get("values", "normal"))
    return {"inputs": tensors.save(values, out, "input")}
