"""The benchmark that measures rewinds on a GPU, on a device that pretends to be one."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests" / "worker")]


def row(issue: str, effect: str, ratio: float | None, again: str = "") -> dict[str, object]:
    found = {"file": "f", "corpus": "own", "issue": issue, "effect": effect}
    found["speedup"] = {"value": ratio} if ratio is not None else None
    return {**found, "again": {"effect": again}} if again else found


def test_the_table_states_what_is_not_reached() -> None:
    import rewinds_gpu

    rows = [
        row("dtype_float64", "slower", 0.5, "slower"),
        row("dtype_float64", "slower", 0.9, "no measurable effect"),
        row("dtype_float64", "no measurable effect", 1.0),
        row("sigmoid_slow_exp", "refused", None),
        row("control", "no measurable effect", 1.0),
        {"file": "g", "corpus": "own", "effect": "left out"},
    ]
    page = rewinds_gpu.table(rows)
    assert "| `dtype_float64` | 3 | 2 | 1 | 1 | 0 | 0 | 0 | 1.11x to 2.00x |" in page
    assert "1 of 2, 50% (asked for 95%: not reached)" in page
    assert "Timed rewinds without a measurable cost: 1 of 3, 33%." in page
    assert "Controls (a comment added) that were taken for slower: 0 of 1, 0%." in page
    assert "Files left out or broken: g." in page


@pytest.mark.slow
@pytest.mark.triton
def test_a_rehearsal_judges_controls_and_rewinds(tmp_path: Path) -> None:
    import pretended_device
    import rewinds_gpu

    folder = tmp_path / "device"
    folder.mkdir()
    with pretended_device.device(folder) as device:
        assert device.info.target is not None
        limits = rewinds_gpu.Limits(600, 2, 14, small=True)
        rows = rewinds_gpu.run(device, device.info.target, limits, tmp_path, ["reuse_load_branch"])
    assert rows[0]["issue"] == "control"
    assert {"device_host_sync", "device_option_on_wrong_backend"} <= {r.get("issue") for r in rows}
    kept = json.loads((tmp_path / "rewinds.json").read_text())["rows"]
    assert len(kept) == len(rows)
    assert "| `control` | 1 |" in (tmp_path / "rewinds.md").read_text()
