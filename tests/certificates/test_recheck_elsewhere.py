"""A recheck where the chip, the original or the problem is not: what lacks is said."""

from dataclasses import replace
from pathlib import Path

import pytest
from certified_samples import ORIGINAL, certificate, put
from command_line import run

from tilewright.certificates.files import write_certificate
from tilewright.certificates.model import DeviceFacts, Original, ProblemFacts
from tilewright.problems.loading import load_problem

pytestmark = pytest.mark.triton

NAME = "kernels.tilewright.json"
SPEC = """\
entry: double
inputs: {X: {shape: [N], dtype: float32}}
default_variant: ci
ci: [{params: [X], dims: {N: 300}}]
"""
NOBODYS = DeviceFacts("xpu:0", "Some GPU", "xpu:none", can_time=True)


def recheck(folder: Path, *arguments: str) -> tuple[int, str]:
    ended = run("verify", "--recheck", NAME, *arguments, cwd=folder)
    return ended.returncode, ended.stdout or ended.stderr


def test_a_chip_that_is_not_here_cannot_repeat_it(tmp_path: Path) -> None:
    source = put(tmp_path)
    spec = tmp_path / "kernels.yaml"
    spec.write_text(SPEC)
    problem = ProblemFacts("kernels.yaml", "spec", load_problem(spec, source).content_hash)
    full = certificate(device=NOBODYS, problem=problem)
    write_certificate(tmp_path / NAME, full)
    code, said = recheck(tmp_path)
    assert code == 4
    assert said.startswith("cannot be repeated here: needs xpu:none (it was verified on Some GPU)")

    lean = replace(full, original=Original(full.original.hash, None, "0" * 40))
    write_certificate(tmp_path / NAME, lean)
    code, said = recheck(tmp_path)
    assert (code, "--original" in said) == (4, True)

    (tmp_path / "before.py").write_text(ORIGINAL + "# not it\n")
    code, said = recheck(tmp_path, "--original", "before.py")
    assert (code, "is not the text that the candidate was compared with" in said) == (2, True)

    spec.write_text(SPEC.replace("300", "301"))
    write_certificate(tmp_path / NAME, full)
    code, said = recheck(tmp_path)
    assert code == 3
    assert "kernels.yaml changed since" in said


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    write_certificate(tmp_path / NAME, certificate())
    code, said = recheck(tmp_path)
    assert (code, "kernels.py: no such file" in said) == (2, True)
