"""Drafts of specs say what a file says, and mark the rest."""

import pytest

from tilewright.problems.gaps import GAP
from tilewright.problems.model import ProblemError
from tilewright.problems.spec import parse_spec
from tilewright.signatures.spec_draft import NoDraft, SpecDraft, spec_draft
from tilewright.source import parse_module

KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, index_ptr, y_ptr, n, scale, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    row = tl.load(index_ptr + tl.program_id(0))
    x = tl.load(x_ptr + row * n + cols, mask=cols < n)
    tl.store(y_ptr + tl.program_id(0) * n + cols, x * scale, mask=cols < n)


"""


def _draft(host: str) -> SpecDraft:
    module = parse_module(KERNEL + host, "k.py")
    draft = spec_draft(module, module.kernels[0], "k.py")
    assert isinstance(draft, SpecDraft)
    return draft


def _inputs(draft: SpecDraft) -> dict[str, str]:
    block = draft.text.partition("inputs:\n")[2].partition("default_variant")[0]
    lines = (line.partition("  #")[0] for line in block.splitlines() if line[2:3] != "#")
    return {name.strip(): rest.strip() for name, _, rest in (x.partition(":") for x in lines)}


GATHER = """\
def gather(x: torch.Tensor, index, scale: float, eps=1e-6):
    rows, cols = x.shape
    assert x.dtype == torch.float16
    y = torch.empty((index.shape[0], cols), device=x.device, dtype=x.dtype)
    k[(index.shape[0],)](x, index, y, cols, scale, BLOCK=1024)
    return y
"""


def test_shapes_types_and_roles_come_from_the_host_code() -> None:
    draft = _draft(GATHER)
    assert draft.entry == "gather"
    assert _inputs(draft) == {
        "x": "{shape: [ROWS, COLS], dtype: inherit}",
        "index": "{shape: [FILL_IN], dtype: int64}",
        "scale": "{value: FILL_IN}",
    }
    assert "dtype: float16" in draft.text
    assert "# with their defaults: eps" in draft.text
    assert "computes addresses with it" in draft.text
    assert draft.gaps == draft.text.partition("entry:")[2].count(GAP) == 6


def test_a_draft_is_refused_until_it_is_filled_in() -> None:
    text = _draft(GATHER).text
    with pytest.raises(ProblemError, match="4 lines of this spec have FILL_IN") as refused:
        parse_spec(text, "k.yaml")
    assert text.splitlines()[(refused.value.line or 0) - 1].lstrip().startswith("index:")
    spec = parse_spec(text.replace(GAP, "64"), "k.yaml")
    assert [one.name for one in spec.cases["ci"][0].inputs] == ["x", "index", "scale"]
    assert spec.cases["bench-gpu"][0].inputs[0].shape == (64, 64)


def test_a_call_of_the_file_gives_its_sizes() -> None:
    draft = _draft(
        GATHER
        + """

if __name__ == "__main__":
    n = 4096
    x = torch.randn((512, n), device="cuda", dtype=torch.float16)
    gather(x, torch.randint(0, 512, (128,), device="cuda"), 0.5)
"""
    )
    assert _inputs(draft)["index"] == "{shape: [128], dtype: int64}"
    assert _inputs(draft)["scale"] == "{value: 0.5}"
    timed = draft.text.partition("bench-gpu:  #")[2]
    assert "as line 25 calls it" in timed
    assert "dims: {ROWS: 512, COLS: 4096}" in timed
    assert draft.gaps == 2, "the small sizes are the person's"


def test_rows_of_a_flattened_tensor() -> None:
    draft = _draft(
        """\
def rows(x, index, scale=1.0):
    flat = x.reshape(-1, x.shape[-1])
    M, N = flat.shape
    k[(M,)](flat, index, torch.empty_like(flat), N, scale, BLOCK=1024)
"""
    )
    assert _inputs(draft)["x"] == "{shape: [M, N], dtype: inherit}"
    assert "any number of axes" in draft.text


def test_a_model_is_called_with_its_forward() -> None:
    draft = _draft(
        """\
class Gather(torch.nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, x, index):
        M, N = x.size()
        y = torch.empty_like(x)
        k[(M,)](x, index, y, N, 1.0, BLOCK=1024)
        return y
"""
    )
    assert draft.entry == "Gather"
    assert "inits: [FILL_IN]  # the constructor's width" in draft.text
    assert _inputs(draft)["x"] == "{shape: [M, N], dtype: inherit}"


def test_what_is_reshaped_before_says_nothing_of_the_argument() -> None:
    draft = _draft(
        """\
def shuffled(x, index):
    x = x.transpose(0, 1)
    M, N = x.shape
    k[(M,)](x, index, x, N, 1.0, BLOCK=1024)
"""
    )
    assert _inputs(draft)["x"] == "{shape: [FILL_IN], dtype: inherit}"


def test_a_public_function_around_a_private_one_is_the_entry() -> None:
    draft = _draft(
        """\
def _run(x, index):
    k[(1,)](x, index, x, 8, 1.0, BLOCK=1024)


def solve(x, index):
    M, N = x.shape
    _run(x, index)
"""
    )
    assert draft.entry == "solve"
    assert _inputs(draft)["x"] == "{shape: [M, N], dtype: inherit}"


def test_a_kernel_without_host_code_has_no_draft() -> None:
    module = parse_module(KERNEL, "k.py")
    draft = spec_draft(module, module.kernels[0], "k.py")
    assert isinstance(draft, NoDraft)
    assert "no function of this file launches k" in draft.reason


def test_small_numbers_are_written_as_yaml_reads_them() -> None:
    call = "\n\ngather(torch.randn(4, 8), torch.zeros(4), 1e-05)\n"
    draft = _draft(GATHER + call)
    assert _inputs(draft)["scale"] == "{value: 1.0e-05}"
    assert parse_spec(draft.text.replace(GAP, "64"), "k.yaml").warnings == ()
