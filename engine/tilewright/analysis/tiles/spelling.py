"""Facts in words: for hover, inlay hints and messages.

Names of the kernel stand for themselves, ``pid0`` for the program id of axis 0, ``lane1`` for
the arange along axis 1, ``turn`` for the index of a loop; what has no short name is ``…``.
"""

from tilewright.analysis.tiles.model import Affine, Dim, Kind, Shape, Term, TileFacts
from tilewright.analysis.tiles.polynomial import Polynomial
from tilewright.analysis.values import Value

_OPERATORS = {
    "Add": "+",
    "Sub": "-",
    "Mult": "*",
    "FloorDiv": "//",
    "Mod": "%",
    "LShift": "<<",
    "RShift": ">>",
}
_SHORT_CALLS = ("cdiv", "next_power_of_2", "min", "max", "minimum", "maximum")
_MAX_DEPTH = 4


def spell_value(value: Value, depth: int = 0) -> str:
    """A value as its source would say it; "…" where that is long."""
    match value.op:
        case "param" | "const":
            return str(value.detail)
        case "global":
            return str(value.detail).rpartition(".")[2]
        case "program_id":
            return f"pid{value.detail}"
        case "loop_index":
            return "turn"
        case "binary" if depth < _MAX_DEPTH and value.detail in _OPERATORS:
            left, right = (spell_value(v, depth + 1) for v in value.operands)
            text = f"{left} {_OPERATORS[str(value.detail)]} {right}"
            return f"({text})" if depth else text
        case "call" if depth < _MAX_DEPTH:
            name = str(value.detail).rpartition(".")[2]
            if name in _SHORT_CALLS:
                given = ", ".join(spell_value(v, depth + 1) for v in value.positional)
                return f"{name}({given})"
    return "…"


def spell_extent(extent: Dim) -> str:
    """One extent of a tile."""
    return str(extent) if isinstance(extent, int) else spell_value(extent)


def spell_shape(shape: Shape) -> str:
    """``[BLOCK_M, 64]``."""
    return f"[{', '.join(map(spell_extent, shape))}]"


def spell_polynomial(polynomial: Polynomial) -> str:
    """``stride_am*BLOCK_K + 1``, in one order whatever it was made from."""
    parts = []
    for factors, coefficient in polynomial:
        spelled = sorted(spell_value(f, depth=1) for f in factors)
        if coefficient != 1 or not spelled:
            spelled.insert(0, str(coefficient))
        parts.append((not factors, "*".join(spelled)))
    return " + ".join(text for _, text in sorted(parts)) or "0"


def spell_affine(form: Affine) -> str:
    """``pid0*BLOCK + lane0``: the constant last."""
    parts = sorted(_spell_term(term) for term in form.terms)
    if form.constant.monomials or not parts:
        parts.append(spell_polynomial(form.constant))
    return " + ".join(parts)


def _spell_term(term: Term) -> str:
    index = spell_value(term.index, depth=1)
    if term.index.op == "arange":
        index = f"lane{term.axis}"
    elif term.axis is not None:
        index = f"…{term.axis}"
    coefficient = spell_polynomial(term.coefficient)
    if coefficient == "1":
        return index
    return f"{index}*({coefficient})" if "+" in coefficient else f"{index}*{coefficient}"


def spell(facts: TileFacts) -> str:
    """Kind, shape and element type: ``pointer [BLOCK_M, BLOCK_K] fp16``."""
    if facts.kind is Kind.TUPLE and facts.items is not None:
        return f"tuple ({'; '.join(map(spell, facts.items))})"
    parts = [facts.kind.value]
    if facts.shape:
        parts.append(spell_shape(facts.shape))
    if facts.constant is not None:
        parts.append(repr(facts.constant.value))
    elif facts.dtype is not None and facts.kind is not Kind.CONSTEXPR:
        parts.append(facts.dtype)
    return " ".join(parts)
