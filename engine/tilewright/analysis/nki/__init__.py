"""What an NKI kernel's text says of its tensors, tiles, index sets, loops and instructions.

Two passes over the body, neither of which runs it. ``nki_flow(module, kernel)`` follows the values
of a turn of each loop: shapes, parts of tensors, instructions; a branch that is never taken is left
out. ``scopes_of(module, kernel)`` says what a name stands for in any branch and where its tile
lives, whatever its value. What cannot be told stays a symbol or is None, and supports no finding.
"""

from tilewright.analysis.nki.affine import Affine, Symbol, SymbolKind
from tilewright.analysis.nki.flow import nki_flow
from tilewright.analysis.nki.model import (
    Flow,
    Index,
    Loop,
    LoopKind,
    Mask,
    Memory,
    Operation,
    Storage,
    View,
)

__all__ = [
    "Affine",
    "Flow",
    "Index",
    "Loop",
    "LoopKind",
    "Mask",
    "Memory",
    "Operation",
    "Storage",
    "Symbol",
    "SymbolKind",
    "View",
    "nki_flow",
]
