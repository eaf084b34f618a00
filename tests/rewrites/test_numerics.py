"""Rewritten kernels compute what the originals do: Triton's interpreter, ragged shapes included."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rewrite_cases import HERE, example, example_context

from tilewright.analysis import analyze
from tilewright.rewrites import rewrites_for
from tilewright.rewrites.launch_config import set_launch_config
from tilewright.rewrites.tiles import Tunable, tunable
from tilewright.source import parse_module

pytestmark = pytest.mark.triton

GOLDEN: dict[str, list[list[int]]] = {
    "sigmoid_swish": [[300]],
    "stable_tanh_named": [[300]],
    "guard_softplus_sum": [[300]],
    "stable_tanh_negative": [[300]],
    "hoist_load_with_operands": [[5, 100]],
    "hoist_load_beside_store": [[5, 100]],
    "reuse_load_name": [[300]],
    "single_pass_row_two_pass_variance": [[3, 640]],
    "group_programs_lambda": [[70, 40], [40, 100]],
    "constexpr_stride_fresh": [[200]],
}

EXAMPLES: dict[str, tuple[str, list[list[list[int]]]]] = {
    "matmul": ("float16", [[[67, 83], [83, 45]], [[64, 32], [32, 96]]]),
    "linear_gelu": ("float16", [[[67, 83], [45, 83], [45]]]),
    "softmax": ("float32", [[[3, 1500]], [[2, 2048]], [[4, 1]]]),
    "layernorm": ("float16", [[[3, 700], [700], [700]], [[2, 1024], [1024], [1024]]]),
}

NORMALIZED = """\
def run(x):
    return (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, correction=0) + 1e-5).sqrt()
"""


@dataclass
class Jobs:
    """Pairs of files to run, in one process for all of them."""

    folder: Path
    jobs: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self, name: str, before: str, after: str, entry: str, shapes: list[list[int]], **how: Any
    ) -> None:
        number = len(self.jobs)
        paths = [self.folder / f"{number}_{side}.py" for side in ("before", "after")]
        for path, text in zip(paths, (before, after), strict=True):
            path.write_text(text)
        inputs = [{"shape": s, "dtype": how.get("dtype", "float32"), **how} for s in shapes]
        self.jobs.append(
            {
                "name": name,
                "before": str(paths[0]),
                "after": str(paths[1]),
                "entry": entry,
                "inputs": inputs,
            }
        )

    def run(self) -> dict[str, dict[str, Any]]:
        todo, done = self.folder / "jobs.json", self.folder / "done.json"
        todo.write_text(json.dumps(self.jobs))
        environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, str(HERE / "run_pairs.py"), str(todo), str(done)]
        finished = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert finished.returncode == 0, finished.stderr[-3000:]
        return {result["name"]: result for result in json.loads(done.read_text())}


def rewritten(name: str) -> dict[str, str]:
    """An example after each rewrite that its issues call for, one upon the other."""
    texts: dict[str, str] = {}
    text = example(name).text
    context = example_context(name)
    for _ in range(12):
        module = parse_module(text, f"{name}.py")
        applied = next(
            (
                (rewrite.name, result)
                for issue in analyze(module, context)
                for rewrite in rewrites_for(issue.id)
                if rewrite.name != "add_autotune"
                if isinstance(result := rewrite.apply(module, issue, context), str)
            ),
            None,
        )
        if applied is None:
            return texts
        text = applied[1]
        texts[applied[0]] = text
    raise AssertionError(f"{name} is rewritten without end: {list(texts)}")


def pinned(name: str, text: str) -> str:
    """The example with another configuration, which the grid has to follow."""
    module = parse_module(text, f"{name}.py")
    found = tunable(module, f"{name}_kernel")
    assert isinstance(found, Tunable)
    sizes = {"m": 16, "n": 64, "k": 16, "group": 2, "row": 256}
    values = {block: sizes[role] for role, block in found.roles.items() if block in found.free}
    result = set_launch_config(module, f"{name}_kernel", values, {"num_warps": 2})
    assert isinstance(result, str)
    return result


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    jobs = Jobs(tmp_path_factory.mktemp("pairs"))
    for name, shapes in GOLDEN.items():
        before = (HERE / "golden" / f"{name}.before.py").read_text()
        after = (HERE / "golden" / f"{name}.after.py").read_text()
        jobs.add(name, before, after, "run", shapes)
        if name.startswith("stable_tanh"):
            jobs.add(f"{name} far out", before, after, "run", shapes, scale=200.0)
    after = (HERE / "golden" / "single_pass_row_two_pass_variance.after.py").read_text()
    jobs.add("ragged variance", NORMALIZED, after, "run", [[3, 700]])
    for name, (dtype, cases) in EXAMPLES.items():
        original = example(name).text
        chain = rewritten(name)
        last = list(chain.values())[-1]
        texts = {**chain, "pinned": pinned(name, original), "pinned last": pinned(name, last)}
        for step, text in texts.items():
            for number, shapes in enumerate(cases if step == list(chain)[-1] else cases[:1]):
                label = f"{name} {step} {number}"
                jobs.add(label, original, text, name, shapes, dtype=dtype, scale=0.3)
    return jobs.run()


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_pairs_agree(results: dict[str, dict[str, Any]], name: str) -> None:
    result = results[name]
    assert result["same_shape"]
    assert not result["nan_after"]
    assert result["largest"] < 1e-4


@pytest.mark.parametrize("name", EXAMPLES)
def test_rewritten_examples_agree(results: dict[str, dict[str, Any]], name: str) -> None:
    mine = {label: r for label, r in results.items() if label.startswith(f"{name} ")}
    assert len(mine) >= 3
    for label, result in mine.items():
        assert result["same_shape"], label
        assert not result["nan_after"], label
        # One unit in the last place of the half-precision result.
        tolerance = 1e-6 if name == "softmax" else 2.0**-10
        assert result["largest"] <= tolerance, (label, result)


def test_padded_lanes_stay_out_of_a_ragged_variance(results: dict[str, dict[str, Any]]) -> None:
    assert results["ragged variance"]["largest"] < 1e-4


def test_tanh_no_longer_overflows(results: dict[str, dict[str, Any]]) -> None:
    far = results["stable_tanh_named far out"]
    assert far["nan_before"]
    assert not far["nan_after"]
