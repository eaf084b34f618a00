"""Optimize results in the form the command line prints, for the report's tests."""

from typing import Any

DIFF = """\
--- a/matmul.py
+++ b/matmul.py
@@ -8,3 +8,4 @@
     b = tl.load(b_ptrs)
-    acc += tl.dot(a, b)
+    acc = tl.dot(a, b, acc)
+    # <b>not bold</b>
     a_ptrs += BLOCK_K
"""

SPEEDUP = {
    "value": 5.5,
    "low": 5.42,
    "high": 5.61,
    "confidence": 0.99,
    "noise": 0.008,
    "original_us": 1150.0,
    "candidate_us": 209.0,
    "baseline": "0" * 32,
    "device": "cuda:0",
    "case": "bench-gpu[0]",
    "samples": 40,
    "detectable": 0.011,
}


def issue(
    name: str, line: int, stage: str = "device_specific", severity: int = 3
) -> dict[str, Any]:
    return {
        "id": name,
        "stage": stage,
        "severity": severity,
        "message": f"{name} costs something here.",
        "kernel": "matmul_kernel",
        "line": line,
        "column": 4,
        "end_line": line,
        "end_column": 20,
    }


def trial(number: int, *, kept: bool, **changes: Any) -> dict[str, Any]:
    return {
        "number": number,
        "stage": "device_specific",
        "proposer": "rewrite:dot_accumulator",
        "rationale": "Accumulate inside tl.dot",
        "issues": ["dot_accumulator"],
        "level": "correct",
        "kept": kept,
        "reason": "same results, and the issue is gone",
        "failed": None,
        "speedup": None,
    } | changes


def step(name: str, status: str, message: str = "") -> dict[str, Any]:
    return {"step": name, "status": status, "message": message, "seconds": 0.4, "data": {}}


def result(**changes: Any) -> dict[str, Any]:
    """A run without a GPU: correct in the interpreter, compiled, speed unknown."""
    return {
        "path": "matmul.py",
        "target": "cuda:90",
        "device": "interpreter",
        "changed": True,
        "final": "...",
        "diff": DIFF,
        "plan": ["dtype_fix", "device_specific"],
        "issues": [issue("dot_accumulator", 9), issue("suboptimal_tile_size", 30)],
        "remaining": [issue("suboptimal_tile_size", 31)],
        "trials": [
            trial(1, kept=True),
            trial(
                2,
                kept=False,
                level="parsed",
                reason="rejected",
                failed={"step": "compile", "message": "out of shared memory: 262144 > 232448"},
            ),
        ],
        "level": "correct",
        "speedup": None,
        "certificate": {
            "level": "correct",
            "original": "a" * 32,
            "candidate": "b" * 32,
            "problem": "c" * 32,
            "target": "cuda:90",
            "device": "interpreter",
            "toolchain": {"triton": "3.9.0", "torch": "2.13.0"},
            "steps": [
                step("syntax", "passed"),
                step("compile", "passed", "48 registers, no spills"),
                step("correctness", "passed", "2 cases agree"),
                step("speed", "skipped", "the interpreter cannot time"),
            ],
            "speedup": None,
            "seeds": [1, 2],
            "created": "2026-01-01T00:00:00Z",
            "tilewright": "0.1.0",
        },
        "notes": ["a note"],
        "seconds": 12.5,
    } | changes
