"""What tile inference knows stands in hovers and behind the names that a kernel assigns."""

import pytest
from conversation import KERNEL, Conversation
from lsprotocol import types

from tilewright.analysis.model import AnalysisContext
from tilewright.source import parse_module
from tilewright.targets.model import ArgumentFacts, LaunchFacts
from tilewright_server.analysis_cache import Analysis
from tilewright_server.tile_places import card_at, hints_in

MATMUL = '''\
import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, BM: tl.constexpr, BK: tl.constexpr):
    """Grüße"""
    pid = tl.program_id(0)
    rows = pid * BM + tl.arange(0, BM)
    cols, left = tl.arange(0, BK), K
    a_ptrs = a_ptr + rows[:, None] * stride_am + cols[None, :]
    acc = tl.zeros((BM, BK), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptrs, mask=rows[:, None] < M, other=0.0)
        acc += a.to(tl.float32)
        a_ptrs += BK
    keep = rows[:, None] < M
    acc = tl.exp(acc)
    tl.store(c_ptr + rows[:, None] * BK + cols[None, :], acc, mask=keep)
    thing = unknown_function(acc)
'''


def _analysis(text: str, *launches: LaunchFacts) -> Analysis:
    return Analysis(parse_module(text, "m.py"), (), (), AnalysisContext(launches=launches))


def _launch() -> LaunchFacts:
    tensor = ArgumentFacts("a_ptr", "tensor", "*fp16", None, (64, 64), (64, 1), True)
    return LaunchFacts("matmul", (1,), (tensor,), {})


def _card(text: str, what: str, *launches: LaunchFacts, nth: int = 0, inside: int = 0) -> str:
    offset = -1
    for _ in range(nth + 1):
        offset = text.index(what, offset + 1)
    before = text[: offset + inside].split("\n")
    found = card_at(_analysis(text, *launches), len(before), len(before[-1]))
    assert found is not None
    return found[0]


def test_card_of_a_tile_of_pointers() -> None:
    card = _card(MATMUL, "a_ptrs", _launch())
    assert card.startswith("`a_ptrs` · tile of pointers `[BM, BK]` to `fp16`, from `a_ptr`\n")
    assert "pid0*BM*stride_am" in card
    assert "`lane1`: index along axis 1" in card
    assert "Neighbours: `stride_am` elements apart along axis 0, contiguous along axis 1" in card
    assert "Depends on the program id of grid axis 0" in card


@pytest.mark.parametrize(
    ("what", "inside", "said"),
    [
        ("acc =", 0, "`acc` · tile `[BM, BK]` `fp32`"),
        ("keep", 0, "`keep` · mask `[BM, 1]` `i1`"),
        ("tl.program_id", 4, "`tl.program_id(…)` · scalar `i32`"),
        ("tl.load", 4, "`tl.load(…)` · tile `[BM, BK]`"),
        ("BM)", 0, "`BM` · constant, set when it is compiled"),
        ("rows[:, None] * stride_am", 15, "`rows[:, None] * stride_am` · tile `[BM, 1]`"),
    ],
)
def test_card_names_kind_shape_and_type(what: str, inside: int, said: str) -> None:
    assert _card(MATMUL, what, inside=inside).startswith(said)


@pytest.mark.parametrize("what", ["Grüße", "thing", "tl.float32", "0.0", "def", "@triton"])
def test_nothing_is_said_where_nothing_is_known(what: str) -> None:
    before = MATMUL[: MATMUL.index(what)].split("\n")
    found = card_at(_analysis(MATMUL), len(before), len(before[-1]))
    assert found is None


def test_every_place_of_a_kernel_can_be_asked() -> None:
    analysis = _analysis(MATMUL + "    é = rows; é2 = é\n", _launch())
    for number, line in enumerate(analysis.module.index.lines, 1):
        for column in range(len(line) + 1):
            card_at(analysis, number, column)


def test_hints_say_what_an_assignment_made_and_say_it_once() -> None:
    found = {(h.line, h.label) for h in hints_in(_analysis(MATMUL, _launch()), 1, 100)}
    assert found == {
        (9, ": [BM] i32"),
        (10, ": [BK] i32"),
        (11, ": [BM, BK] *fp16"),
        (12, ": [BM, BK] fp32"),
        (14, ": [BM, BK] fp16"),
        (17, ": [BM, 1] i1"),
    }
    assert [h.line for h in hints_in(_analysis(MATMUL), 11, 12)] == [11, 12]


async def _hints(talk: Conversation, first: int = 0, last: int = 100) -> list[str]:
    lines = types.Range(types.Position(first, 0), types.Position(last, 0))
    found = await talk.client.text_document_inlay_hint_async(
        types.InlayHintParams(types.TextDocumentIdentifier(talk.uri), lines)
    )
    return [f"{hint.position.line}:{hint.position.character}{hint.label}" for hint in found or ()]


async def test_hints_on_the_wire(talk: Conversation) -> None:
    await talk.begin()
    talk.open()
    assert "8:8: [BLOCK] i32" in await _hints(talk)
    assert await _hints(talk, 9, 9) == ["9:7: [BLOCK, BLOCK] fp32"]


async def test_hints_can_be_turned_off(talk: Conversation) -> None:
    await talk.begin(inlayHints=False)
    talk.open()
    assert await _hints(talk) == []


async def test_hover_shows_what_is_known_of_a_value(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text=KERNEL.format(engine="nothing").replace("acc += tl.dot(a, b)", "acc += a"))
    assert "tile `[BLOCK, BLOCK]` `fp32`" in (await talk.hover(9, 5) or "")
    assert await talk.hover(16, 0) is None
