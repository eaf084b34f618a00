"""``tilewright check --captured``: what detectors learn from captured launches, and when not."""

from pathlib import Path

import pytest
from command_line import Ended, run

from tilewright.captures.folder import load_captures, text_hash, write_kernels
from tilewright.captures.model import VERSION, CapturedKernel, CapturedLaunch, CaptureError
from tilewright.captures.problem import problem_of_captured
from tilewright.targets.model import ArgumentFacts, LaunchFacts

COPY = """\
@triton.jit
def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at))
"""
HEAD = "import triton\nimport triton.language as tl\n\n\n"


def tensor(name: str, elements: int) -> ArgumentFacts:
    return ArgumentFacts(name, "tensor", "*fp32", None, (elements,), (1,), True)


def launched(file: Path, *, failure: str | None = None) -> CapturedKernel:
    """``copy`` of 100 elements with two blocks of 64: it reads beyond the end."""
    block = ArgumentFacts("BLOCK", "constexpr", "constexpr", 64)
    facts = LaunchFacts("copy", (2,), (tensor("x_ptr", 100), tensor("out_ptr", 128), block))
    launch = CapturedLaunch(facts, 1, failure=failure)
    return CapturedKernel(
        VERSION, "copy", "copy", str(file.resolve()), 5, text_hash(COPY), (launch,)
    )


def check(folder: Path, file: Path, *options: str) -> Ended:
    return run("check", str(file), "--isolated", "--captured", str(folder), *options)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + COPY)
    return path


def test_a_detector_knows_the_launch(tmp_path: Path, file: Path) -> None:
    assert check(tmp_path / "none", file).returncode == 2
    write_kernels(tmp_path / "launches", [launched(file)])
    ended = check(tmp_path / "launches", file)
    assert ended.returncode == 1
    assert "missing_boundary_check" in ended.stdout
    assert "offset 127 of x_ptr, whose last element is at 99" in ended.stdout


def test_a_launch_that_failed_tells_nothing(tmp_path: Path, file: Path) -> None:
    write_kernels(tmp_path / "launches", [launched(file, failure="TypeError: n")])
    assert check(tmp_path / "launches", file).returncode == 0


def test_a_kernel_whose_launches_all_failed_gives_no_problem_and_says_why(
    tmp_path: Path, file: Path
) -> None:
    write_kernels(tmp_path / "launches", [launched(file, failure="TypeError: n")])
    made = problem_of_captured(file, file.read_text(), tmp_path / "launches")
    assert made.problem is None
    assert made.notes == (
        "every captured launch of copy had failed when it was recorded: TypeError: n",
    )


def test_an_edited_kernel_is_told_and_its_launches_are_not_used(tmp_path: Path, file: Path) -> None:
    write_kernels(tmp_path / "launches", [launched(file)])
    file.write_text(file.read_text().replace("tl.load(x_ptr + at)", "tl.load(x_ptr + at + 0)"))
    ended = check(tmp_path / "launches", file)
    assert ended.returncode == 0, ended.stdout
    assert "launches of copy are stale" in ended.stderr


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "# said above\n" + COPY.replace("    at =", "\n    # where\n    at ="),
        HEAD + "def other():\n    return 1\n\n\n" + COPY,
        (HEAD + COPY).replace("\n", "\r\n"),
    ],
)
def test_comments_and_other_code_make_nothing_stale(tmp_path: Path, file: Path, text: str) -> None:
    write_kernels(tmp_path / "launches", [launched(file)])
    file.write_text(text, newline="")
    ended = check(tmp_path / "launches", file)
    assert "missing_boundary_check" in ended.stdout
    assert not ended.stderr


def test_a_moved_file_is_known_by_its_kernels(tmp_path: Path, file: Path) -> None:
    write_kernels(tmp_path / "launches", [launched(file)])
    moved = file.rename(tmp_path / "elsewhere.py")
    assert "missing_boundary_check" in check(tmp_path / "launches", moved).stdout
    file.write_text("")
    assert check(tmp_path / "launches", moved).returncode == 0


def test_a_folder_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="tilewright capture"):
        load_captures(tmp_path / "none")
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(CaptureError, match="is no file of captured launches"):
        load_captures(tmp_path)
    (tmp_path / "a.json").write_text('{"version": 99}')
    with pytest.raises(CaptureError, match=r"version 99.*capture again"):
        load_captures(tmp_path)
