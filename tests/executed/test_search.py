"""From drafts to a call that a function accepts, with runs that a small model of one answers."""

from collections.abc import Callable, Sequence

from tilewright.executed.jobs import spaces
from tilewright.executed.observations import Wrong
from tilewright.executed.search import Tried, tried
from tilewright.source import parse_module
from tilewright.worker.messages.drafted import DraftedCall, DraftedRun

TEXT = """import torch
import triton
import triton.language as tl
@triton.jit
def kernel(a, b, out, M, K, B: tl.constexpr):
    i = tl.program_id(0)
    tl.store(out + i, tl.load(a + i) * tl.load(b + i))

def scaled(a, b):
    M, K = a.shape
    L = b.shape[0]
    assert b.dim() == 1
    out = torch.empty_like(a)
    kernel[(M,)](a, b, out, M, K, B=64)
    return out
"""
Shapes = dict[str, list[int]]


def _run(fails: Callable[[Shapes], DraftedRun]) -> Tried:
    def answered(calls: Sequence[DraftedCall]) -> list[DraftedRun]:
        shapes = [{n: a["shape"] for n, a in call["arguments"].items()} for call in calls]
        return [{"launches": {"kernel": 1}, "error": None, **fails(one)} for one in shapes]

    module = parse_module(TEXT)
    (space,) = spaces(module)
    return tried(space, answered)


def _outside(name: str) -> DraftedRun:
    return {"outside": [{"text": f"reads 3 elements past the end of input {name}", "lines": [7]}]}


def test_a_relation_that_the_function_takes_for_granted_is_found() -> None:
    found = _run(lambda s: {} if s["b"] == s["a"][1:] else _outside("b"))
    assert found.is_clean
    assert found.sightings == ()
    assert found.call is not None
    assert found.call["arguments"]["b"]["shape"] == found.call["arguments"]["a"]["shape"][1:]


def test_what_only_an_odd_extent_shows_is_said_of_that_extent() -> None:
    found = _run(lambda s: _outside("a") if s["a"][0] % 4 else {})
    assert [(s.fault.kind, s.is_ordinary) for s in found.sightings] == [(Wrong.OUTSIDE_READ, False)]


def test_an_order_of_two_extents_is_no_fault() -> None:
    found = _run(lambda s: _outside("b") if s["b"][0] < 40 else {})
    assert found.sightings == ()


def test_what_the_function_refuses_is_no_fault() -> None:
    def refuse(shapes: Shapes) -> DraftedRun:
        error = {"kind": "AssertionError", "text": "", "line": 12, "host_line": 12, "by": "host"}
        return {"error": error}  # type: ignore[typeddict-item]

    found = _run(refuse)
    assert found.call is None
    assert found.sightings == ()


def test_a_launch_that_does_not_fit_is_a_fault_whatever_the_extents() -> None:
    text = "kernel() missing 1 required positional argument: 'PART'"

    def fail(shapes: Shapes) -> DraftedRun:
        return {
            "error": {
                "kind": "TypeError", "text": text, "line": 14, "host_line": 14, "by": "launch"
            }
        }  # fmt: skip

    found = _run(fail)
    assert {(s.fault.kind, s.fault.line) for s in found.sightings} == {(Wrong.LAUNCH, 14)}


def test_the_number_of_calls_is_bounded() -> None:
    assert _run(lambda s: _outside("b")).runs <= 240
