"""What a marked test needs, and the plain reason when this machine lacks it."""

import importlib.util
import os
import shutil

import pytest


def _lacks_triton() -> str | None:
    missing = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
    return f"needs {' and '.join(missing)}: make setup" if missing else None


def _lacks_gpu() -> str | None:
    return None if shutil.which("nvidia-smi") else "needs an NVIDIA GPU"


def _lacks_editor() -> str | None:
    return None if shutil.which("npm") else "needs Node.js and npm"


# A service outlives whoever starts it; tests of it turn it on.
os.environ.setdefault("TILEWRIGHT_SERVICE", "0")

NEEDS = {
    "triton": _lacks_triton,
    "gpu": _lacks_gpu,
    "editor": _lacks_editor,
    "browser": _lacks_editor,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run here, saying what is missing."""
    reasons = {marker: lacks() for marker, lacks in NEEDS.items()}
    for item in items:
        for marker, reason in reasons.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))
