"""What is said of a kernel: its bottleneck, its distance from the roof, where its bytes go."""

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest
from profiling_subjects import H200, line_of, matmul, softmax, with_spec

from tilewright.knowledge.base import taxonomy
from tilewright.profiling import rules
from tilewright.profiling.bounds import Bottleneck, verdict_of
from tilewright.profiling.facts import facts_of
from tilewright.profiling.model import Confidence, Counters, Host, Share, Source, Work
from tilewright.profiling.observed import Observed
from tilewright.profiling.rules import MOST, findings_of
from tilewright.profiling.rules.programs import MEANING

SOFTMAX_BYTES = 2 * 8192 * 8192 * 4


def said(seen: Observed, kind: str) -> str:
    """The text of the only finding of a kind."""
    (found,) = [finding.text for finding in findings_of(seen) if finding.id == kind]
    return found


def kinds(seen: Observed) -> list[str]:
    return [finding.id for finding in findings_of(seen)]


def value(seen: Observed, name: str) -> float:
    (found,) = [fact.value for fact in facts_of(seen) if fact.name == name]
    return found


def test_bytes_that_fill_the_time_make_it_memory_bound() -> None:
    seen = softmax(150.0)
    text = said(seen, "roof")
    assert text.startswith("memory-bound: 3.58 TB/s of 4.8 TB/s (75 %, at least")
    assert "the bandwidth roof for this work is 111.8 us, 1.3x faster than 150 us" in text
    assert value(seen, "bytes.touched") == SOFTMAX_BYTES
    assert value(seen, "bandwidth.percent") == pytest.approx(74.6, abs=0.1)
    assert value(seen, "roof.percent") == pytest.approx(74.6, abs=0.1)


def test_without_counters_an_unexplained_time_stays_unexplained() -> None:
    seen = softmax(400.0)
    verdict = verdict_of(seen)
    assert verdict is not None
    assert verdict.bottleneck is Bottleneck.UNKNOWN
    assert "neither memory nor arithmetic need fill the time" in said(seen, "roof")


def test_counters_tell_traffic_beyond_the_least_and_which_lines_read_again() -> None:
    moved = {"memory.read": 3.0e8 * 2.5, "memory.write": 2.7e8, "l2.hit": 41.0}
    text = said(softmax(300.0, moved), "traffic")
    assert text.startswith("moves 1.9x the least traffic: 1.02 GB where the launch touches 537 MB")
    assert "41 % of its sectors found in L2" in text
    loads = [24, 31, 37]
    assert f"lines {loads[0]}, {loads[1]} and {loads[2]} read the same tiles again" in text
    (finding,) = [f for f in findings_of(softmax(300.0, moved)) if f.id == "traffic"]
    assert finding.suggests == ("multi_pass_row", "cache_eviction_risk")
    assert finding.line == loads[0]


def test_traffic_that_is_the_least_is_not_worth_a_sentence() -> None:
    least = {"memory.read": SOFTMAX_BYTES / 2, "memory.write": SOFTMAX_BYTES / 2}
    assert "traffic" not in kinds(softmax(150.0, least))
    assert "asked" not in kinds(softmax(150.0, least)), "counters have told that caches serve it"
    assert "asked" in kinds(softmax(150.0))


def test_products_make_it_compute_bound_at_the_rate_of_their_type() -> None:
    seen = matmul(400.0)
    text = said(seen, "roof")
    assert text.startswith("compute-bound: 344 TFLOP/s of 494 TFLOP/s tf32 (70 %)")
    assert value(seen, "flop.dot.fp32") == 2 * 4096**3
    widened = said(seen, "widened")
    line = line_of("matmul", "tl.dot")
    assert f"the product on line {line} multiplies fp16 operands as fp32 (tf32)" in widened
    assert "494 TFLOP/s instead of 989 TFLOP/s" in widened


def test_products_without_the_tensor_unit_have_the_vector_roof() -> None:
    seen = matmul(4000.0, tensor_unit="")
    assert "does not use the tensor unit" in said(seen, "tensor")
    assert value(seen, "rate.peak") == 67e12


def test_nothing_busy_is_latency_and_its_stalls_are_named() -> None:
    busy = {
        "memory.read": 1e8, "memory.write": 1e8, "memory.busy": 15.0, "tensor.busy": 12.0,
        "l2.busy": 30.0, "issue.busy": 25.0, "occupancy.achieved": 11.0, "occupancy.possible": 12.5,
    }  # fmt: skip
    seen = matmul(1150.0, busy)
    assert seen.counters is not None
    stalls = {"long_scoreboard": 0.55, "wait": 0.15, "barrier": 0.2, "selected": 0.1}
    seen = replace(seen, counters=replace(seen.counters, stalls=stalls))
    assert said(seen, "roof").startswith("latency-bound: nothing is busier than 30 %, by counters")
    assert "55 % of their time waiting for loads from global" in said(seen, "stall")
    assert "12 % of a unit's warps at most" in said(seen, "occupancy")
    assert "the tensor unit works in 12 % of the cycles" in said(seen, "tensor_idle")


def test_samples_alone_do_not_tell_what_is_busy() -> None:
    seen = replace(matmul(1150.0), counters=Counters({}, {"wait": 0.6, "barrier": 0.4}))
    verdict = verdict_of(seen)
    assert verdict is not None
    assert verdict.bottleneck is Bottleneck.UNKNOWN
    assert "60 % of their time in the fixed latency" in said(seen, "stall")


def test_a_line_that_most_samples_fall_on_is_named() -> None:
    seen = matmul(1150.0, {"memory.busy": 10.0})
    assert seen.counters is not None
    samples = {38: {"long_scoreboard": 60.0, "wait": 5.0}, 41: {"gmma": 20.0}}
    seen = replace(seen, counters=replace(seen.counters, line_stalls=samples))
    assert said(seen, "hot_line").startswith(
        "line 38 has 76 % of all samples, most of them waiting"
    )


def test_a_time_below_the_roof_is_doubted() -> None:
    assert "is less than the 111.8 us that the data sheet's peaks allow" in said(
        softmax(60.0), "roof"
    )


def test_a_spec_that_counts_other_bytes_is_named() -> None:
    seen = with_spec(softmax(150.0), 4 * 8192 * 8192, 5 * 8192 * 8192)
    text = said(seen, "spec")
    assert text == "the spec's mem_bytes is 268 MB and the accesses touch 537 MB; the count is used"
    assert kinds(with_spec(softmax(150.0), SOFTMAX_BYTES, None)).count("spec") == 0


def test_uncoalesced_sectors_are_held_against_what_the_access_could_do() -> None:
    wide = {"load.requests": 1e6, "load.sectors": 16e6}
    assert "scattered" not in kinds(softmax(150.0, wide)), "16 bytes a thread are 16 sectors"
    text = said(softmax(150.0, wide | {"load.sectors": 32e6}), "scattered")
    assert text.startswith("a warp's load reaches 32 sectors of 32 bytes where 16 would hold")


def test_a_host_that_is_slower_than_the_device_comes_first() -> None:
    call = Observed(
        None, H200, Work(spec_bytes=1e6), time=softmax(8.0).time, host=Host(42.0, 45.0, 8.0)
    )
    assert kinds(call)[0] == "host"
    assert "idles 82 % of the 45 us a call" in said(call, "host")
    assert verdict_of(call) is not None
    assert verdict_of(replace(call, host=Host(42.0, 45.0, 44.0))) is not None
    assert "host" not in kinds(replace(call, host=Host(42.0, 45.0, 44.0)))


def test_time_that_is_not_of_triton_kernels_is_named() -> None:
    shares = (
        Share("softmax_kernel", 1, 60.0, ours=True),
        Share("void at::native::elementwise_kernel<128, 4>", 2, 40.0, ours=False),
    )
    call = Observed(None, H200, Work(), time=softmax(100.0).time, shares=shares)
    text = said(call, "shares")
    assert text.startswith("the device's time goes to softmax_kernel 60 %, void at::native")
    assert "40 % is not of this file's Triton kernels" in text


def test_no_more_than_six_sentences_the_heaviest_first() -> None:
    seen = matmul(1150.0, {"tensor.busy": 10.0, "load.requests": 1.0, "load.sectors": 40.0})
    found = findings_of(seen)
    assert len(found) <= MOST
    assert [f.weight for f in found] == sorted((f.weight for f in found), reverse=True)
    assert found[0].id == "roof"


def test_every_fact_has_a_source_and_an_estimate_is_never_measured() -> None:
    counters = Counters({"l2.hit": 40.0, "time": 150.0}, {"wait": 1.0}, {}, "ncu 2025.3")
    seen = replace(softmax(150.0), counters=counters)
    facts = facts_of(seen)
    assert all(fact.unit for fact in facts)
    for fact in facts:
        if fact.source in (Source.ESTIMATE, Source.SPEC, Source.COUNTED):
            assert fact.confidence is not Confidence.MEASURED
        if fact.name.startswith("counter."):
            assert (fact.source, fact.note) == (Source.COUNTER, "ncu 2025.3")


def test_without_a_time_nothing_is_called_measured() -> None:
    seen = replace(matmul(100.0), time=None)
    assert findings_of(seen)
    assert not any(finding.measured for finding in findings_of(seen))
    assert not [
        f for f in facts_of(seen) if f.confidence in (Confidence.MEASURED, Confidence.DERIVED)
    ]


def test_every_issue_that_a_rule_suggests_is_in_the_taxonomy() -> None:
    known = set(taxonomy())
    suggested = {name for reason in MEANING.values() for name in reason.suggests}
    for path in Path(rules.__file__).parent.glob("*.py"):
        tuples = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Tuple)]
        named = [n.value for each in tuples for n in each.elts if isinstance(n, ast.Constant)]
        suggested |= {
            n for n in named if isinstance(n, str) and re.fullmatch(r"[a-z]+(_[a-z]+)+", n)
        }
    assert len(suggested) > 10
    assert suggested <= known
