"""``inputs``: a case's input data, written as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..inputs import generation, module_inputs, tensor_files

if TYPE_CHECKING:
    from ..messages.jobs import Inputs, InputsJob


def perform(job: InputsJob) -> Inputs:
    """Generate and save; the module is imported only when the case takes its inputs from it."""
    case, out = job["case"], job["out"]
    Path(out).mkdir(parents=True, exist_ok=True)
    module = None
    if case.get("inputs_from_module"):
        entry = job.get("entry")
        path = (entry and entry.get("path")) or job["module"]
        module = module_inputs.maker(path, case)
    else:
        generation.check_memory(case, out)
    values = generation.make_inputs(case, int(job["seed"]), module, job.get("values", "normal"))
    return {"inputs": tensor_files.save(values, out, "input")}
