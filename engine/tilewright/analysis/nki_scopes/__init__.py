"""Names and scopes of an NKI kernel: what each expression stands for, where tiles live."""

from tilewright.analysis.nki_scopes.flavour import flavour_of
from tilewright.analysis.nki_scopes.model import (
    HBM,
    SHARED_HBM,
    SYMBOLIC,
    Binding,
    Call,
    Fact,
    Kind,
    LoopKind,
    Region,
    Scopes,
    Write,
)
from tilewright.analysis.nki_scopes.walk import scopes_of

__all__ = [
    "HBM",
    "SHARED_HBM",
    "SYMBOLIC",
    "Binding",
    "Call",
    "Fact",
    "Kind",
    "LoopKind",
    "Region",
    "Scopes",
    "Write",
    "flavour_of",
    "scopes_of",
]
