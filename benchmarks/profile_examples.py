"""Profiles the examples on a GPU: what is said of each, and what each profiler wrote.

    python benchmarks/profile_examples.py OUT [--device cuda:0] [--raw] [NAME ...]

``OUT`` gets one JSON file an example; with ``--raw`` also the answers of the device's profilers for
it, unread, from which the golden files of ``tests/profiling`` are cut.
"""

import argparse
import json
import secrets
import tempfile
import time
from pathlib import Path

from tilewright.devices.model import Device
from tilewright.devices.opening import open_device
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import load_problem
from tilewright.profiling.measurement import counters_job
from tilewright.profiling.profilers import profilers_for
from tilewright.profiling.run import profile_source

EXAMPLES_DIR = Path(__file__).parents[1] / "examples"
EXAMPLES = ("softmax", "matmul", "layernorm", "linear_gelu")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("examples", nargs="*", default=EXAMPLES)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--raw", action="store_true")
    options = parser.parse_intermixed_args()
    options.out.mkdir(parents=True, exist_ok=True)
    device = open_device(options.device)
    for name in options.examples:
        with tempfile.TemporaryDirectory() as scratch:
            _profile(name, device, Path(scratch), options.out, raw=options.raw)
    device.close()


def _profile(name: str, device: Device, scratch: Path, out: Path, *, raw: bool) -> None:
    path = EXAMPLES_DIR / f"{name}.py"
    problem = load_problem(path.with_suffix(".yaml"), path)
    bench = Workbench(device, problem, path, scratch, secrets.randbits(48))
    text = path.read_text()
    began = time.perf_counter()
    value = profile_source(text, str(path), bench, device.info.target, lambda *_: None)
    print(f"{name}: {time.perf_counter() - began:.1f} s")
    (out / f"{name}.json").write_text(json.dumps(value, indent=1))
    for subject in (*value["kernels"], *([value["call"]] if value["call"] else [])):
        time_us = subject["time"] and subject["time"]["median_us"]
        print(f"  {subject.get('name', 'call')}: {time_us} us, {subject['bottleneck']}")
        for finding in subject["findings"]:
            print(f"  - {finding['text']} {finding['suggests']}")
        print(*(f"  note: {note}" for note in subject.get("notes", ())), sep="\n")
    print(*(f"  note: {note}" for note in value["notes"]), sep="\n")
    if raw and device.info.target is not None:
        _raw(name, bench, device, out, text)


def _raw(name: str, bench: Workbench, device: Device, out: Path, text: str) -> None:
    target = device.info.target
    for profiler in profilers_for(target.backend if target else ""):
        job = counters_job(bench, text, bench.problem.compiled_cases()[0], profiler)
        began = time.perf_counter()
        outcome = bench.run(job, 60.0)
        seconds = time.perf_counter() - began
        print(f"  {profiler.name}: {outcome.status} {outcome.message[:300]} {seconds:.1f} s")
        (out / f"{name}_{profiler.name}.json").write_text(json.dumps(dict(outcome.value)))


if __name__ == "__main__":
    main()
