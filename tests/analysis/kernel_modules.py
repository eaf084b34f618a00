"""Kernels from a text, as a module that Triton's compiler can read the source of."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def imported(text: str, path: Path) -> ModuleType:
    """A text as a module, after it was written to a file."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
