"""A sample of published kernels compiles, for captured launches and for inferred ones."""

import json
from pathlib import Path

import pytest

pytest.importorskip("triton")

import compile_sweep
import corpora

pytestmark = [pytest.mark.triton, pytest.mark.slow]

CAPTURED, INFERRED = 3, 2
TARGET = "cuda:90"
SECONDS = "600"  # ends a compiler that hangs: a kernel takes one


def spread(found: list[compile_sweep.Subject], count: int) -> list[compile_sweep.Subject]:
    """So many of the kernels, evenly from first to last."""
    return found[:: -(-len(found) // count)]


@pytest.mark.parametrize("corpus", corpora.CORPORA)
def test_a_sample_compiles(corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_sweep, "RESULTS", tmp_path)
    monkeypatch.setenv("COMPILE_SECONDS", SECONDS)
    every = compile_sweep.subjects(corpus)[0]
    launches = compile_sweep.captured_launches(corpus, every)
    captured = spread([one for one in every if one.place in launches], CAPTURED)
    never = spread([one for one in every if one.place not in launches], INFERRED)
    compile_sweep.sweep(corpus, [*captured, *never], (TARGET,), launches)
    reports = compile_sweep.Results(tmp_path / f"{corpus}-cuda-90.jsonl").found
    signatures = compile_sweep.Results(tmp_path / f"{corpus}-signatures.jsonl").found
    for one in captured:
        report = reports[compile_sweep.compile_key(one, launches[one.place], TARGET)]
        assert compiled(report), (one.place, report)
    assert len(signatures) == len(never)
    inferred = sum(map(compiled, reports.values())) - len(captured)
    assert inferred >= INFERRED - 1, json.dumps([*signatures.values()], indent=1)


def compiled(report: dict[str, object]) -> bool:
    value = report["value"]
    return report["status"] == "ok" and isinstance(value, dict) and value["ok"] is True
