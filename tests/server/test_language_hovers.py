"""Hovers on names of a language, launch options and block sizes, over the wire."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conversation import DOT_LINE, Conversation, until
from lsprotocol import types

MATMUL = """\
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 256, "BK": 64}, num_warps=8, num_stages=4),
        triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_warps=4),
    ],
    key=["K"],
)
@triton.jit
def matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + ks[None, :] + k)
        y = tl.load(b + ks[:, None] * BN + cols[None, :] + k)
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * BN + cols[None, :], tl.math.exp(acc))


def host(a, b, c):
    matmul[(1,)](a, b, c, 64)
"""

NKI = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def scale(a):
    kind = nl.affine_range
    return kind
"""


def _place(text: str, what: str, inside: int = 0) -> tuple[int, int]:
    before = text[: text.index(what) + inside].split("\n")
    return len(before) - 1, len(before[-1])


async def _hover(talk: Conversation, what: str, inside: int = 0) -> str:
    return await talk.hover(*_place(talk.text, what, inside)) or ""


async def test_a_name_says_what_it_does_first(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text=MATMUL)
    card = await _hover(talk, "tl.load(a", 4)
    brief, _, details = card.partition("\n\n---\n\n")
    assert brief.startswith("**tl.load** · Reads the element at each address")
    assert "tile `[BM, BK]`" in brief
    assert "Without other, elements that the mask leaves out are undefined." in brief
    assert len(brief.split("\n")) <= 9, "six lines of text with the blank lines between"
    assert "tl.load(pointer, mask=None, other=None" in details
    assert "Triton 3.0 to 3.9" in details
    assert (await _hover(talk, "tl.math.exp", 9)).startswith("**tl.math.exp** · e to the power")


async def test_a_name_that_the_projects_triton_lacks(talk: Conversation) -> None:
    (talk.folder / "pyproject.toml").write_text('[tool.tilewright]\ntriton = "3.1"\n')
    await talk.begin()
    talk.open(text=MATMUL.replace("tl.math.exp(acc)", "tl.squeeze(acc, 0)"))
    card = await _hover(talk, "tl.squeeze", 5)
    assert card.startswith("**Not in Triton 3.1**, which this project has")
    assert "Triton 3.7 to 3.9" in card


async def test_the_limits_of_the_target_are_those_of_its_constraints(talk: Conversation) -> None:
    await talk.begin(target="xpu:bmg-g31")
    talk.open(text=MATMUL)
    card = await _hover(talk, "tl.dot(x", 4)
    assert "On this target: tl.dot needs N of at least 16 and K of 16 for 16-bit" in card


async def test_options_say_what_they_cost_here(talk: Conversation) -> None:
    await talk.begin(target="cuda:90")
    talk.open(text=MATMUL)
    stages = await _hover(talk, "num_stages=4", 3)
    assert stages.startswith("**num_stages** = 4 · How many iterations of a loop")
    # (128 * 64 + 64 * 256) * 2 bytes, four times.
    assert "One iteration loads 48 KiB if elements have 16 bits: 192 KiB of 227 KiB" in stages
    warps = await _hover(talk, "num_warps=8", 3)
    assert "8 warps are 256 threads on cuda:90." in warps
    assert "takes 128 of 255 registers a thread" in warps
    assert "- Limit: " in warps


async def test_an_option_of_another_vendor(talk: Conversation) -> None:
    await talk.begin(target="cuda:90")
    text = MATMUL.replace('"BK": 32}', '"BK": 32, "grf_mode": "256"}')
    talk.open(text=text.replace("import triton\n", "import triton\nDEVICE = 'cuda'\n", 1))
    talk.replace(talk.text.replace("host(a, b, c):", "host(a, b, c):\n    a = a.cuda()"))
    foreign = await _hover(talk, '"grf_mode"', 4)
    assert foreign.startswith("**grf_mode** = 256 · How many registers")
    assert "Only for Intel; on NVIDIA it is an unknown option." in foreign


async def test_a_block_size_says_what_its_tiles_take(talk: Conversation) -> None:
    await talk.begin(target="cuda:90")
    talk.open(text=MATMUL)
    card = await _hover(talk, '"BM": 128', 2)
    assert card.startswith("**BM** = 128 in this configuration · extent of 3 tiles")
    assert "`x` `[BM, BK]` = 128 × 64 of 16 bits, 16 KiB, load" in card
    assert "Configurations use 64, 128." in card
    body = await _hover(talk, "BM), tl.arange", 1)
    assert body.startswith("**BM** = 128 in the first of 2 configurations")
    assert "which does not fit" not in body
    large = MATMUL.replace("num_stages=4", "num_stages=5")
    talk.replace(large)
    assert "240 KiB of 227 KiB shared memory with 5 stages, **which does not fit**" in (
        await _hover(talk, '"BM": 128', 2)
    )


async def test_nki_names_have_their_notes(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text=NKI)
    card = await _hover(talk, "nl.affine_range", 6)
    assert card.startswith("**nl.affine_range** · A loop whose iterations are independent")


async def test_a_finding_begins_with_its_reason_and_its_fix(talk: Conversation) -> None:
    await talk.begin()
    talk.open()
    card = await talk.hover(DOT_LINE, 20) or ""
    brief, details = card.split("\n\n---\n\n")[0], card.split("\n\n---\n\n")[-1]
    assert brief.startswith("The sum of tl.dot is kept in a second accumulator.")
    assert "**Quick fix**" in brief
    assert "**Why**" not in brief
    assert "**Why**" in details
    assert "**Expected gain**" in details


async def test_the_rule_is_a_link_to_a_page_that_is_there(talk: Conversation) -> None:
    await talk.begin()
    await talk.settled()
    uri = talk.open()
    await until(lambda: talk.client.diagnostics.get(uri))
    (found,) = [d for d in talk.client.diagnostics[uri] if d.code == "dot_accumulator"]
    assert found.code_description is not None
    page = Path(unquote(urlsplit(found.code_description.href).path))
    await until(page.exists)
    await until(lambda: page.read_text().startswith("# "))
    assert "dot_accumulator" in page.read_text()
    assert f"]({found.code_description.href})" in (await talk.hover(DOT_LINE, 20) or "")


@pytest.mark.parametrize("place", [(0, 2), (3, 0), (12, 3)])
async def test_places_without_a_name_have_no_card(
    talk: Conversation, place: tuple[int, int]
) -> None:
    await talk.begin()
    talk.open(text=MATMUL)
    assert await talk.hover(*place) is None


async def test_a_client_without_markdown_gets_plain_text(talk: Conversation) -> None:
    bare = types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(
            hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.PlainText])
        )
    )
    await talk.begin(bare)
    talk.open(text=MATMUL)
    card = await _hover(talk, "tl.load(a", 4)
    assert card.startswith("tl.load · Reads the element")
    assert "`" not in card
