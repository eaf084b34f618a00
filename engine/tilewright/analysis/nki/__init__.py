"""What an NKI kernel's text says of its tensors, tiles, index sets, loops and instructions.

An abstract interpretation of the body, once, without running it: ``nki_flow(module, kernel)``.
What cannot be told stays a symbol or is None, and supports no finding.
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
