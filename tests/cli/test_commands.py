"""The command line as a person or a script meets it: answers, formats, exit codes, errors."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import run

from tilewright.knowledge.base import taxonomy

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
HALF_TYPED = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x_ptr, n\n"


def run_json(*arguments: str, code: int = 0) -> Any:
    ended = run(*arguments, "--format", "json")
    assert ended.returncode == code, ended.stderr
    return json.loads(ended.stdout)


def test_check_lists_kernels_and_issues_with_their_places() -> None:
    (file,) = run_json("check", "examples/matmul.py", code=1)["files"]
    assert file["path"] == "examples/matmul.py"
    assert file["kernels"] == ["matmul_kernel"]
    assert [entry["kernel"] for entry in file["entries"]] == ["matmul_kernel"]
    lines = (EXAMPLES / "matmul.py").read_text().splitlines()
    issue = next(i for i in file["issues"] if i["id"] == "dtype_precision")
    assert set(issue) == {
        "id", "stage", "severity", "level", "message", "kernel",
        "line", "column", "end_line", "end_column", "gain", "gain_source", "unless", "related",
    }  # fmt: skip
    assert lines[issue["line"] - 1][issue["column"] :].startswith("tl.dot(a.to(tl.float32)")


def test_check_of_a_folder_finds_every_file_and_text_names_places() -> None:
    ended = run("check", "examples")
    assert ended.returncode == 1
    assert "examples/softmax.py:31:13: hint: multi_pass_row" in ended.stdout
    assert "examples/nki/nki1/softmax_slow.py:" in ended.stdout
    assert "in 49 kernels in 53 files" in ended.stdout


def test_check_of_a_clean_file_exits_with_0(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("x = 1\n")
    assert run_json("check", str(tmp_path))["files"][0]["issues"] == []


def test_a_file_of_a_folder_that_nobody_can_read_is_named_and_the_others_are_checked(
    tmp_path: Path,
) -> None:
    shutil.copy(EXAMPLES / "softmax.py", tmp_path / "softmax.py")
    latin = tmp_path / "latin.py"
    latin.write_bytes(b"# caf\xe9\n")
    told = run_json("check", str(tmp_path), code=1)
    assert [Path(file["path"]).name for file in told["files"]] == ["softmax.py"]
    (fault,) = told["faults"]
    assert (fault["path"], fault["line"]) == (str(latin), 1)
    assert fault["message"].startswith("not UTF-8 text (byte 5); save it as UTF-8, or declare")
    ended = run("check", str(tmp_path))
    assert "multi_pass_row" in ended.stdout
    assert f"{latin}:1: {fault['message']}" in ended.stderr
    alone = run("check", str(latin))
    assert (alone.returncode, alone.stdout) == (2, "")


@pytest.mark.parametrize("text", ["this is surely not triton", HALF_TYPED, "triton\x00", ""])
def test_check_survives_text_that_is_not_python(tmp_path: Path, text: str) -> None:
    (tmp_path / "broken.py").write_text(text)
    ended = run("check", str(tmp_path), "--format", "json")
    assert ended.returncode in (0, 1), ended.stderr
    (file,) = json.loads(ended.stdout)["files"]
    assert bool(file["problems"]) == bool(text)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("check", "nowhere.py"), "nowhere.py: no such file"),
        (("check", "examples/matmul.py", "--target", "cuda:91"), "cuda:90"),
        (("explain", "dot_acumulator"), "dot_accumulator"),
        (("optimize", "examples", "--target", "cuda:90"), "is a folder"),
        (("compile", "examples/matmul.py::nope", "--target", "cuda:90"), "matmul_kernel"),
        (("optimize", "examples/matmul.py", "--stdin", "--write"), "exclude each other"),
        (("check", "examples", "--nonsense"), "--nonsense"),
    ],
)
def test_bad_usage_exits_with_2_and_names_the_way_out(
    arguments: tuple[str, ...], told: str
) -> None:
    ended = run(*arguments)
    assert ended.returncode == 2, ended.stdout
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_broken_spec_is_named_with_its_line(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "softmax.py", tmp_path / "softmax.py")
    spec = (EXAMPLES / "softmax.yaml").read_text()
    (tmp_path / "softmax.yaml").write_text(spec.replace("flop:", "flop: import os #", 1))
    ended = run("verify", str(tmp_path / "softmax.py"), str(tmp_path / "softmax.py"))
    assert ended.returncode == 2
    assert "softmax.yaml:" in ended.stderr


def test_explain_and_targets_answer_without_a_device() -> None:
    assert "tl.dot" in run("explain", "dot_accumulator").stdout
    targets = {target["id"] for target in run_json("targets")["targets"]}
    assert {"cuda:90", "hip:gfx942", "xpu:bmg-g31"} <= targets


@pytest.mark.triton
def test_devices_lists_the_interpreter_which_times_nothing() -> None:
    first = run_json("devices")["devices"][0]
    assert (first["id"], first["can_time"]) == ("interpreter", False)


@pytest.mark.triton
@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
def test_compile_reports_registers_spills_and_shared_memory(target: str) -> None:
    (report,) = run_json("compile", "examples/matmul.py", "--target", target)["reports"]
    assert report["ok"]
    assert report["kernel"] == "matmul_kernel"
    assert 16 <= report["registers"] <= 255
    assert report["spill_bytes"] == 0
    assert 0 < report["shared_bytes"] <= report["shared_limit"]
    assert "triton" in report["toolchain"]


@pytest.mark.triton
def test_verify_accepts_an_equal_kernel_and_says_what_was_not_measured(tmp_path: Path) -> None:
    original = EXAMPLES / "softmax.py"
    candidate = tmp_path / "candidate.py"
    candidate.write_text(original.read_text().replace("BLOCK=1024", "BLOCK=512"))
    value = run_json("verify", str(original), str(candidate), "--target", "cuda:90")
    assert (value["accepted"], value["level"], value["failed"]) == (True, "correct", None)
    assert value["speedup"] is None
    steps = {s["step"]: s for s in value["certificate"]["steps"]}
    assert steps["speed"]["status"] == "skipped"
    assert "not measured" in steps["speed"]["message"]
    assert steps["compile"]["status"] == "passed"


@pytest.mark.triton
def test_verify_says_what_of_the_spec_it_could_not_use(tmp_path: Path) -> None:
    original = tmp_path / "softmax.py"
    original.write_text(
        (EXAMPLES / "softmax.py").read_text()
        + "\n\ndef raises(x):\n    raise ValueError(x.shape)\n"
    )
    (tmp_path / "softmax.yaml").write_text(
        "entry: softmax\nreference: raises\ninputs:\n  X: {shape: [R, C], dtype: float32}\n"
        "ci:\n  - {params: [X], dims: {R: 3, C: 33}, rtoll: 0.5}\n"
    )
    candidate = tmp_path / "candidate.py"
    candidate.write_text(original.read_text().replace("BLOCK=1024", "BLOCK=512"))
    ended = run("verify", str(original), str(candidate))
    assert ended.returncode == 0, ended.stdout
    notes = [line for line in ended.stdout.splitlines() if line.startswith("note: ")]
    assert len(notes) == 1
    assert "softmax.yaml:6: unknown key 'rtoll' in a variant of 'ci' is ignored" in notes[0]
    assert "not verified: Results were compared with the original's alone" in ended.stdout
    assert "not verified: Reference raises: ValueError: torch.Size([3, 33])" in ended.stdout


@pytest.mark.triton
def test_verify_says_what_is_wrong_with_a_wrong_kernel(tmp_path: Path) -> None:
    original = EXAMPLES / "softmax.py"
    candidate = tmp_path / "candidate.py"
    text = original.read_text()
    candidate.write_text(text.replace("tl.exp(x - row_max) / row_sum", "tl.exp(x - row_max)"))
    value = run_json("verify", str(original), str(candidate), code=1)
    assert (value["accepted"], value["level"]) == (False, "rejected")
    assert value["failed"]["step"] == "correctness"
    assert "differ" in value["failed"]["message"]


@pytest.mark.triton
def test_requiring_more_than_can_be_had_here_is_refused_not_guessed(tmp_path: Path) -> None:
    original = str(EXAMPLES / "softmax.py")
    candidate = tmp_path / "candidate.py"
    candidate.write_text(Path(original).read_text().replace("BLOCK=1024", "BLOCK=2048"))
    value = run_json("verify", original, str(candidate), "--require", "faster", code=1)
    assert not value["accepted"]
    assert value["failed"]["step"] == "speed"


@pytest.mark.triton
def test_optimize_writes_the_verified_result_into_the_file(tmp_path: Path) -> None:
    for name in ("softmax.py", "softmax.yaml", "references.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    file = tmp_path / "softmax.py"
    before = file.read_text()
    value = run_json("optimize", str(file), "--target", "cuda:90", "--write")
    assert value["changed"]
    assert (value["level"], value["speedup"]) == ("correct", None)
    assert file.read_text() == value["final"] != before
    kept = [t for t in value["trials"] if t["kept"]]
    assert all(t["level"] == "correct" for t in kept)
    edits = value["certificate_file"]["edits"]
    assert [e["proposer"] for e in edits] == [t["proposer"] for t in kept]
    assert edits[0]["rationale"]
    again = run_json("check", str(file), code=0 if not value["remaining"] else 1)
    assert "multi_pass_row" not in {i["id"] for i in again["files"][0]["issues"]}


@pytest.mark.triton
def test_events_tell_the_run_as_it_goes_on_a_buffer_that_was_not_saved() -> None:
    text = (EXAMPLES / "softmax.py").read_text() + "\n# not saved\n"
    ended = run(
        "optimize", "examples/softmax.py", "--stdin", "--target", "cuda:90",
        "--format", "events", stdin=text,
    )  # fmt: skip
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    kinds = [event["event"] for event in events]
    before = kinds[: kinds.index("started")]  # what is done until the run has an id
    assert set(before) <= {"progress"}
    assert kinds[-1] == "result"
    assert {"progress", "trial"} <= set(kinds)
    assert events[-1]["result"]["final"].endswith("# not saved\n")
    percents = [e["percent"] for e in events if e["event"] == "progress"]
    assert percents == sorted(percents)


@pytest.mark.triton
def test_a_kernel_without_a_problem_is_parsed_and_nothing_more_is_claimed(tmp_path: Path) -> None:
    file = tmp_path / "alone.py"
    file.write_text((EXAMPLES / "matmul.py").read_text())
    value = run_json("optimize", str(file), "--target", "cuda:90")
    assert not value["changed"]
    assert value["trials"]
    assert {t["level"] for t in value["trials"]} == {"parsed"}
    assert any("put a spec next to the kernel (alone.yaml)" in note for note in value["notes"])


@pytest.mark.triton
def test_profile_says_what_is_known_and_what_is_not() -> None:
    value = run_json("profile", "examples/softmax.py", "--target", "cuda:90")
    (kernel,) = value["kernels"]
    assert kernel["name"] == "softmax_kernel"
    assert kernel["report"]["registers"] > 0
    assert kernel["correct"] is True
    assert kernel["time"] is None
    assert any("time not measured" in note for note in kernel["notes"])


@pytest.mark.triton
def test_a_profile_of_an_nki_kernel_without_a_spec_says_how_to_give_one(tmp_path: Path) -> None:
    file = Path(shutil.copy(EXAMPLES / "nki" / "nki1" / "softmax_slow.py", tmp_path))
    value = run_json("profile", str(file), "--target", "trn2")
    assert value["kernels"][0]["correct"] is None
    assert any("pass --problem" in note for note in value["notes"])


@pytest.mark.triton
def test_what_an_accepted_kernel_was_not_verified_for_is_printed_though_it_is_not_faster() -> None:
    nki = EXAMPLES / "nki"
    kernels = (str(nki / "nki1" / f"softmax{kind}.py") for kind in ("", "_slow"))
    ended = run("verify", *kernels, "--problem", str(nki / "softmax.yaml"), "--target", "trn2")
    assert "estimated slower" in ended.stdout
    assert "accepted: correct" in ended.stdout
    assert "not verified: Correctness was checked in Tilewright's NKI simulator" in ended.stdout


@pytest.mark.triton
def test_a_file_with_kernels_of_both_languages_is_refused_with_the_way_out(tmp_path: Path) -> None:
    file = tmp_path / "mixed.py"
    parts = (EXAMPLES / "softmax.py", EXAMPLES / "nki" / "nki1" / "softmax.py")
    file.write_text("\n".join(one.read_text() for one in parts))
    ended = run("verify", str(file), "--target", "cuda:90")
    assert ended.returncode == 2
    assert "has NKI kernels" in ended.stderr
    assert "a file of their own" in " ".join(ended.stderr.split())


@pytest.mark.triton
def test_a_file_that_does_not_parse_or_launches_nothing_is_said_to(tmp_path: Path) -> None:
    broken, idle = tmp_path / "broken.py", tmp_path / "idle.py"
    broken.write_text(HALF_TYPED)
    ended = run("optimize", str(broken), "--target", "cuda:90")
    assert ended.returncode == 2
    assert "broken.py: it cannot be parsed: line 5" in ended.stderr
    idle.write_text("import triton\n\n\n@triton.jit\ndef k(x_ptr):\n    pass\n")
    value = run_json("optimize", str(idle), "--target", "cuda:90")
    assert any("launches no kernel" in note for note in value["notes"])


@pytest.mark.triton
def test_a_kernel_that_fails_is_tried_afresh_once_its_surroundings_are_mended(
    tmp_path: Path,
) -> None:
    for name in ("softmax.py", "softmax.yaml", "references.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    file, helper = tmp_path / "softmax.py", tmp_path / "helper.py"
    file.write_text(file.read_text().replace("import torch\n", "import helper\nimport torch\n", 1))
    command = ("optimize", str(file), "--target", "cuda:90")
    broken = run(*command)
    assert broken.returncode == 2
    assert "helper" in broken.stderr
    helper.write_text("")
    assert run_json(*command)["changed"]


def test_explain_without_an_id_lists_every_issue() -> None:
    listed = run_json("explain")["issues"]
    assert {i["id"] for i in listed} == set(taxonomy())
    text = run("explain").stdout
    assert all(i["id"] in text for i in listed)
    assert text.index("correctness\n") < text.index("autotuning\n")


def test_check_listens_to_the_project_and_to_the_command_line(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "matmul.py", tmp_path / "matmul.py")
    (tmp_path / "pyproject.toml").write_text('[tool.tilewright]\nselect = ["no_swizzling"]\n')
    file = str(tmp_path / "matmul.py")

    def ids(*options: str) -> set[str]:
        (found,) = run_json("check", file, *options, code=1)["files"]
        return {i["id"] for i in found["issues"]}

    assert ids() == {"no_swizzling"}
    assert ids("--select", "missing_autotune,dtype_fix") == {"missing_autotune", "dtype_precision"}
    rest = ids("--isolated", "--ignore", "device_specific")
    assert "missing_autotune" in rest
    assert "no_swizzling" not in rest
    wrong = run("check", file, "--select", "no_swizling")
    assert wrong.returncode == 2
    assert "did you mean no_swizzling?" in wrong.stderr
    (tmp_path / "pyproject.toml").write_text('[tool.tilewright]\nselct = ["no_swizzling"]\n')
    wrong = run("check", file)
    assert wrong.returncode == 2
    assert "pyproject.toml:2: tool.tilewright.selct is no setting" in wrong.stderr


def test_check_judges_by_the_version_that_is_named_else_the_installed_one(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x, n):\n"
        "    p = tl.make_block_ptr(x, (n,), (1,), (0,), (64,), (0,))\n"
        "    tl.store(p, tl.load(p))\n"
    )
    file = str(tmp_path / "k.py")
    assert "removed_api" not in run("check", file, "--triton", "3.6").stdout
    assert "removed_api" in run("check", file, "--triton", "3.9").stdout
    (tmp_path / "pyproject.toml").write_text('[tool.tilewright]\ntriton = "3.6"\n')
    assert "removed_api" not in run("check", file).stdout
    assert "removed_api" in run("check", file, "--triton", "3.9").stdout
    wrong = run("check", file, "--triton", "new")
    assert wrong.returncode == 2
    assert "'new' is no version of Triton; write it like 3.9" in wrong.stderr
