"""``neuron_benchmark``: a kernel on a NeuronCore, timed by the SDK's profiler; untried."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..inputs import tensor_files
from ..loading import entry_point
from ..neuron import arrays, sdk
from ..protocol import JobError

if TYPE_CHECKING:
    from ..messages.jobs import NeuronBenchmarkJob, NeuronTimes


def perform(job: NeuronBenchmarkJob) -> NeuronTimes:
    """Import the file, and run its kernel ``rounds`` times on the inputs of a manifest."""
    if not sdk.packages():
        raise JobError("no Neuron SDK can be imported")
    kernel = entry_point.find_entry(job["entry"], entry_point.load_module(job["module"]))
    given = tensor_files.load(job["inputs"])
    values = [arrays.to_numpy(value) for value in given.values()]
    os.makedirs(job["out"], exist_ok=True)  # noqa: PTH103
    found = sdk.benchmarked(kernel, values, job["out"], int(job["rounds"]))
    return {"seconds": found["seconds"], "terms": found["terms"]}
