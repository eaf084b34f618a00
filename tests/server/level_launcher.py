"""The launcher of the engine's commands, without a lower priority: the tests wait for them."""

import importlib.util
import sys
from pathlib import Path

LAUNCHER = Path(__file__).parents[2] / "server/tilewright_server/jobs/launcher.py"

if __name__ == "__main__":
    spec = importlib.util.spec_from_file_location("launcher", LAUNCHER)
    assert spec is not None
    assert spec.loader is not None
    launcher = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(launcher)
    launcher._nicer = lambda: 0
    launcher.main(sys.argv[1:])
