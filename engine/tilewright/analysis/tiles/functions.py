"""The table of functions that inference knows, by their names in ``triton.language``."""

from collections.abc import Callable, Mapping, Sequence

from tilewright.analysis.tiles.arguments import Arguments, bind
from tilewright.analysis.tiles.engine import UNKNOWN, Engine
from tilewright.analysis.tiles.model import TileFacts
from tilewright.analysis.values import Value

_Function = Callable[[Arguments], TileFacts]
_FUNCTIONS: dict[str, tuple[tuple[str, ...], _Function]] = {}


def function(names: str, signature: str = "") -> Callable[[_Function], _Function]:
    """Register what functions return, by their names and the names of their parameters."""

    def register(transfer: _Function) -> _Function:
        for name in names.split():
            _FUNCTIONS[name] = (tuple(signature.split()), transfer)
        return transfer

    return register


def returned(
    name: str,
    engine: Engine,
    value: Value,
    positional: Sequence[Value],
    keywords: Mapping[str, Value],
) -> TileFacts:
    """What a registered function returns; nothing is known of others."""
    known = _FUNCTIONS.get(name)
    if known is None:
        return UNKNOWN
    signature, transfer = known
    return transfer(bind(name, engine, value, signature, positional, keywords))
