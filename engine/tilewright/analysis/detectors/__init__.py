"""Detectors of the issues in the taxonomy, one file or folder a stage.

A detector is a pure function from a module and its context to findings. It
stays silent where it is not sure: an unknown value never supports a finding.
Every file below this folder is imported, which registers its detectors.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import walk_packages

from tilewright.analysis.detectors.registry import Detector, Scope, is_for, scope_of, table

__all__ = ["Detector", "Scope", "is_for", "registered", "scope_of"]

for _file in walk_packages(__path__, f"{__name__}."):
    import_module(_file.name)


def registered() -> Mapping[str, Detector]:
    """All detectors by issue id."""
    return table()
