"""Arguments of a call by parameter name, as its signature places them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import tilewright.analysis.tiles.types as types
from tilewright.analysis.tiles.engine import UNKNOWN, Engine
from tilewright.analysis.tiles.model import Kind, TileFacts
from tilewright.analysis.values import Value


@dataclass(frozen=True)
class Arguments:
    """What a call was given. ``rest`` holds the positional ones behind the named."""

    name: str
    engine: Engine
    value: Value
    named: Mapping[str, Value]
    rest: tuple[Value, ...]
    every: tuple[Value, ...]

    def get(self, name: str) -> Value | None:
        """The argument as a value; None where it was left out, or is ``None``."""
        given = self.named.get(name)
        if given is not None and given.op == "const" and given.detail is None:
            return None
        return given

    def facts(self, name: str) -> TileFacts:
        given = self.get(name)
        return UNKNOWN if given is None else self.engine.facts_of(given)

    def number(self, name: str) -> int | None:
        """An integer argument whose value is known."""
        constant = self.facts(name).constant
        return constant.value if constant and isinstance(constant.value, int) else None

    def flag(self, name: str, default: bool) -> bool | None:
        """A Python condition; None where it is not known."""
        if name not in self.named:
            return default
        constant = self.engine.facts_of(self.named[name]).constant
        return None if constant is None else bool(constant.value)

    def dtype(self, name: str, otherwise: str | None) -> str | None:
        """An element type, or another where none is given."""
        if self.is_known_none(name):
            return otherwise
        return type_named_by(self.facts(name))

    def is_known_none(self, name: str) -> bool:
        """Whether the argument was left out or is ``None``."""
        given = self.named.get(name)
        if given is None:
            return True
        constant = self.engine.facts_of(given).constant
        return constant is not None and constant.value is None

    def result(self, facts: TileFacts, dtype: str | None) -> TileFacts:
        """A result of the same shape as an argument."""
        return self.engine.number(self.value, facts.shape, dtype)


def type_named_by(facts: TileFacts) -> str | None:
    """The element type that a value names: a type, or its name as a string."""
    if facts.kind is Kind.DTYPE:
        return facts.dtype
    if facts.constant is not None and isinstance(facts.constant.value, str):
        return types.spelled(facts.constant.value)
    return None


def bind(
    name: str,
    engine: Engine,
    value: Value,
    signature: Sequence[str],
    positional: Sequence[Value],
    keywords: Mapping[str, Value],
) -> Arguments:
    """Place arguments by a signature such as ``("input", "axis")``."""
    named = dict(zip(signature, positional, strict=False))
    rest = tuple(positional[len(signature) :])
    return Arguments(
        name, engine, value, {**named, **keywords}, rest, (*positional, *keywords.values())
    )
