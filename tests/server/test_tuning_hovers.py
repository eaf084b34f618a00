"""Hovers on decorators of Triton, on the key of autotune, and on values of launch options."""

from dataclasses import replace
from pathlib import Path

import pytest
from conversation import Conversation

from tilewright.costs import Estimate
from tilewright.costs.model import Bound
from tilewright.hardware.chips import chip
from tilewright.source import parse_module
from tilewright.targets.model import ArgumentFacts, CompileReport, LaunchFacts, Target
from tilewright_server import tuning_cards
from tilewright_server.kernel_facts import CompiledFacts, ProfileFacts, Timing
from tilewright_server.option_costs import Known, cost_table

TUNED = """\
import triton
import triton.language as tl
from triton import cdiv


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 128}, num_warps=4),
        triton.Config({"BLOCK": 256}, num_warps=8),
    ],
    key=["n"],
    restore_value=["x"],
)
@triton.jit
def twice(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def host(x, n):
    twice[lambda meta: (cdiv(n, meta["BLOCK"]),)](x, n)
    print(triton.cdiv(n, 2))
"""


async def _hover(talk: Conversation, what: str, inside: int = 0) -> str:
    before = talk.text[: talk.text.index(what) + inside].split("\n")
    return await talk.hover(len(before) - 1, len(before[-1])) or ""


async def test_a_decorator_says_what_it_does_to_its_kernel(talk: Conversation) -> None:
    await talk.begin(target="cuda:90")
    talk.open(text=TUNED)
    jit = await _hover(talk, "triton.jit", 8)
    assert jit.startswith("**triton.jit** · Makes a function a kernel")
    assert "`twice`: launched at 1 place of this file; compiled for each combination" in jit
    tuned = await _hover(talk, "triton.autotune", 9)
    assert tuned.startswith("**triton.autotune** · Times each configuration")
    assert "each new combination of `n` and each new set of element types tunes again" in tuned
    # Two configurations of 25 and 100 ms.
    assert "2 compilations" in tuned
    assert "about 250 ms of the device" in tuned
    config = await _hover(talk, 'triton.Config({"BLOCK": 256', 9)
    assert "configuration 2 of 2" in config
    assert "Not compiled for cuda:90." in config


@pytest.mark.parametrize("place", ["triton.cdiv(n", "cdiv(n, meta"])
async def test_cdiv_has_a_card_however_it_is_imported(talk: Conversation, place: str) -> None:
    await talk.begin()
    talk.open(text=TUNED)
    card = await _hover(talk, place, len(place.split("(")[0]) - 1)
    assert "x / y rounded up" in card
    assert "tl.cdiv takes other values as well" in card


async def test_the_key_says_what_it_means_and_costs_here(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text=TUNED)
    key = await _hover(talk, "key=", 1)
    assert key.startswith("**key** of `triton.autotune` · Names of kernel parameters")
    assert "about 250 ms of the device" in key
    assert "Each name must be a parameter of the kernel" in key
    assert await _hover(talk, '["n"]', 2) == key
    assert (await _hover(talk, '["x"]', 2)).startswith("**restore_value** of")


async def test_a_name_of_the_file_itself_has_no_card(talk: Conversation) -> None:
    await talk.begin()
    own = "def cdiv(a, b):\n    return a // b"
    talk.open(text=TUNED.replace("from triton import cdiv", own))
    assert "rounded up" not in await _hover(talk, "cdiv(a", 1)


def test_a_key_of_an_own_clock_states_no_time() -> None:
    module = parse_module(TUNED.replace("key=", "do_bench=clock, key="), "a.py")
    (said, once) = tuning_cards.here("triton.autotune", module, module.kernels[0], 6, None, None)
    assert "`n`" in said
    assert once == "Once is 2 compilations, and runs with each configuration."


def _launch(warps: int, block: int = 128) -> LaunchFacts:
    value = ArgumentFacts("BLOCK", "constexpr", "constexpr", value=block)
    return LaunchFacts("twice", (1,), (value,), {"num_warps": warps, "num_stages": 3})


def _report(warps: int, registers: int, spilled: int = 0) -> CompileReport:
    return CompileReport(
        kernel="twice",
        target=Target("cuda", "90"),
        ok=True,
        launch=_launch(warps),
        registers=registers,
        spill_bytes=spilled,
    )


def test_each_value_says_what_is_known_of_it() -> None:
    reports = (_report(4, 40), _report(8, 24, 16))
    estimate = Estimate(12.5, Bound.MEMORY, 80.0, {})
    compiled = CompiledFacts(
        "twice", ("cuda:90",), "spec", reports, (), (), (), (estimate, estimate)
    )
    timing = Timing(11.0, 10.5, 11.5, "NVIDIA H200", "n=4096")
    facts = ProfileFacts(
        "twice", "cuda:90", True, 40, 0, 0, 0, (), True, timing, "NVIDIA H200", (),
        launch=_launch(4),
    )  # fmt: skip
    known = Known(compiled, (facts,))
    values = {"BLOCK": 128, "num_warps": 4}
    table = cost_table("num_warps", ("2", "4", "8"), values, None, chip("cuda:90"), known)
    two, four, eight = table.split("\n")[-3:]
    assert two == "| 2 | 64 threads | not compiled | not measured |"
    assert four.startswith("| **4** | 128 threads | 40 registers, no spills")
    assert "11 µs (10.5 to 11.5) on NVIDIA H200, n=4096" in four
    assert "24 registers, **16 B spilled**" in eight
    assert eight.endswith("| not measured; 12.5 µs by estimate |")


def test_figures_of_other_block_sizes_are_not_taken_for_this_one() -> None:
    report = replace(_report(4, 40), launch=_launch(4, block=256))
    known = Known(CompiledFacts("twice", ("cuda:90",), "spec", (report,), (), (), ()))
    values = {"BLOCK": 128, "num_warps": 4}
    table = cost_table("num_warps", ("4",), values, None, chip("cuda:90"), known)
    assert "not compiled | not measured" in table


async def test_the_table_stands_in_the_details(talk: Conversation, tmp_path: Path) -> None:
    await talk.begin(target="cuda:90")
    talk.open(text=TUNED)
    card = await _hover(talk, "num_warps=8", 3)
    _, _, details = card.partition("\n\n---\n\n")
    assert "What each value costs on cuda:90, all other settings as here" in details
    assert "| **8** | 256 threads, at most 1 elements of a tile each | not compiled" in details
