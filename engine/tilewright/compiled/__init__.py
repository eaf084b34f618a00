"""What compilers' reports say is slow or wrong in a kernel: reports in, issues out."""

from tilewright.compiled.issues import compiled_issues
from tilewright.compiled.model import Probe

__all__ = ["Probe", "compiled_issues"]
