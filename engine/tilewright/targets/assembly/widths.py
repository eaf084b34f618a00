"""How many bits one thread moves with one access to memory."""

import re
from collections.abc import Callable, Mapping

from tilewright.targets.assembly.model import Instruction

_PTX = re.compile(r"(?:\.v(\d))?\.[bfus](\d+)$")
_PTX_MATRICES = re.compile(r"(?:ld|st)matrix\b.*\.x(\d)\b")
_PTX_COPIED = re.compile(r"\],\s*\[[^\]]*\],\s*(0x[0-9a-f]+|\d+)")
_SASS_PART = re.compile(r"[US]?(8|16|32|64|128|256)")
_SASS_DEFAULT = 32
_GCN = re.compile(r"_(?:load|store)_(?:lds_)?(?:d16_)?(?:hi_)?([a-wyz]+)(?:x?(\d+))?")
_GCN_NAMED = {
    "dword": 32,
    "ushort": 16,
    "sshort": 16,
    "short": 16,
    "ubyte": 8,
    "sbyte": 8,
    "byte": 8,
}
_GCN_SHARED = re.compile(r"ds_(?:read|write|load|store)(2?)\w*?_(?:addtid_|tr\d*_)?[bui](\d+)")
_XE = re.compile(r"\.d(\d+)(?:u\d+)?(?:x(\d+))?(t)?(?=[.\s]|$)")


def width_of(stage: str, opcode: str) -> int | None:
    """Bits; None where the opcode does not tell, or tells of a whole sub-group at once."""
    reader = _READERS.get(stage)
    return reader(opcode) if reader else None


def bits_of(stage: str, one: Instruction) -> int | None:
    """The same of an instruction; asynchronous copies of PTX tell it in an operand."""
    if stage == "ptx" and one.opcode.startswith("cp.async.c"):
        copied = _PTX_COPIED.search(one.text)
        return 8 * int(copied[1], 0) if copied else None
    return width_of(stage, one.opcode)


def _ptx(opcode: str) -> int | None:
    if matrices := _PTX_MATRICES.match(opcode):
        return 32 * int(matrices[1])  # 8 x 8 of 16 bits, spread over 32 threads
    match = _PTX.search(opcode)
    return int(match[1] or 1) * int(match[2]) if match else None


def _sass(opcode: str) -> int:
    parts = (_SASS_PART.fullmatch(part) for part in opcode.split(".")[1:])
    return next((int(part[1]) for part in parts if part), _SASS_DEFAULT)


def _gcn(opcode: str) -> int | None:
    if shared := _GCN_SHARED.match(opcode):
        return int(shared[2]) * (2 if shared[1] else 1)
    match = _GCN.search(opcode)
    if match is None:
        return None
    word, number = match[1], int(match[2] or 0)
    if word in ("b", "u", "i"):
        return number or None
    base = _GCN_NAMED.get(word)
    return base * max(1, number) if base else None


def _xe(opcode: str) -> int | None:
    match = _XE.search(opcode)
    if match is None or match[3]:
        return None
    return int(match[1]) * int(match[2] or 1)


_READERS: Mapping[str, Callable[[str], int | None]] = {
    "ptx": _ptx,
    "sass": _sass,
    "amdgcn": _gcn,
    "xe-asm": _xe,
}
