"""Cells of behaviour, read from texts and from compile reports."""

import pytest

from tilewright.evaluation.model import Candidate, Evaluation, Level, text_hash
from tilewright.search.axes import Axes
from tilewright.search.node import Idea, IdeaKind, Node, State

HEAD = "import triton\nimport triton.language as tl\n\n"
PLAIN = """@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)

"""
SUM = PLAIN.replace("tl.load(x + at, mask=at < n)", "tl.sum(tl.load(x + at), axis=0)")
ATOMIC = PLAIN.replace("tl.store", "tl.atomic_add")
LOOP = """@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, n, BLOCK):
        at = k + tl.arange(0, BLOCK)
        total = tl.dot(tl.load(x + at), tl.load(y + at), total)
    tl.store(y, total)

"""
PERSISTENT = LOOP.replace("range(0, n, BLOCK)", "range(tl.program_id(0), n, tl.num_programs(0))")
HOST = "def run(x, y, n):\n    kernel[(n,)](x, y, n, BLOCK=64)\n"
DEEP = HOST.replace("BLOCK=64", "BLOCK=64, num_stages=3")
TWICE = "@triton.jit\ndef other(x):\n    tl.store(x, 0)\n\n" + HOST + "    other[(1,)](x)\n"
NOTHING = Evaluation("a", "a", Level.CORRECT, ())


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        (PLAIN + HOST, (1, 1, 0)),
        (SUM + HOST, (1, 1, 1)),
        (ATOMIC + HOST, (1, 1, 2)),
        (LOOP + HOST, (2, 2, 0)),
        (LOOP + DEEP, (3, 2, 0)),
        (PERSISTENT + HOST, (2, 3, 3)),
        (PLAIN + TWICE, (1, 0, 0)),
        ("def (", (1, 1, 0)),
    ],
)
def test_static_cells(text: str, cell: tuple[int, ...]) -> None:
    assert Axes("static", "kernel.py").cell(HEAD + text, NOTHING) == cell


def test_an_access_that_is_strided_is_at_the_bottom() -> None:
    axes = Axes("static", "kernel.py", strided=lambda module: True)
    assert axes.cell(HEAD + LOOP + DEEP, NOTHING) == (0, 2, 0)


def test_an_idea_says_where_it_leads() -> None:
    axes = Axes("static", "kernel.py")
    text, after = HEAD + LOOP + HOST, HEAD + LOOP + DEEP
    name = text_hash(text)
    node = Node(
        name, text, None, None, "0", 0, 0, NOTHING, 0.0, 0.0, axes.cell(text, NOTHING),
        State.ALIVE, may_return=True,
    )  # fmt: skip
    idea = Idea("a", "deeper", IdeaKind.LAUNCH, candidate=Candidate(after, name, "a", "deeper"))
    assert axes.change(node, idea) == [1, 0, 0]
    assert axes.change(node, Idea("b", "free", IdeaKind.MODEL)) is None
    assert axes.hints((0.9, -0.5, 0.1)) == (
        "Changes towards more elaborate memory gained in this run.",
        "Changes towards less elaborate algorithm gained in this run.",
    )


def test_without_reports_resources_are_in_the_first_cell() -> None:
    assert Axes("resources", "kernel.py").cell(HEAD + PLAIN + HOST, NOTHING) == (0, 0, 0)
