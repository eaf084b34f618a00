"""Costs of a call as they are counted in the interpreter: each of them on a kernel or operator of
which it is known."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("triton", reason="needs triton")

from tilewright.worker.jobs import drafted

pytestmark = pytest.mark.triton

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
KERNEL = """\
@triton.jit
def moved(x_ptr, y_ptr, step, HEAVY: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(x_ptr + at * step)
    if HEAVY:
        x = tl.exp(x)
    tl.store(y_ptr + at, x)


def run(x, step=1, heavy=False):
    y = torch.empty(64)
    moved[(1,)](x, y, step, HEAVY=heavy, B=64)
    return y
"""


def performed(folder: Path, text: str, written: str, calls: list[Any]) -> list[Any]:
    """What comes of calls of a file with these functions, out of a module that is written so."""
    # Python takes a file of the same size and second for the one that it has compiled.
    folder = Path(tempfile.mkdtemp(dir=folder))
    (folder / "kernels.py").write_text(HEAD + text)
    (folder / "written.py").write_text(f"import torch\n\n\n{written}")
    found = drafted.perform(
        {
            "kind": "drafted", "device": "interpreter", "module": str(folder / "kernels.py"),
            "written": str(folder / "written.py"), "seconds": 60.0, "calls": calls,
        }
    )  # fmt: skip
    return list(found["runs"])


def called(function: str, **reference: bool) -> dict[str, Any]:
    """The first written call of a function."""
    return {"function": function, "arguments": {}, "reference": {"number": 0, **reference}}


def costs(folder: Path, text: str, call: str) -> dict[str, int]:
    """Of the first call of ``run`` with arguments as they are written."""
    written = f"def calls_run():\n    return [{call}]\n"
    (run,) = performed(folder, text, written, [called("run", faster=False, counted=True)])
    assert run.get("error") is None, run
    return dict(run.get("costs", {}))


def host(folder: Path, body: str) -> dict[str, int]:
    """Costs of host code alone, with a tensor of 8 elements."""
    return costs(folder, f"def run(x):\n    {body}\n", '{"x": torch.arange(8.0)}')


def test_kernels_and_operators_are_launches_and_views_are_none(tmp_path: Path) -> None:
    body = "return (x.view(2, 4).t()[0] + torch.zeros(2)), torch.empty(4), x.expand(3, 8)"
    assert host(tmp_path, body)["launches"] == 2
    assert costs(tmp_path, KERNEL, '{"x": torch.ones(64)}')["launches"] == 1


@pytest.mark.parametrize(
    "body",
    ["return x * x.sum().item()", "return x * x.tolist()[0]", "return x[x > 2]",
     "return x.cpu()", "return x if x[0] < 1 else -x"],
)  # fmt: skip
def test_the_host_waits_for_what_it_reads(tmp_path: Path, body: str) -> None:
    assert host(tmp_path, body)["waits"] == 1


def test_the_host_does_not_wait_for_operators(tmp_path: Path) -> None:
    assert host(tmp_path, "return torch.where(x > 2, x, 0.0).sum()")["waits"] == 0


def test_an_operator_moves_what_it_reads_and_writes_once(tmp_path: Path) -> None:
    assert host(tmp_path, "return x + x[:1].expand(8)")["traffic"] == 3 * 32
    assert host(tmp_path, "return x.clone().add_(1.0)")["traffic"] == 3 * 32


@pytest.mark.parametrize(("step", "sectors"), [(1, 8), (2, 16), (8, 64)])
def test_lanes_apart_touch_a_sector_each(tmp_path: Path, step: int, sectors: int) -> None:
    found = costs(tmp_path, KERNEL, f'{{"x": torch.ones(512), "step": {step}}}')
    assert found["traffic"] in (32 * (sectors + 8), 32 * (sectors + 9), 32 * (sectors + 10))


def test_transcendental_functions_count_eight_times(tmp_path: Path) -> None:
    light, heavy = (
        costs(tmp_path, KERNEL, f'{{"x": torch.ones(64), "heavy": {flag}}}')["work"]
        for flag in (False, True)
    )
    assert heavy - light == 8 * 64


PRODUCT = """\
@triton.jit
def product(a_ptr, b_ptr, c_ptr):
    at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    {WORK}
    tl.store(c_ptr + at, tl.load(a_ptr + at) + tl.load(b_ptr + at))


def run(a, b):
    c = torch.empty(16, 16)
    product[(1,)](a, b, c)
    return c
"""


@pytest.mark.parametrize(("kind", "each"), [("float16", 16), ("float32", 8)])
def test_a_product_counts_by_its_type(tmp_path: Path, kind: str, each: int) -> None:
    ones = f"torch.ones(16, 16, dtype=torch.{kind})"
    call = f'{{"a": {ones}, "b": {ones}}}'
    dot = "c = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at))"
    with_dot = costs(tmp_path, PRODUCT.replace("{WORK}", dot), call)["work"]
    loads = costs(
        tmp_path,
        PRODUCT.replace("{WORK}", "c = tl.load(a_ptr + at), tl.load(b_ptr + at)"),
        call,
    )["work"]
    # Zeros that the product begins with cost nothing.
    assert with_dot - loads == 16**3 // each


SUMS = """\
@triton.jit
def sums(x_ptr, y_ptr, n, ATOMIC: tl.constexpr, B: tl.constexpr):
    total = 0.0
    for at in range(tl.program_id(0) * B, n, tl.num_programs(0) * B):
        total += tl.sum(tl.load(x_ptr + at + tl.arange(0, B)), 0)
    if ATOMIC:
        tl.atomic_add(y_ptr, total)
    else:
        tl.store(y_ptr + tl.program_id(0), total)


def run(x, programs, atomic=False):
    y = torch.zeros(programs)
    sums[(programs,)](x, y, x.numel(), ATOMIC=atomic, B=64)
    return y
"""


def test_the_longest_program_of_a_launch_counts(tmp_path: Path) -> None:
    one, four = (
        costs(tmp_path, SUMS, f'{{"x": torch.ones(4096), "programs": {programs}}}')
        for programs in (1, 4)
    )
    assert 3.5 < one["serial"] / four["serial"] <= 4.1
    assert one["work"] == pytest.approx(four["work"], rel=0.02)


@pytest.mark.parametrize("programs", [1, 7])
def test_updates_of_one_address_are_contention(tmp_path: Path, programs: int) -> None:
    call = f'{{"x": torch.ones(512), "programs": {programs}, "atomic": %s}}'
    assert costs(tmp_path, SUMS, call % True)["contention"] == programs
    assert costs(tmp_path, SUMS, call % False)["contention"] == 0


def test_nothing_is_counted_of_a_call_that_leaves_its_tensors(tmp_path: Path) -> None:
    assert costs(tmp_path, KERNEL, '{"x": torch.ones(32)}') == {}


def test_a_method_changes_an_object_of_its_own(tmp_path: Path) -> None:
    text = (
        "class Counter(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.total = torch.nn.Parameter(torch.zeros(4), requires_grad=False)\n"
        "        self.part = torch.nn.Linear(2, 2)\n\n"
        "    def forward(self, x):\n"
        "        self.total += x\n\n\n"
        "KEPT = Counter()\n"
    )
    written = (
        "def calls_Counter_forward(Counter):\n"
        '    return [{"self": Counter(), "x": torch.ones(4)}]\n\n\n'
        "def faster_Counter_forward(self, x):\n"
        "    self.total.add_(x)\n"
    )
    first = called("Counter.forward", faster=False)
    second = {**called("Counter.forward", faster=True), "like": -1}
    one, other = performed(tmp_path, text, written, [first, second])
    assert [result["name"] for result in one["results"]] == ["input =self.total"]
    assert other["difference"] is None


def test_an_object_that_cannot_be_copied_is_of_no_use(tmp_path: Path) -> None:
    text = (
        "import threading\n\n\n"
        "class Locked:\n"
        "    def __init__(self):\n"
        "        self.lock = threading.Lock()\n\n"
        "    def run(self, x):\n"
        "        return x + 1\n"
    )
    written = 'def calls_Locked_run(Locked):\n    return [{"self": Locked(), "x": torch.ones(4)}]\n'
    (run,) = performed(tmp_path, text, written, [called("Locked.run", faster=False)])
    assert run["unusable"].startswith("TypeError: cannot pickle '_thread.lock'")
