"""Spills by source line, out of a cubin: much faster than through a disassembler.

An instruction of SASS takes 16 bytes since Volta, and its low 12 bits tell the opcode: 0x983 is
LDL, 0x387 STL (as ``nvdisasm -hex`` shows). Lines are in ``.debug_line``: DWARF 2 with an opcode
of NVIDIA's own, 0x90, which says that what follows was inlined into an earlier row ("DWARF
Definition for CUDA Inlined Functions", in LLVM's guide to NVPTX).
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

_INSTRUCTION_BYTES = 16
_OPCODE = 0xFFF
_LOADS, _STORES = 0x983, 0x387
_INLINED_CALL = 0x90
_CODE = b".text."
_LINES = b".debug_line"


class _Row(NamedTuple):
    address: int
    file: int
    line: int
    context: int  # the row this was inlined into, counted from 1; 0: none


def spills_by_line(cubin: bytes, path: str) -> dict[int, list[int]]:
    """[loads, stores] of local memory by line of the file; empty where that cannot be derived."""
    try:
        return _spills(cubin, path)
    except (struct.error, ValueError, IndexError):  # another format: no figures
        return {}


def _spills(cubin: bytes, path: str) -> dict[int, list[int]]:
    sections = _sections(cubin)
    code = [body for name, body in sections if name.startswith(_CODE)]
    tables = [body for name, body in sections if name == _LINES]
    if len(code) != 1 or not tables:  # rows of several functions would need relocations
        return {}
    files, rows = _program(tables[0])
    own = {number for number, name in files.items() if _same(name, path)}
    lines = _lines(rows, own)
    begins = sorted(lines)
    found: dict[int, list[int]] = {}
    for address in range(0, len(code[0]) - 7, _INSTRUCTION_BYTES):
        (word,) = struct.unpack_from("<Q", code[0], address)
        opcode = word & _OPCODE
        before = bisect_right(begins, address)
        if opcode in (_LOADS, _STORES) and before and (line := lines[begins[before - 1]]):
            found.setdefault(line, [0, 0])[opcode == _STORES] += 1
    return found


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _sections(elf: bytes) -> list[tuple[bytes, bytes]]:
    if elf[:5] != b"\x7fELF\x02":
        return []
    (offset,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", elf, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", elf, offset + size * at) for at in range(count)]
    names = elf[heads[names_at][4] :][: heads[names_at][5]]
    found = []
    for name, _, _, _, start, length in heads:
        found.append((names[name : names.index(b"\0", name)], elf[start : start + length]))
    return found


def _lines(rows: list[_Row], own: set[int]) -> dict[int, int]:
    """The user's line, or 0, by the address from which on it holds."""
    found = {}
    for row in rows:
        at: _Row | None = row
        # A row of an inlined function leads to the row that it was inlined into, and so on up to
        # the user's file. Counting the steps ends a circle in a damaged table.
        steps = 0
        while at is not None and at.file not in own and steps < len(rows):
            at = rows[at.context - 1] if 0 < at.context <= len(rows) else None
            steps += 1
        found[row.address] = at.line if at is not None and at.file in own else 0
    return found


class _Reader:
    """Numbers and strings of a DWARF section, one after another."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self, kind: str) -> int:
        (value,) = struct.unpack_from(f"<{kind}", self.data, self.at)
        self.at += struct.calcsize(kind)
        return int(value)

    def leb(self, signed: bool = False) -> int:
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def text(self) -> str:
        end = self.data.index(b"\0", self.at)
        found = self.data[self.at : end].decode("utf-8", "replace")
        self.at = end + 1
        return found


def _program(table: bytes) -> tuple[dict[int, str], list[_Row]]:
    """(file names by number, rows) of the first line program of a section."""
    reader = _Reader(table)
    end = reader.number("I") + 4
    reader.number("H")  # version
    begin = reader.number("I")
    begin += reader.at
    step, _ = reader.number("B"), reader.number("B")
    base, span, first = reader.number("b"), reader.number("B"), reader.number("B")
    operands = [reader.number("B") for _ in range(first - 1)]
    files = dict(_files(reader))
    reader.at = begin
    return files, list(_rows(reader, end, _Coding(step, base, span, first, operands)))


class _Coding(NamedTuple):
    """How a line program is written."""

    step: int
    base: int
    span: int
    first: int
    operands: list[int]


def _files(reader: _Reader) -> Iterator[tuple[int, str]]:
    folders = [""]
    while folder := reader.text():
        folders.append(folder)
    number = 0
    while name := reader.text():
        number += 1
        at, _, _ = reader.leb(), reader.leb(), reader.leb()
        yield number, os.path.join(folders[at], name)  # noqa: PTH118


class _State:
    """The registers of a line program that rows are made of."""

    def __init__(self) -> None:
        self.address, self.file, self.line, self.context = 0, 1, 1, 0

    def row(self) -> _Row:
        return _Row(self.address, self.file, self.line, self.context)


def _rows(reader: _Reader, end: int, coding: _Coding) -> Iterator[_Row]:
    state = _State()
    while reader.at < end:
        code = reader.number("B")
        if code >= coding.first:
            advance, line = divmod(code - coding.first, coding.span)
            state.address += advance * coding.step
            state.line += coding.base + line
            yield state.row()
        elif code == 0:
            if _extended(reader, state):
                return
        elif _standard(code, reader, state, coding):
            yield state.row()


def _extended(reader: _Reader, state: _State) -> bool:
    """Whether the sequence ends."""
    after = reader.leb() + reader.at
    code = reader.number("B")
    # The length before the opcode is trusted over the operands, so unknown opcodes are skipped.
    if code == 2:  # DW_LNE_set_address
        state.address = reader.number("Q")
    elif code == _INLINED_CALL:
        state.context = reader.leb()
    reader.at = after
    return code == 1


def _standard(code: int, reader: _Reader, state: _State, coding: _Coding) -> bool:
    """Whether a row is complete (DW_LNS_copy)."""
    if code == 2:
        state.address += reader.leb() * coding.step
    elif code == 3:
        state.line += reader.leb(signed=True)
    elif code == 4:
        state.file = reader.leb()
    elif code == 8:
        state.address += (255 - coding.first) // coding.span * coding.step
    elif code == 9:
        state.address += reader.number("H")
    elif code != 1:
        for _ in range(coding.operands[code - 1]):
            reader.leb()
    return code == 1
