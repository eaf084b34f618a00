"""The judge itself: what is recorded of a compilation, and that a false claim is seen as one."""

import linecache
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

import triton
import triton.language as tl
from comparing import Tally, compare
from recording import Recording
from specializing import CONSTEXPR, Argument, Specialization, build_ttir

from tilewright.analysis.tiles import TileFacts, Tiles
from tilewright.source import parse_module
from tilewright.source.model import Module

pytestmark = pytest.mark.triton

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def doubled(x):
    return x + x


@triton.jit
def kernel(x_ptr, y_ptr, n, SCALE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x_ptr + start + offsets)
    if SCALE:
        total = total * 3.0
    tl.store(y_ptr + offsets, doubled(total))
    tl.store(y_ptr, doubled(n))
"""
GIVEN = Specialization(
    (
        Argument("x_ptr", "*fp16"),
        Argument("y_ptr", "*fp32"),
        Argument("n", "i32"),
        Argument("SCALE", CONSTEXPR, False),
        Argument("BLOCK", CONSTEXPR, 128),
    )
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Module, Recording, str]:
    """The kernel above, parsed and compiled."""
    path = str(tmp_path_factory.mktemp("kernels") / "kernel.py")
    Path(path).write_text(KERNEL)
    linecache.checkcache(path)
    scope: dict[str, Any] = {"triton": triton, "tl": tl, "__name__": "kernel"}
    exec(compile(KERNEL, path, "exec"), scope)
    module, recording = build_ttir(scope["kernel"], GIVEN)
    assert "tt.func" in str(module)
    return parse_module(KERNEL), recording, path


def types_at(built: tuple[Module, Recording, str], text: str) -> set[tuple[str, tuple[int, ...]]]:
    """What was recorded of the expression that reads ``text``."""
    _, recording, path = built
    lines = KERNEL.splitlines()
    return {
        (seen.dtype, seen.shape)
        for place, all_seen in recording.files[path].items()
        for seen in all_seen
        if place.line == place.end_line
        and lines[place.line - 1][place.column : place.end_column] == text
    }


def test_an_expression_has_the_type_of_its_value(built: tuple[Module, Recording, str]) -> None:
    assert types_at(built, "tl.arange(0, BLOCK)") == {("i32", (128,))}
    assert types_at(built, "x_ptr + start") == {("fp16", ())}
    assert types_at(built, "tl.load(x_ptr + start + offsets)") == {("fp16", (128,))}


def test_a_function_called_twice_has_both_types(built: tuple[Module, Recording, str]) -> None:
    assert types_at(built, "x + x") == {("fp32", (128,)), ("i32", ())}


def test_code_that_a_constexpr_turns_off_has_none(built: tuple[Module, Recording, str]) -> None:
    assert types_at(built, "total * 3.0") == set()


def test_the_type_is_that_of_the_ttir(built: tuple[Module, Recording, str]) -> None:
    _, recording, path = built
    printed = {s.ir for all_seen in recording.files[path].values() for s in all_seen}
    assert {"tensor<128x!tt.ptr<f16>>", "tensor<128xf32>", "i32"} <= printed


def tally_of(built: tuple[Module, Recording, str]) -> Tally:
    module, recording, path = built
    return compare(module, recording.files[path], GIVEN.launch("kernel")).kernels


def test_inference_is_right_about_this_kernel(built: tuple[Module, Recording, str]) -> None:
    tally = tally_of(built)
    assert tally.disagreements == []
    assert tally.count("shape") >= 20
    assert tally.known("shape") == tally.known("dtype") == 1


@pytest.mark.parametrize(
    ("aspect", "lie"), [("shape", {"shape": (64,)}), ("dtype", {"dtype": "bf16"})]
)
def test_a_false_claim_is_seen(
    built: tuple[Module, Recording, str],
    monkeypatch: pytest.MonkeyPatch,
    aspect: str,
    lie: dict[str, Any],
) -> None:
    honest = Tiles.facts_at

    def lies(tiles: Tiles, node: Any) -> TileFacts:
        return replace(honest(tiles, node), **lie)

    monkeypatch.setattr(Tiles, "facts_at", lies)
    tally = tally_of(built)
    assert tally.equal(aspect) == 0
    assert {d.aspect for d in tally.disagreements} >= {aspect}
