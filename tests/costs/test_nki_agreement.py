"""The text and the simulator give the same instructions."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the simulator computes with numpy: make setup")

from tilewright.analysis.nki import TensorGiven, launched_flow
from tilewright.costs.nki.stream import instruction_stream
from tilewright.source import parse_module
from tilewright.worker.messages.nki import InstructionRecord

EXAMPLES = Path(__file__).parents[2] / "examples" / "nki" / "nki1"
RUN = """
import importlib.util, json, sys
import numpy as np
from tilewright.worker.nki.modules import install
install()
from tilewright.worker.nki.simulation import simulate
told = []
for path, name, shapes in json.loads(sys.argv[1]):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arrays = [np.abs(np.random.default_rng(0).normal(size=s)).astype(np.float32) for s in shapes]
    told.append(simulate(getattr(module, name).__wrapped__, arrays).records)
print(json.dumps(told))
"""
CASES: dict[str, tuple[tuple[int, ...], ...]] = {
    "adamw": ((256, 1024),) * 4,
    "attention_slow": ((256, 128),) * 3,
    "conv1d": ((128, 515), (128, 4)),
    "matmul": ((256, 256), (256, 1024)),
    "matmul_slow": ((256, 256), (256, 1024)),
    "rmsnorm": ((256, 512), (1, 512)),
    "softmax": ((256, 512),),
    "transpose_slow": ((256, 128),),
}


def entry(stem: str) -> str:
    return stem.removesuffix("_slow")


@pytest.fixture(scope="module")
def simulated() -> dict[str, Sequence[InstructionRecord]]:
    """What the simulator ran, by example; in a process of its own, which gets its modules."""
    wanted = [(str(EXAMPLES / f"{s}.py"), entry(s), shapes) for s, shapes in CASES.items()]

    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(wanted)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(CASES, json.loads(done.stdout), strict=True))


def totals(records: Sequence[InstructionRecord]) -> Counter[tuple[object, ...]]:
    found: Counter[tuple[object, ...]] = Counter()
    for one in records:
        sides = tuple(one.get(name) for name in ("k", "m", "n", "bytes", "transpose", "accumulate"))
        tiles = tuple(
            (tile["memory"], tile["dtype"], tile["partitions"], tile["free"])
            for tile in (*one["reads"], *one["writes"])
        )
        shape = one["partitions"], one["free"]
        key = (
            one["line"],
            one["op"],
            one["engine"],
            *shape,
            *map(bool, sides[4:]),
            sides[:4],
            tiles,
        )
        found[key] += one["count"]
    return found


@pytest.mark.parametrize("stem", CASES)
def test_both_count_the_same(stem: str, simulated: dict[str, Sequence[InstructionRecord]]) -> None:
    path = EXAMPLES / f"{stem}.py"
    module = parse_module(path.read_text(), str(path))
    kernel = module.kernel(entry(stem))
    assert kernel is not None
    names = [parameter.arg for parameter in kernel.node.args.args]
    shapes = [TensorGiven(shape, "float32") for shape in CASES[stem]]
    flow = launched_flow(module, kernel, dict(zip(names, shapes, strict=True)))
    stream = instruction_stream(flow)
    assert stream.unknown == stream.assumed == ()
    assert totals(stream.records) == totals(simulated[stem])
