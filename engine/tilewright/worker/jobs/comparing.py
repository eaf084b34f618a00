"""``compare``: two sets of outputs, judged by their bytes, described as a person would."""

from __future__ import annotations

from typing import Any

from .. import judging, tensors, trees


def perform(job: dict[str, Any]) -> dict[str, Any]:
    """Containers and counts first, then each output; ``base``: the original's own, if it is not
    what is expected."""
    expected, actual = job["expected"], job["actual"]
    message = _structure(job, expected, actual)
    if message is not None:
        return judging.verdict(message)
    own = job.get("base")
    return judging.judge_outputs(
        _loaded(expected), None if own is None else _loaded(own), _loaded(actual),
        rtol=float(job["rtol"]), atol=float(job["atol"]), scaled=bool(job.get("scaled")),
    )  # fmt: skip


def _loaded(manifest: list[dict[str, Any]]) -> dict[str, Any]:
    """Values by place: two of them may have the same name."""
    return {f"output {at}": tensors.load_entry(entry) for at, entry in enumerate(manifest)}


def _structure(job: dict[str, Any], expected: Any, actual: Any) -> str | None:
    wanted, got = job.get("expected_tree"), job.get("actual_tree")
    if wanted is not None and got is not None and wanted != got:
        return trees.difference(wanted, got)
    if len(expected) != len(actual):
        return f"expected {len(expected)} outputs, got {len(actual)}"
    return None
