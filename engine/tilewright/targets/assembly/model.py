"""A compiler's text, read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A line of a source file, as the compiler names the file."""

    file: str
    line: int


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        at: 1-based line of the text it begins on.
        opcode: with its modifiers, without its predicate: ``LDG.E.128``.
        text: the whole instruction, on one line; with the compiler's comment, where it tells what
            the instruction is for.
        places: where it comes from: the innermost function first, then where that was inlined.
        line: the user's own line among these; None if it has none.
    """

    at: int
    opcode: str
    text: str
    places: tuple[Place, ...] = ()
    line: int | None = None


@dataclass(frozen=True)
class Listing:
    """The instructions of one stage's text, in its order."""

    stage: str
    instructions: tuple[Instruction, ...]
