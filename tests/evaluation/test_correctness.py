"""The correctness step on real kernels: what it lets through, and what it says of the rest."""

import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.devices.model import Device
from tilewright.devices.opening import open_device
from tilewright.evaluation.correctness import check_correctness
from tilewright.evaluation.model import StepResult, StepStatus
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import load_problem

pytestmark = pytest.mark.triton

EXAMPLES = Path(__file__).parents[2] / "examples"
PRODUCTS = ("matmul", "linear_gelu")


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    opened = open_device("interpreter")
    yield opened
    opened.close()


class Bench:
    """Problems written down in a folder, judged on one device."""

    def __init__(self, device: Device, folder: Path) -> None:
        self.device = device
        self.folder = folder

    def of(self, stem: str, source: str, spec: str) -> Workbench:
        """A bench for a kernel and its spec."""
        path = self.folder / f"{stem}.py"
        path.write_text(source)
        path.with_suffix(".yaml").write_text(spec)
        shutil.copy(EXAMPLES / "references.py", self.folder)
        problem = load_problem(path.with_suffix(".yaml"))
        return Workbench(self.device, problem, path, self.folder / "scratch", 1)

    def example(self, stem: str) -> tuple[Workbench, str]:
        """An example of the project as it is, and its text."""
        text = (EXAMPLES / f"{stem}.py").read_text()
        return self.of(stem, text, (EXAMPLES / f"{stem}.yaml").read_text()), text


@pytest.fixture
def bench(device: Device, tmp_path: Path) -> Bench:
    return Bench(device, tmp_path)


def variant(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


def notes(step: StepResult) -> list[str]:
    """Of the checks that were asked: the others say why they were not."""
    asked = (check for check in step.data["checks"] if "skipped" not in check)
    return [check["note"] for check in asked if check.get("note")]


@pytest.mark.parametrize(
    "stem",
    ["layernorm", *(pytest.param(s, marks=pytest.mark.slow) for s in ("softmax", *PRODUCTS))],
)
def test_an_example_agrees_with_itself_in_both_orders(bench: Bench, stem: str) -> None:
    judge, text = bench.example(stem)
    step = check_correctness(judge, text, text)
    assert step.status is StepStatus.PASSED, step.message
    assert notes(step) == []
    orders = {(check["seed"], check.get("order")) for check in step.data["checks"]}
    assert {(0, None), (1, "reversed"), (2, "shuffled")} <= orders


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


STORE = "tl.store(y_row + cols, y.to(y_ptr.dtype.element_ty), mask=cols < n_cols)"


def test_a_store_without_its_mask_is_rejected(bench: Bench) -> None:
    judge, text = bench.example("softmax")
    step = check_correctness(judge, text, variant(text, STORE, STORE.split(", mask")[0] + ")"))
    assert step.status is StepStatus.FAILED
    assert "past the end of output (shape (" in step.message
    assert f"softmax.py:{line_of(text, STORE)}: check the mask of the store" in step.message


def test_a_store_into_the_next_row_is_rejected_as_a_race(bench: Bench) -> None:
    judge, text = bench.example("softmax")
    inside = STORE.replace("cols < n_cols", "cols < n_cols + (row < 1) * 8")
    step = check_correctness(judge, text, variant(text, STORE, inside))
    assert step.status is StepStatus.FAILED
    assert "two programs store different values to the same elements of output" in step.message
    assert f"softmax.py:{line_of(text, STORE)}: nothing orders the programs" in step.message


def test_a_wrong_result_is_not_put_down_to_the_order(bench: Bench) -> None:
    judge, text = bench.example("softmax")
    step = check_correctness(judge, text, variant(text, "/ row_sum", "* row_sum"))
    assert step.status is StepStatus.FAILED
    assert "order of programs" not in step.message


def test_a_load_outside_is_rejected(bench: Bench) -> None:
    judge, text = bench.example("linear_gelu")
    shifted = variant(text, "tl.load(b_ptr + offs_n", "tl.load(b_ptr - 1 + offs_n")
    step = check_correctness(judge, text, shifted)
    assert step.status is StepStatus.FAILED
    assert "it reads 1 element before the start of input B (shape (" in step.message
    assert "check the mask of the load" in step.message


LAST_WINS = textwrap.dedent("""\
    import torch
    import triton
    import triton.language as tl


    @triton.jit
    def mark_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < N)
        tl.store(y_ptr + tl.arange(0, BLOCK), x)


    def mark(x):
        y = torch.empty(16, device=x.device)
        mark_kernel[(x.numel() // 16,)](x, y, x.numel(), BLOCK=16)
        return y
    """)
MARK_SPEC = textwrap.dedent("""\
    name: mark
    entry: mark
    inputs:
      X: {shape: [N], dtype: float32}
    ci:
      - params: [X]
        dims: {N: 64}
        rtol: 1.0e-05
        atol: 1.0e-05
    """)


def test_an_original_that_hangs_on_the_order_is_noted_and_not_held_against_anyone(
    bench: Bench,
) -> None:
    judge = bench.of("mark", LAST_WINS, MARK_SPEC)
    step = check_correctness(
        judge, LAST_WINS, LAST_WINS.replace("BLOCK=16", "BLOCK=16, num_warps=1")
    )
    assert step.status is StepStatus.PASSED, step.message
    assert any("the original's own result changes with the order" in note for note in notes(step))


def test_an_original_that_writes_outside_is_noted_and_may_stay_so(bench: Bench) -> None:
    faulty = LAST_WINS.replace("torch.empty(16", "torch.empty(12")
    judge = bench.of("mark", faulty, MARK_SPEC)
    step = check_correctness(judge, faulty, faulty + "# the same\n")
    assert step.status is StepStatus.PASSED, step.message
    assert any(
        "the original itself writes 4 elements past the end of output" in note
        for note in notes(step)
    )


def test_a_list_instead_of_a_tuple_is_rejected(bench: Bench) -> None:
    text = LAST_WINS.replace("return y", "return y, y")
    judge = bench.of("mark", text, MARK_SPEC)
    step = check_correctness(judge, text, text.replace("return y, y", "return [y, y]"))
    assert step.status is StepStatus.FAILED
    assert "expected a tuple of 2 to be returned, got a list of 2" in step.message


MODEL = textwrap.dedent("""\
    import torch
    import triton
    import triton.language as tl


    @triton.jit
    def scale_kernel(x_ptr, w_ptr, y_ptr, N, BLOCK: tl.constexpr):
        cols = tl.arange(0, BLOCK)
        at = tl.program_id(0) * N + cols
        w = tl.load(w_ptr + cols, mask=cols < N)
        x = tl.load(x_ptr + at, mask=cols < N)
        tl.store(y_ptr + at, x * w, mask=cols < N)


    class Scale(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(width))

        def forward(self, x):
            y = torch.empty_like(x)
            scale_kernel[(len(x),)](x, self.weight, y, x.shape[1], BLOCK=128)
            return y
    """)
MODEL_SPEC = textwrap.dedent("""\
    name: scale
    entry: Scale
    inputs:
      X: {shape: [M, N], dtype: float32}
    inits: [{dim: N}]
    ci:
      - params: [X]
        dtype: float32
        dims: {M: 3, N: 100}
        rtol: 1.0e-05
        atol: 1.0e-05
    """)


def test_a_model_keeps_its_weights_and_a_fault_beside_them_is_seen(bench: Bench) -> None:
    judge = bench.of("scale", MODEL, MODEL_SPEC)
    step = check_correctness(judge, MODEL, MODEL + "# the same\n")
    assert step.status is StepStatus.PASSED, step.message
    assert notes(step) == []
    load = "w = tl.load(w_ptr + cols, mask=cols < N)"
    step = check_correctness(judge, MODEL, variant(MODEL, load, "w = tl.load(w_ptr + cols)"))
    assert step.status is StepStatus.FAILED
    assert (
        "it reads 28 elements past the end of weight weight (shape (100,), float32) at scale.py:10"
        in step.message
    )


COUNTS = textwrap.dedent("""\
    import torch
    import triton
    import triton.language as tl

    CALLS = [0]


    @triton.jit
    def add_kernel(x_ptr, y_ptr, calls, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n)
        tl.store(y_ptr + at, x + calls, mask=at < n)


    def add(x):
        CALLS[0] += 1
        y = torch.empty_like(x)
        add_kernel[(triton.cdiv(x.numel(), 64),)](x, y, CALLS[0], x.numel(), BLOCK=64)
        return y
""")
ADD_SPEC = textwrap.dedent("""\
    entry: add
    inputs:
      X: {shape: [N], dtype: float32}
    ci:
      - {params: [X], dims: {N: 100}}
""")


def test_an_original_that_changes_from_call_to_call_is_blamed_itself(bench: Bench) -> None:
    judge = bench.of("add", COUNTS, ADD_SPEC)
    step = check_correctness(judge, COUNTS, variant(COUNTS, "x + calls", "x + 1 + calls"))
    assert step.status is StepStatus.FAILED
    assert "the original's own result changes from call to call on the same inputs" in step.message
