"""What an NKI kernel's text says of its tensors, tiles, index sets, loops and instructions.

``nki_flow(module, kernel)`` interprets the body once, without running it, for both packages
(``neuronxcc.nki`` and ``nki``), and returns a ``Flow``: instructions with the parts of tensors they
read and write, loops, masks, and what each name and expression stands for in its region. What
does not follow from the text stays a symbol or is None, and supports no finding.
"""

from tilewright.analysis.nki.affine import Affine, Symbol, SymbolKind
from tilewright.analysis.nki.flow import Call, Flow
from tilewright.analysis.nki.interpret import launched_flow, nki_flow
from tilewright.analysis.nki.model import (
    Binding,
    Fact,
    Index,
    Kind,
    Loop,
    LoopKind,
    Mask,
    Memory,
    Operation,
    Read,
    Region,
    Storage,
    View,
    Write,
)
from tilewright.analysis.nki.parameters import Given, TensorGiven

__all__ = [
    "Affine",
    "Binding",
    "Call",
    "Fact",
    "Flow",
    "Given",
    "Index",
    "Kind",
    "Loop",
    "LoopKind",
    "Mask",
    "Memory",
    "Operation",
    "Read",
    "Region",
    "Storage",
    "Symbol",
    "SymbolKind",
    "TensorGiven",
    "View",
    "Write",
    "launched_flow",
    "nki_flow",
]
