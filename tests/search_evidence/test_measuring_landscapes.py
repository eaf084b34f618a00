"""Measuring a landscape: what is judged first, what a later call takes up, what is written."""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pretended_device
import pytest
from landscape_plan import Unit, write
from measure_landscape import Bench, Progress, begun, measure
from real_kernels import ROOT

from tilewright.evaluation.model import text_hash
from tilewright.serialize import dump

SPEC = """
entry: softmax
inputs: {X: {shape: [ROWS, COLS], dtype: float32}}
ci:
  - {params: [X], dims: {ROWS: 3, COLS: 200}}
bench-gpu:
  - {params: [X], dims: {ROWS: 4, COLS: 1500}}
"""
SOFTMAX = (ROOT / "examples/softmax.py").read_text("utf-8")


def unit(name: str, texts: Mapping[str, str], **fields: Any) -> Unit:
    points = {point: text_hash(text) for point, text in texts.items()}
    found = Unit(
        name=name, kernel="softmax_kernel", source="examples/softmax.py", spec=SPEC,
        base=text_hash(SOFTMAX), sites=({"name": "one"},) * 4, settings=("", "num_warps=8"),
        start="0:0", blind=False, points=points, anchors=(points["0:0"],),
    )  # fmt: skip
    return replace(found, **fields)


def grid(name: str) -> Unit:
    return unit(name, {f"{sites}:{s}": f"{name}{sites}{s}" for sites in range(16) for s in (0, 1)})


def test_a_part_of_the_work_is_a_landscape_of_fewer_sites_for_every_kernel() -> None:
    progress = Progress({name: grid(name) for name in ("a", "b")})
    progress.fill()
    first, second, *rest = progress.waiting
    assert [first[0], second[0]] == ["a", "b"]
    of_three = {text for point, text in grid("a").points.items() if int(point.split(":")[0]) < 8}
    assert set(first[1]) == of_three
    assert {text for name, texts in (first, *rest) if name == "a" for text in texts} == set(
        grid("a").points.values()
    )


def test_shapes_come_last_and_a_text_of_two_points_is_judged_once() -> None:
    texts = {f"{sites}:0": "same" if sites in (0, 1, 9) else f"t{sites}" for sites in range(16)}
    shape = unit("a@1x2", {"0:0": "s"}, shape={"M": 1}, sites=())
    progress = Progress({"a@1x2": shape, "a": unit("a", texts)})
    progress.fill()
    names = [name for name, _ in progress.waiting]
    assert names == ["a", "a", "a@1x2"]
    judged = [text for _, part in progress.waiting for text in part]
    assert len(judged) == len(set(judged)) == 15


ANCHOR = text_hash("a00")


def line(text: str, **more: Any) -> dict[str, Any]:
    return {"unit": "a", "text": text, "anchor": ANCHOR, "level": "correct", **more}


def test_a_later_call_takes_up_what_is_missing(tmp_path: Path) -> None:
    first, *others = sorted(set(grid("a").points.values()))
    one = replace(grid("a"), base=first)
    done = others[:10]
    write(tmp_path / "plan.xz", {"units": [dump(one)], "texts": {}})
    lines = [{"unit": "a", "anchor": ANCHOR}, *map(line, done[:9]), line(done[9], error=True)]
    out = tmp_path / "out.jsonl"
    out.write_text("\n".join(map(json.dumps, lines)) + '\n{"unit": "a", "te', "utf-8")
    progress = begun(tmp_path / "plan.xz", argparse.Namespace(only="", out=out))
    left = {text for _, texts in progress.waiting for text in texts}
    assert left == set(one.points.values()) - set(done[:9])
    assert progress.anchors == {"a": ANCHOR}
    progress.heard(line(done[9], error=True))
    assert done[9] in progress.done["a"], "a harness that fails twice on a text is not asked again"


def test_what_is_clearly_faster_is_the_anchor_of_what_follows() -> None:
    progress = Progress({"a": grid("a")}, anchors={"a": ANCHOR})
    slow, close, fast = (text_hash(name) for name in ("a10", "a20", "a30"))
    progress.heard(line(slow, ratio=[0.5, 0.49, 0.51]))
    progress.heard(line(close, ratio=[1.02, 1.01, 1.03], level="faster"))
    assert progress.anchors == {"a": ANCHOR}
    progress.heard(line(fast, ratio=[1.2, 1.19, 1.21], level="faster"))
    assert progress.anchors == {"a": fast}


def test_lines_on_texts_that_the_plan_no_longer_has_are_left_out() -> None:
    progress = Progress({"a": grid("a")})
    progress.heard(line("gone"))
    progress.heard({"unit": "a", "anchor": "gone"})
    progress.heard({"unit": "gone", "anchor": ANCHOR})
    assert (progress.done, progress.anchors) == ({}, {})


def test_no_two_devices_look_for_the_anchor_of_a_kernel() -> None:
    progress = Progress({name: grid(name) for name in ("a", "b")})
    progress.fill()
    taken = [progress.take() for _ in range(3)]
    assert [one and one[0] for one in taken] == ["a", "b", None]
    progress.anchors["a"] = "x"
    progress.found("a")
    again = progress.take()
    assert again is not None
    assert again[0] == "a"


def test_what_a_lost_device_had_under_way_waits_again() -> None:
    one = grid("a")
    progress = Progress({"a": one})
    progress.fill()
    (_, first), *_ = progress.waiting

    def lose(unit: Unit, texts: Sequence[str], anchor: str) -> None:
        progress.heard(line(texts[0]))
        raise RuntimeError("the process ended")

    with pytest.raises(RuntimeError):
        measure(progress, lose, time.monotonic() + 60)
    assert progress.waiting[-1] == ("a", first[1:])
    assert progress.take() is not None, "another device may look for the anchor now"


def test_a_device_goes_on_with_the_kernel_it_has_open() -> None:
    progress = Progress(
        {name: grid(name) for name in ("a", "b", "c")}, anchors=dict.fromkeys("abc", "x")
    )
    progress.fill()
    order: list[str] = []
    other: list[str] = []

    def work(unit: Unit, texts: Sequence[str], anchor: str) -> None:
        order.append(unit.name)
        if len(order) == 1:
            taken = progress.take()
            other.append(taken[0] if taken else "")

    measure(progress, work, time.monotonic() + 60)
    assert other == ["b"]
    assert order == ["a", "a", "c", "c", "b"], "kernels that nobody has open come first"


def test_no_work_is_handed_out_when_the_time_is_up() -> None:
    progress = Progress({"a": grid("a")})
    progress.fill()
    asked: list[str] = []
    measure(progress, lambda unit, texts, anchor: asked.append(unit.name), time.monotonic())
    assert asked == []
    assert len(progress.waiting) == 2


@pytest.mark.triton
@pytest.mark.slow
def test_verdicts_of_a_device_that_can_time(tmp_path: Path) -> None:
    texts = {
        "0:0": SOFTMAX,
        "1:0": SOFTMAX.replace("tl.exp(x - row_max)", "(tl.exp(x - row_max) + 0.5)"),
        "2:0": SOFTMAX.replace("BLOCK=1024", "BLOCK=256"),
    }
    one = unit("softmax", texts)
    by_hash = {text_hash(text): text for text in texts.values()}
    said: list[Mapping[str, Any]] = []
    progress = Progress({"softmax": one})
    progress.fill()

    def say(told: Mapping[str, Any]) -> None:
        said.append(json.loads(json.dumps(told)))
        progress.heard(told)

    with pretended_device.device(tmp_path) as device:
        bench = Bench(device, by_hash, tmp_path / "work", "")

        def work(unit: Unit, texts: Sequence[str], anchor: str) -> None:
            bench.judge(unit, texts, anchor, 2, say)

        measure(progress, work, time.monotonic() + 600)
    anchor, *verdicts = said
    assert anchor == {"unit": "softmax", "anchor": one.base, "device": "cuda:0"}
    by_point = {point: next(v for v in verdicts if v["text"] == text_hash(text))
                for point, text in texts.items()}  # fmt: skip
    assert by_point["1:0"]["level"] == "rejected"
    assert by_point["1:0"]["failed"] == "correctness"
    assert "ratio" not in by_point["1:0"]
    assert by_point["0:0"]["level"] == "correct"
    low, high = by_point["2:0"]["ratio"][1:]
    assert low <= by_point["2:0"]["ratio"][0] <= high
    assert by_point["2:0"]["facts"]["softmax_kernel"]["registers"] > 0
    assert progress.done["softmax"] == set(by_hash)
