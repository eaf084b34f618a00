"""Sentences say what was measured, where, and what was not."""

from typing import Any

import pytest

from tilewright.source import parse_module
from tilewright_server import hovers, wording
from tilewright_server.kernel_facts import read_profile

KERNEL = "import triton\n\n\n@triton.jit\ndef k(x_ptr):\n    pass\n"
COMPILED = {"step": "compile", "status": "passed"}
SKIPPED = {"step": "compile", "status": "skipped", "message": "no toolchain for xpu: run this"}
SPEEDUP = {"value": 4.2, "low": 4.1, "high": 4.33, "device": "cuda:0", "case": "bench-gpu[0]"}


@pytest.mark.parametrize(
    ("certificate", "said"),
    [
        (
            {"level": "correct", "device": "interpreter", "target": "cuda:90", "steps": [COMPILED]},
            "correct on interpreter; compiled for cuda:90; speed not measured",
        ),
        (
            {"level": "correct", "device": "interpreter", "target": "xpu:pvc", "steps": [SKIPPED]},
            "correct on interpreter; not compiled (no toolchain for xpu); speed not measured",
        ),
        (
            {
                "level": "faster",
                "device": "cuda:0",
                "target": "cuda:90",
                "steps": [COMPILED],
                "speedup": SPEEDUP,
            },
            "correct on cuda:0; compiled for cuda:90; "
            "4.20x the original's speed (4.10 to 4.33) on cuda:0, bench-gpu[0]",
        ),
        (
            {
                "level": "correct",
                "device": "cuda:0",
                "target": "cuda:90",
                "steps": [COMPILED],
                "speedup": {**SPEEDUP, "value": 1.0, "low": 0.99, "high": 1.01, "detectable": 0.02},
            },
            "correct on cuda:0; compiled for cuda:90; 1.00x the original's speed (0.99 to 1.01) "
            "on cuda:0, bench-gpu[0], minimum detectable speed-up: 2.0 %",
        ),
        (None, "parsed only; speed not measured"),
    ],
)
def test_evidence(certificate: dict[str, Any] | None, said: str) -> None:
    assert wording.evidence({"certificate": certificate}) == said


def _facts(**entry: Any) -> str:
    whole = {"device": "interpreter", "notes": entry.pop("whole", [])}
    facts = read_profile({"name": "k", "line": 1, **entry}, "cuda:90", whole)
    return f"{facts.target}: {wording.facts_phrase(facts)}"


def test_facts_that_are_missing_are_said_to_be() -> None:
    report = {"ok": True, "registers": 48, "spill_bytes": 0, "shared_bytes": 24576, "messages": []}
    assert _facts(report=report, correct=True) == (
        "cuda:90: 48 registers, no spills, 24 KiB shared · correct on interpreter · "
        "time not measured"
    )
    assert _facts(report={"ok": False}, correct=None, notes=["time not measured: no GPU"]) == (
        "cuda:90: does not compile · not checked · time not measured: no GPU"
    )
    assert _facts(report={"ok": True}, correct_why="RuntimeError: XPU unavailable") == (
        "cuda:90: compiles · not judged: RuntimeError: XPU unavailable · time not measured"
    )
    assert _facts(report={"ok": True}, correct=False, correct_why="3 elements differ") == (
        "cuda:90: compiles · WRONG RESULT on interpreter · time not measured"
    )
    assert _facts(whole=["no spec next to the file"]) == ("cuda:90: no spec next to the file")


def test_a_time_comes_with_interval_device_and_case() -> None:
    time = {"median_us": 195.2, "low_us": 194.0, "high_us": 197.5, "device": "H200", "case": "b[0]"}
    assert _facts(time=time).endswith("195.2 µs (194 to 197.5) on H200, b[0]")


def test_a_hover_says_each_fact_once() -> None:
    shared = {"shared_bytes": 24576, "shared_limit": 232448}
    report = {"ok": True, "registers": 48, **shared, "messages": []}
    note = "time not measured: the interpreter cannot time a kernel"
    entry = {"name": "k", "line": 1, "report": report, "correct": True, "notes": [note, "a note"]}
    facts = read_profile(entry, "cuda:90", {"device": "interpreter", "notes": ["a note"]})
    (kernel,) = parse_module(KERNEL).kernels
    card = hovers.whole([hovers.kernel_card(kernel, (facts,), None, None)])
    assert card.count("cuda:90") == card.count("time not measured") == card.count("a note") == 1
    assert card.count("24 KiB") == 1
    assert (
        "48 registers, 24 KiB of 227 KiB shared · correct on interpreter · time not measured"
        in card
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "save the file once: the fix needs"),
        ({"on_save": False}, "profile the kernel once: the fix needs"),
        ({"running": True}, "the running compilation provides them"),
        ({"tried": True, "failure": "no spec"}, "recorded no launch of this kernel: no spec"),
        ({"trusted": False}, "not trusted"),
        ({"launched": False}, "no launch of it"),
    ],
)
def test_what_a_fix_without_types_needs(changed: dict[str, Any], said: str) -> None:
    known = {"launched": True, "trusted": True, "running": False, "on_save": True}
    untried = {"tried": False, "failure": ""}
    assert said in wording.lacking_launch(**{**known, **untried, **changed})


def test_what_was_not_verified_fits_into_a_message_and_its_rest_is_counted() -> None:
    certificate = {"unverified": [f"Point {n} was not verified." + " Why." * 30 for n in range(6)]}
    said = wording.description({"certificate": certificate})
    assert said.startswith("optimized kernel. Left open: Point 0 was not verified.")
    assert "Point 1" in said
    assert "Point 2" not in said
    assert said.endswith("And 4 more, which the certificate lists.")
    short = wording.description({"certificate": {"unverified": ["One.", "Two"]}})
    assert short == "optimized kernel. Left open: One. Two."


def test_the_evidence_of_an_estimated_edit_names_the_estimate_and_what_was_not_done() -> None:
    words = "1.40x by the cost model for neuron:trn2, 99.9 us [75, 129] -> 71.5 us [53.6, 92.3]"
    result = {
        "level": "correct",
        "device": "neuron-sim (NKI simulator on CPU)",
        "target": "neuron:trn2",
        "speedup": None,
        "estimate": {"words": words},
    }
    assert wording.evidence(result) == (
        "correct on neuron-sim (NKI simulator on CPU); "
        f"estimated {words}; not compiled, not measured"
    )
