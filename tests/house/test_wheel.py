"""The wheel, in an empty environment, away from the checkout: what a person without torch gets."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BASE_LIMIT_MB = 150

pytestmark = pytest.mark.slow


def _run(
    argv: Sequence[str | Path], cwd: Path, **kwargs: object
) -> subprocess.CompletedProcess[str]:
    hidden = {"PYTHONPATH", "TILEWRIGHT_KNOWLEDGE", "VIRTUAL_ENV"}
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        [str(a) for a in argv],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
        **kwargs,  # type: ignore[call-overload]
    )


def _must(argv: Sequence[str | Path], cwd: Path) -> str:
    run = _run(argv, cwd)
    assert run.returncode == 0, f"{argv}: {run.stdout[-1000:]}{run.stderr[-2000:]}"
    return run.stdout


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel and its dependencies; no extras."""
    folder = tmp_path_factory.mktemp("base")
    _must([sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", ROOT], folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    _must([sys.executable, "-m", "venv", folder / "env"], folder)
    pip = [folder / "env/bin/python", "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt"]
    _must([*pip, wheel], folder)
    shutil.copytree(ROOT / "examples", folder / "elsewhere")
    return folder


def _tilewright(base: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return _run([base / "env/bin/tilewright", *args], base / "elsewhere")


def test_size_without_torch(base: Path) -> None:
    held = sum(
        p.stat().st_size for p in (base / "env").rglob("*") if p.is_file() and not p.is_symlink()
    )
    assert held < BASE_LIMIT_MB * 1e6, f"{held / 1e6:.0f} MB"
    assert not list((base / "env").rglob("site-packages/torch"))


def test_packages_keep_their_names_to_themselves(base: Path) -> None:
    """Nothing called "server", "engine" or "knowledge" lands in site-packages."""
    (site,) = (base / "env/lib").glob("python*/site-packages")
    ours = {p.name for p in site.iterdir() if "tilewright" in p.name and p.suffix != ".dist-info"}
    assert ours == {"tilewright", "tilewright_server"}
    assert not [
        name for name in ("server", "engine", "knowledge", "tests") if (site / name).exists()
    ]


def test_check_finds_knowledge_and_issues(base: Path) -> None:
    run = _tilewright(base, "check", "matmul.py", "--format", "json")
    assert run.returncode == 1, run.stderr[-2000:]  # 1: there are findings
    (file,) = json.loads(run.stdout)["files"]
    assert file["path"].endswith("matmul.py")
    found = {issue["id"] for issue in file["issues"]}
    assert "dtype_precision" in found
    assert all(1 <= issue["severity"] <= 5 for issue in file["issues"])


def test_explain(base: Path) -> None:
    run = _tilewright(base, "explain", "dot_accumulator")
    assert run.returncode == 0, run.stderr[-2000:]
    assert "tl.dot" in run.stdout


def test_explain_of_something_unknown_is_an_input_error(base: Path) -> None:
    run = _tilewright(base, "explain", "dot_acumulator")
    assert run.returncode == 2
    assert "dot_accumulator" in run.stderr + run.stdout
    assert "Traceback" not in run.stderr


def test_optimize_without_torch_says_what_to_install(base: Path) -> None:
    run = _tilewright(base, "optimize", "matmul.py", "--target", "cuda:90", "--format", "json")
    said = run.stdout + run.stderr
    assert "Traceback" not in said, said[-2000:]
    assert "torch" in said


def test_lsp_answers_initialize(base: Path) -> None:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"processId": None, "rootUri": None, "capabilities": {}},
    }
    body = json.dumps(message)
    server = subprocess.Popen(
        [base / "env/bin/tilewright", "lsp"],
        cwd=base,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        # An exit after the answer is fine here: standard input ends with the message.
        said, logged = server.communicate(f"Content-Length: {len(body)}\r\n\r\n{body}", 60)
    finally:
        server.kill()
        server.wait()
    assert '"id": 1' in said or '"id":1' in said, logged[-2000:]
    answer = json.JSONDecoder().raw_decode(said[said.index("{") :])[0]
    assert "textDocumentSync" in answer["result"]["capabilities"]
