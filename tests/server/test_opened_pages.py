"""Chips side by side and pages of rules, opened by commands; lenses that fit a line."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from conversation import Conversation, until

TWO = {"run": "onOpenAndSave", "targets": ["cuda:90", "hip:gfx942"]}


def _text(uri: str) -> str:
    return Path(unquote(urlsplit(uri).path)).read_text()


async def test_two_chips_stand_side_by_side(talk: Conversation) -> None:
    await talk.begin(compiled=TWO)
    talk.open("nothing")
    await until(lambda: talk.finished)
    answer = await talk.execute("tilewright.compare", {"uri": talk.uri, "kernel": "dot_kernel"})
    page = _text(answer["uri"])
    assert "| | cuda:90 | hip:gfx942 |" in page
    assert "| Registers a thread | 128 | 128 |" in page
    assert "| Estimated time | 17.2 µs, 61 % of the roof, memory-bound |" in page
    assert "| Measured time | not measured | not measured |" in page
    assert "Estimates are not measurements." in page


async def test_a_kernel_of_one_chip_is_compiled_for_the_others_first(talk: Conversation) -> None:
    await talk.begin(targets=["cuda:90", "hip:gfx942"])
    await talk.settled()
    talk.open("nothing")
    answer = await talk.execute("tilewright.compare", {"uri": talk.uri, "kernel": "dot_kernel"})
    assert answer["job"]
    await until(lambda: any("compare-dot_kernel" in m.message for m in talk.client.messages))


async def test_the_page_of_a_rule_is_opened(talk: Conversation) -> None:
    await talk.begin()
    answer = await talk.execute("tilewright.explain", {"issue": "dot_accumulator"})
    assert answer["text"].startswith("# ")
    assert _text(answer["uri"]) == answer["text"]
    refused = await talk.execute("tilewright.explain", {"issue": "dot_acumulator"})
    assert "the nearest are dot_accumulator" in refused["reason"]


async def test_the_lenses_of_a_profiled_kernel_fit_a_line(talk: Conversation) -> None:
    await talk.begin(compiled={**TWO, "targets": ["cuda:90"]}, target="cuda:90")
    talk.open("spill")
    await until(lambda: talk.finished)
    await talk.execute("tilewright.profile", {"uri": talk.uri})
    await until(lambda: len(talk.finished) == 2)
    lenses = await talk.lenses()
    assert lenses[-2:] == ["Optimize…", "Compare"]
    assert len(" | ".join(lenses)) <= 100, lenses
