"""What Triton's code generator made of each expression: the types of the values in the TTIR.

Triton gives an operation the (line, column) of the syntax node it is built for, so several
operations share one place and a name has none. The code generator itself knows which value a
node yields: its ``visit`` is given the node and returns the value. That pair is recorded, at the
place of the node in the file, with the value's type in the TTIR and the signedness that Triton
keeps beside it. Rules:

- the dry pass that looks for what a loop carries is thrown away by Triton, and here;
- a node that is visited again (an unrolled loop, a function called twice) has several types;
- code in a branch that a constexpr turns off is not visited and has none.
"""

import ast
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import triton.language as tl
from triton.compiler.code_generator import CodeGenerator

Number = int | float | bool | str


@dataclass(frozen=True)
class Place:
    """An expression of a file: 1-based lines, 0-based byte columns, and what kind of node it is."""

    line: int
    column: int
    end_line: int
    end_column: int
    node: str

    @staticmethod
    def of(node: ast.expr, lines: int = 0, columns: int = 0) -> "Place | None":
        """Where a node is, given the place of the text it was parsed from."""
        if node.end_lineno is None or node.end_col_offset is None:
            return None
        return Place(
            node.lineno + lines,
            node.col_offset + columns,
            node.end_lineno + lines,
            node.end_col_offset + columns,
            type(node).__name__,
        )


@dataclass(frozen=True)
class Seen:
    """A value of the compiler: ``form`` is "value", "pointer", "descriptor" or "constexpr".

    ``dtype`` is Triton's short name ("fp16", "i32", "u8"), of what is pointed at for pointers and
    descriptors; ``constant`` is a constexpr's value, ``ir`` the type in the TTIR as it is printed.
    """

    form: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    constant: Number | None = None
    ir: str = ""


@dataclass
class Recording:
    """Per file, what was seen at each place."""

    files: dict[str, dict[Place, set[Seen]]] = field(default_factory=dict)

    def add(self, file: str, place: Place, seen: Seen) -> None:
        self.files.setdefault(file, {}).setdefault(place, set()).add(seen)


@contextlib.contextmanager
def recorded() -> Iterator[Recording]:
    """Record everything that is compiled inside the block."""
    recording = Recording()
    original = CodeGenerator.visit

    def visit(generator: Any, node: Any) -> Any:
        result = original(generator, node)
        # A name that is assigned to yields itself, as text.
        stored = isinstance(getattr(node, "ctx", None), ast.Store)
        if isinstance(node, ast.expr) and not stored and not generator._loop_carry_discovery_depth:
            seen = describe(result)
            # begin_col counts from 1, and so does a line of the text that Triton parses.
            place = Place.of(node, generator.begin_line, generator.begin_col - 1)
            if seen is not None and place is not None:
                recording.add(generator.file_name, place, seen)
        return result

    with mock.patch.object(CodeGenerator, "visit", visit):
        yield recording


def describe(value: Any) -> Seen | None:
    """A value as the comparison wants it; None for what is no value (modules, functions, types)."""
    if isinstance(value, tl.tensor):
        # A store yields a tensor of no type.
        return None if value.handle is None else _tensor(value)
    if isinstance(value, tl.core.tensor_descriptor_base):
        block = value.type.block_type
        return Seen("descriptor", short(block.element_ty), tuple(block.shape))
    if isinstance(value, tl.constexpr):
        value = value.value
    if isinstance(value, bool | int | float | str):
        return Seen("constexpr", constant=value)
    return None


def _tensor(value: Any) -> Seen:
    kind, shape = value.type, ()
    if kind.is_block():
        kind, shape = kind.element_ty, tuple(kind.shape)
    ir = str(value.handle.get_type())
    if kind.is_ptr():
        return Seen("pointer", short(kind.element_ty), shape, ir=ir)
    return Seen("value", short(kind), shape, ir=ir)


def short(kind: Any) -> str:
    """Triton's short name of an element type."""
    return str(kind).replace("uint", "u").replace("int", "i")
