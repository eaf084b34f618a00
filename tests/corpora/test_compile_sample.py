"""A sample of published kernels compiles with launches that are inferred from their files."""

from pathlib import Path

import pytest

pytest.importorskip("triton")

import compile_sweep
import corpora

pytestmark = [pytest.mark.triton, pytest.mark.slow]

EVERY = {"liger_kernel": 12, "flag_gems": 130}
HOLD = 0.75


@pytest.mark.parametrize("corpus", corpora.CORPORA)
def test_most_kernels_of_a_sample_compile(
    corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_sweep, "RESULTS", tmp_path)
    monkeypatch.setenv("COMPILE_SECONDS", "30")
    sample = compile_sweep.subjects(corpus)[0][:: EVERY[corpus]]
    compile_sweep.sweep(corpus, sample, ("cuda:90",), {})
    signatures = compile_sweep.Results(tmp_path / f"{corpus}-signatures.jsonl").found.values()
    reports = compile_sweep.Results(tmp_path / f"{corpus}-cuda-90.jsonl").found.values()
    assert len(signatures) == len(sample)
    compiled = [one for one in reports if one["status"] == "ok" and one["value"]["ok"]]
    assert len(compiled) >= HOLD * len(sample), [one["value"] for one in signatures]
