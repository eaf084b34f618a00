"""Certificates from the command line: made, repeated, renewed, insisted on."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import run

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NAME = "softmax.tilewright.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a softmax that was verified against the example, and its certificate."""
    folder = tmp_path_factory.mktemp("certified")
    for name in ("softmax.py", "softmax.yaml", "references.py", "matmul.py"):
        shutil.copy(EXAMPLES / name, folder / name)
    original = shutil.copy(EXAMPLES / "softmax.py", tmp_path_factory.mktemp("before"))
    file = folder / "softmax.py"
    file.write_text(file.read_text().replace("BLOCK=1024", "BLOCK=2048"))
    spec = ("--problem", "softmax.yaml", "--device", "interpreter", "--target", "cuda:90")
    ended = run("verify", str(original), "softmax.py", *spec, "--certify", cwd=folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "certificate: softmax.tilewright.json" in ended.stdout
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


def edit(folder: Path, old: str, new: str) -> None:
    path = folder / "softmax.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.triton
def test_a_certificate_says_what_was_done_and_what_was_not(made: Path) -> None:
    text = (made / NAME).read_text()
    assert len(text) < 8 * 1024
    data = json.loads(text)
    assert (data["version"], data["level"], data["target"]) == (1, "correct", "cuda:90")
    assert data["subject"]["file"] == "softmax.py"
    assert [part["name"] for part in data["subject"]["parts"]] == ["softmax_kernel", "softmax"]
    assert data["problem"]["path"] == "softmax.yaml"
    assert all(check["count"] and check["oracle"] for check in data["checks"])
    assert {step["step"]: step["status"] for step in data["steps"]}["compile"] == "passed"
    assert any("not on the chip" in text for text in data["unverified"])
    assert any("Speed was not measured" in text for text in data["unverified"])
    assert "speed" not in data


def errors_of(certificate: dict[str, Any]) -> dict[str, float]:
    """The largest error of each of the spec's own cases; other extents are drawn each time."""
    checks = certificate["checks"]
    return {c["case"]: c["max_abs_error"] for c in checks if "ragged" not in c["case"]}


@pytest.mark.triton
def test_recheck_repeats_it_also_after_an_edit_elsewhere(folder: Path) -> None:
    edit(folder, '"""', '"""More to say. ')
    ended = run("verify", "--recheck", NAME, "--format", "json", cwd=folder)
    value = json.loads(ended.stdout)
    assert (ended.returncode, value["outcome"]) == (0, "holds"), value
    assert "the file changed since, in nothing that the certificate is of" in value["notes"]
    before = json.loads((folder / NAME).read_text())
    assert errors_of(value["certificate"]) == errors_of(before), "the same inputs, the same errors"


@pytest.mark.slow
@pytest.mark.triton
def test_renew_verifies_the_changed_text_against_the_same_original(folder: Path) -> None:
    edit(folder, "tl.exp(x - row_max) / row_sum", "tl.exp(x - row_max) * (1.0 / row_sum)")
    assert run("certificates", "softmax.py", cwd=folder).returncode == 1
    ended = run("verify", "--renew", NAME, cwd=folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.startswith("verified anew: correct")
    assert run("certificates", "softmax.py", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("row_sum\n", "row_sum + 0\n", 3, "stale: softmax.py: softmax_kernel changed (line "),
        ("BLOCK=2048", "BLOCK=64", 3, "stale: softmax.py: softmax changed (line 46)"),
    ],
)
@pytest.mark.triton
def test_recheck_of_a_changed_kernel_is_stale(
    folder: Path, old: str, new: str, code: int, said: str
) -> None:
    edit(folder, old, new)
    ended = run("verify", "--recheck", NAME, cwd=folder)
    assert (ended.returncode, ended.stdout[: len(said)]) == (code, said)


@pytest.mark.triton
def test_recheck_without_what_it_needs_says_so(folder: Path) -> None:
    (folder / "softmax.yaml").unlink()
    ended = run("verify", "--recheck", NAME, cwd=folder)
    assert ended.returncode == 4
    assert "softmax.yaml is not here" in ended.stdout
    certificate = json.loads((folder / NAME).read_text())
    (folder / NAME).write_text(json.dumps(certificate | {"level": "faster"}))
    ended = run("verify", "--recheck", NAME, cwd=folder)
    assert ended.returncode == 1
    assert "was changed after it was made" in ended.stdout


@pytest.mark.triton
def test_certificates_lists_what_holds_is_stale_and_lacks(folder: Path) -> None:
    ended = run("certificates", ".", cwd=folder)
    assert ended.returncode == 1
    first, second, last = ended.stdout.splitlines()
    assert re.fullmatch(r"matmul.py:\d+: matmul_kernel: no certificate", first)
    assert second.startswith("softmax.py:9: softmax_kernel: correct on Triton interpreter on CPU")
    assert last == "1 certified, 0 stale, 1 without a certificate"
    assert run("certificates", "softmax.py", cwd=folder).returncode == 0
    low = run("certificates", "softmax.py", "--level", "faster", "--format", "github", cwd=folder)
    assert low.returncode == 1
    assert low.stdout.startswith("::error file=softmax.py,line=9,")
    assert "is certified correct, and faster is required" in low.stdout
    (folder / "softmax.yaml").write_text((folder / "softmax.yaml").read_text() + "\n# more\n")
    stale = run("certificates", "softmax.py", "--format", "sarif", cwd=folder)
    (result,) = json.loads(stale.stdout)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("stale_certificate", "error")
    assert "softmax.yaml changed" in result["message"]["text"]


@pytest.mark.triton
def test_check_remarks_on_a_stale_one_and_does_not_fail_for_it(folder: Path) -> None:
    edit(folder, "BLOCK=2048", "BLOCK=512")
    select = ("--select", "correctness", "--format", "json")
    ended = run("check", "softmax.py", *select, cwd=folder)
    (file,) = json.loads(ended.stdout)["files"]
    assert (ended.returncode, file["issues"]) == (0, [])
    (remark,) = file["remarks"]
    assert (remark["id"], remark["kernel"]) == ("stale_certificate", "softmax_kernel")


@pytest.mark.triton
def test_only_changed_files_are_asked_for_with_since(folder: Path) -> None:
    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "all")
    assert run("certificates", ".", "--since", "HEAD", cwd=folder).returncode == 0
    path = folder / "matmul.py"
    path.write_text(path.read_text() + "\n")
    ended = run("certificates", ".", "--since", "HEAD", cwd=folder)
    assert (ended.returncode, len(ended.stdout.splitlines())) == (1, 2)
    assert run("certificates", ".", "--since", "nowhere", cwd=folder).returncode == 2


def test_usage_errors_are_told(tmp_path: Path) -> None:
    assert run("verify", cwd=tmp_path).returncode == 2
    missing = run("verify", "--recheck", "none.json", cwd=tmp_path)
    assert missing.returncode == 2
    assert "none.json: no such file" in missing.stderr
