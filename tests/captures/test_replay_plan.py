"""How a captured launch is made again: its inputs, and its launch with a candidate's text."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilewright.captures.cases import NotReplayable, case_of
from tilewright.captures.folder import ARCHIVE, load_captures, pack, write_kernels
from tilewright.captures.model import (
    VERSION,
    CapturedKernel,
    CapturedLaunch,
    CaptureError,
    Contents,
    Placement,
    Site,
)
from tilewright.captures.relaunch import NoPlan, Plan, plan_of
from tilewright.problems.model import Case, LaunchCase
from tilewright.source import parse_module
from tilewright.targets.model import ArgumentFacts, LaunchFacts

TEXT = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, at < n) * factor, at < n)


def run(x, factor):
    out = torch.empty_like(x)
    n = x.numel()
    BLOCK = 64
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    scale[grid](x, out, n, factor, BLOCK=BLOCK, num_warps=2)
    return out
"""
TUNED = TEXT.replace(
    "@triton.jit",
    "@triton.autotune([triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 512})], ['n'])\n"
    "@triton.jit",
).replace("BLOCK=BLOCK, num_warps=2", "num_warps=2")


def tensor(
    name: str, *shape: int, strides: tuple[int, ...] = (1,), type_: str = "*fp32"
) -> ArgumentFacts:
    return ArgumentFacts(name, "tensor", type_, None, shape, strides, True)


def place(name: str, storage: int, offset: int = 0, size: int | None = 4096) -> Placement:
    return Placement(name, offset, 64, storage, "cuda:0", size)


def launch(**changes: Any) -> CapturedLaunch:
    """``scale`` of 1000 elements, 64 at a time."""
    facts = LaunchFacts(
        "scale",
        (16,),
        (
            tensor("x_ptr", 1000),
            tensor("out_ptr", 1000),
            ArgumentFacts("n", "int", "i32", 1000),
            ArgumentFacts("factor", "float", "fp32", 0.5),
            ArgumentFacts("BLOCK", "constexpr", "constexpr", 64),
        ),
        {"num_warps": 2},
    )
    made = CapturedLaunch(
        facts, 3, (place("x_ptr", 0), place("out_ptr", 1)), device="cuda:0",
        site=Site("kernels.py", 17, "run"), grid_reads=("BLOCK",),
    )  # fmt: skip
    return replace(made, **changes)


def case(**changes: Any) -> Case:
    return case_of(launch(**changes), 0)


def call() -> LaunchCase:
    made = case().launch
    assert made is not None
    return made


def planned(candidate: str, original: str = TEXT, **changes: Any) -> Plan | NoPlan:
    modules = (parse_module(text, "kernels.py") for text in (original, candidate))
    return plan_of(*modules, replace(call(), **changes))


def test_each_storage_is_an_input_and_arguments_are_views_of_it() -> None:
    made = case(tensors=(place("x_ptr", 0, 8), place("out_ptr", 0, 8)))
    (given,) = made.inputs
    assert (given.name, given.shape, given.dtype) == ("x_ptr+out_ptr", (1024,), "float32")
    assert made.launch is not None
    assert [(view.name, view.input, view.offset) for view in made.launch.views] == [
        ("x_ptr", "x_ptr+out_ptr", 8),
        ("out_ptr", "x_ptr+out_ptr", 8),
    ]


def test_a_dense_tensor_is_an_input_of_its_own_shape() -> None:
    made = case(tensors=(place("x_ptr", 0, size=4000), place("out_ptr", 1)))
    assert [given.shape for given in made.inputs] == [(1000,), (1024,)]


def test_of_a_huge_storage_only_what_the_kernel_reaches_is_made() -> None:
    made = case(tensors=(place("x_ptr", 0, 1_000_003, size=1 << 30), place("out_ptr", 1)))
    assert made.launch is not None
    view = made.launch.views[0]
    assert (view.offset, made.inputs[0].shape) == (1_000_003 % 16, (1000 + 1_000_003 % 16,))


def indexed(contents: Contents) -> Case:
    facts = launch().facts
    index = tensor("x_ptr", 3, strides=(2,), type_="*i64")
    return case(
        facts=replace(facts, arguments=(index, *facts.arguments[1:])),
        contents={"x_ptr": contents},
        tensors=(place("x_ptr", 0, 1, size=64), place("out_ptr", 1)),
    )


def test_few_integers_are_those_that_were_recorded_where_they_lay() -> None:
    made = indexed(Contents(4, 9, (9, 4, 7)))
    assert made.inputs[0].values == (4, 9, 4, 4, 4, 7, 4, 4)


def test_many_integers_are_drawn_from_their_range_and_in_their_order() -> None:
    given = indexed(Contents(4, 9, None, ascending=True)).inputs[0]
    assert (given.low, given.high, given.ascending) == (4, 10, True)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tensors": (place("x_ptr", 0, size=None), place("out_ptr", 1))}, "capture again"),
        ({"overlaps": (("x_ptr", "out_ptr"),)}, "not views of one storage"),
        ({"facts": replace(launch().facts, grid=(0,))}, "no program"),
    ],
)
def test_what_was_not_recorded_is_not_guessed(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(NotReplayable, match=reason):
        case(**changes)


def test_addresses_are_not_drawn() -> None:
    with pytest.raises(NotReplayable, match="addresses"):
        indexed(Contents(1 << 46, 1 << 47))


def test_the_same_text_is_launched_as_recorded() -> None:
    plan = planned(TEXT)
    assert isinstance(plan, Plan)
    assert (plan.grid, plan.through, plan.options) == ((16,), False, {"num_warps": 2})
    assert plan.values["BLOCK"] == 64


@pytest.mark.parametrize(
    ("before", "after", "grid", "values", "options"),
    [
        ("BLOCK = 64", "BLOCK = 256", (4,), {"BLOCK": 256}, {"num_warps": 2}),
        ("BLOCK=BLOCK", "BLOCK=128", (8,), {"BLOCK": 128}, {"num_warps": 2}),
        (
            "BLOCK = 64", "BLOCK = triton.next_power_of_2(n)", (1,), {"BLOCK": 1024},
            {"num_warps": 2},
        ),
        ("num_warps=2", "num_warps=8, num_stages=3", (16,), {"BLOCK": 64},
         {"num_warps": 8, "num_stages": 3}),
        (", num_warps=2", "", (16,), {"BLOCK": 64}, {}),
        ("tl.load(x_ptr + at, at < n)", "tl.load(x_ptr + at, at < n, 0.0)", (16,), {}, {}),
    ],
)  # fmt: skip
def test_what_the_candidates_own_launch_gives_counts(
    before: str, after: str, grid: tuple[int, ...], values: dict[str, Any], options: dict[str, Any]
) -> None:
    plan = planned(TEXT.replace(before, after))
    assert isinstance(plan, Plan), plan
    assert plan.grid == grid
    assert values.items() <= plan.values.items()
    assert not options or plan.options == options


def test_a_constexpr_that_the_candidates_launch_gives_may_be_new() -> None:
    text = TEXT.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, GROUP: tl.constexpr")
    plan = planned(text.replace("BLOCK=BLOCK", "BLOCK=BLOCK, GROUP=8"))
    assert isinstance(plan, Plan), plan
    assert plan.values["GROUP"] == 8


def test_a_tuned_candidate_goes_through_its_tuner_with_a_grid_to_evaluate() -> None:
    plan = planned(TUNED)
    assert isinstance(plan, Plan), plan
    assert (plan.through, plan.axes) == (True, ("cdiv(1000, BLOCK)",))


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("factor", "faktor", "host code changed|parameter factor is gone"),
        ("def scale(x_ptr, ", "def scale(x_ptr, y_ptr, ", "parameter y_ptr is new"),
        ("torch.empty_like(x)", "torch.zeros_like(x)", r"host code changed \(run\)"),
        ("scale[grid](x,", "scale[grid](x.contiguous(),", r"host code changed \(run\)"),
        ("n = x.numel()", "n = x.numel() // 2", r"host code changed \(run\)"),
        ("BLOCK = 64", "BLOCK = pick(n)", "`pick\\(n\\)`, which is not known"),
        ("def scale", "def scaled", "kernel scale is gone"),
    ],
)
def test_a_change_that_a_captured_launch_does_not_show_has_no_plan(
    before: str, after: str, reason: str
) -> None:
    plan = planned(TEXT.replace(before, after))
    assert isinstance(plan, NoPlan)
    assert re.search(reason, plan.reason), plan.reason


def test_where_the_grid_is_not_known_what_it_depends_on_must_stay() -> None:
    hidden = TEXT.replace('(triton.cdiv(n, meta["BLOCK"]),)', "programs(meta)")
    assert isinstance(planned(hidden, hidden), Plan)
    refused = planned(hidden.replace("BLOCK = 64", "BLOCK = 256"), hidden)
    assert isinstance(refused, NoPlan)
    assert "BLOCK must stay" in refused.reason
    free = planned(hidden.replace("BLOCK = 64", "BLOCK = 256"), hidden, grid_reads=())
    assert isinstance(free, Plan)
    assert free.grid == (16,)


def test_a_grid_that_does_not_give_what_was_recorded_is_not_believed() -> None:
    wrong = TEXT.replace("triton.cdiv(n,", "triton.cdiv(n + 64,")
    assert isinstance(planned(wrong, wrong), Plan)
    refused = planned(wrong.replace("BLOCK = 64", "BLOCK = 256"), wrong)
    assert isinstance(refused, NoPlan)


def test_an_archive_holds_what_the_folder_does(tmp_path: Path) -> None:
    root = tmp_path / "site"
    file = str(root / "package" / "kernels.py")
    kernel = CapturedKernel(VERSION, "scale", "scale", file, 6, "0" * 32, (launch(),))
    write_kernels(tmp_path / "launches", [kernel])
    archive = tmp_path / f"package{ARCHIVE}"
    pack(load_captures(tmp_path / "launches"), archive, root)
    (packed,) = load_captures(archive).kernels
    assert packed == replace(kernel, file="package/kernels.py")
    archive.write_bytes(b"no archive")
    with pytest.raises(CaptureError, match="no archive of captured launches"):
        load_captures(archive)
