"""What TTGIR says of tiles: memory accesses, matrix products, layout changes, loops around them."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.targets.assembly.places import lines_of

_WARPS = re.compile(r'"ttg\.num-warps" = (\d+)')
_LANES = re.compile(r'"ttg\.threads-per-warp" = (\d+)')
_NAME = re.compile(r'^\s*(?:%[\w:#, %]+ = )?"?([a-z_]\w*\.[\w.]+)')
_PLACE = re.compile(r"\bloc\((#loc\d*)\)\s*\{?$")
_TILE = re.compile(r"\btensor<((?:\d+x)+)([^,\s]*)")
_POINTER = re.compile(r": !tt\.ptr<([a-z]+\d+\w*)[,>]")
_TILE_POINTER = re.compile(r"!tt\.ptr<tensor<")
_BITS = re.compile(r"^!?(?:tt\.ptr<)?[a-z]+(\d+)")
_LOOPS = ("scf.for", "scf.while")
_COMPUTING = ("arith.", "math.", "tt.fp_to_fp", "tt.atomic_rmw")
_ADDRESS_BITS = 64
_WIDEST = 128
_ACCESSES = {
    "tt.load": "load",
    "tt.store": "store",
    "buffer_load": "load",
    "buffer_store": "store",
    "ttg.async_copy_global_to_local": "async_copy",
    "buffer_load_to_local": "async_copy",
}
_DOTS = (
    "tt.dot", "tt.dot_scaled", "ttng.warp_group_dot", "ttng.tc_gen5_mma",
    "ttng.tc_gen5_mma_scaled",
)  # fmt: skip


@dataclass(frozen=True)
class TileOp:
    """One operation on tiles.

    Attributes:
        name: as TTGIR has it: ``tt.load``.
        line: the user's line.
        place: the name of its location; copies that a pipelined loop makes of it share it.
        depth: loops around it.
        access: "load", "store" or "async_copy" for one of global memory by pointers, else empty.
        best_bits: the widest access its tile allows, see ``best_bits``; None if not known.
        elements: types of its tiles' elements, of operations that compute, convert or are atomic.
        held: elements that a thread has of its first tile; a thread that has none is counted as
            having one.
    """

    name: str
    line: int
    place: str
    depth: int
    access: str = ""
    best_bits: int | None = None
    elements: tuple[str, ...] = ()
    held: int = 0

    @property
    def is_dot(self) -> bool:
        """Whether it is a matrix product."""
        return self.name in _DOTS

    @property
    def is_conversion(self) -> bool:
        """Whether it moves a tile's elements between threads."""
        return self.name == "ttg.convert_layout"

    @property
    def is_loop(self) -> bool:
        """Whether it is a loop."""
        return self.name in _LOOPS


def tile_ops(text: str, source: str) -> Iterator[TileOp]:
    """The operations of a TTGIR text that come from lines of the user's file."""
    known = lines_of("ttgir", text, source)
    threads = _threads(text)
    regions: list[tuple[str, bool]] = []  # (operation, whether it is a loop) of each open brace
    for at, line in enumerate(text.splitlines(), 1):
        code = line.strip()
        name = match[1] if (match := _NAME.match(line)) else ""
        if code.startswith("}") and regions:
            name, _ = regions.pop()
        place = match[1] if (match := _PLACE.search(code)) else ""
        if name and at in known:
            depth = sum(loop for _, loop in regions)
            access = _ACCESSES.get(name.removeprefix("amdg.").removeprefix("amdgpu."), "")
            best = best_bits(code, threads) if access else None
            elements, held = _elements(code, threads) if name.startswith(_COMPUTING) else ((), 0)
            yield TileOp(name, known[at], place, depth, access, best, elements, held)
        if code.endswith("{"):
            regions.append((name, name in _LOOPS))


def best_bits(operation: str, threads: int) -> int | None:
    """Bits that a thread could move at once, were the tile's elements next to one another.

    As Triton's coalescing chooses: what each thread holds of the tile, no more than one dimension
    has, at most 128 bits.
    """
    if _TILE_POINTER.search(operation):
        return None
    if tile := _TILE.search(operation):
        extents = [int(extent) for extent in tile[1].split("x") if extent]
        held = min(max(1, math.prod(extents) // threads), max(extents))
        bits = _element_bits(tile[2])
        return None if bits is None else min(_WIDEST, bits * held)
    scalar = _POINTER.search(operation)
    return _element_bits(scalar[1]) if scalar else None


def _elements(operation: str, threads: int) -> tuple[tuple[str, ...], int]:
    """(element types of its tiles, elements that a thread has of the first)."""
    found = _TILE.findall(operation)
    if not found:
        return (), 0
    size = math.prod(int(extent) for extent in found[0][0].split("x") if extent)
    elements = dict.fromkeys(element.rstrip(">").lower() for _, element in found)
    return tuple(elements), max(1, size // threads)


def _element_bits(element: str) -> int | None:
    if element.startswith("!tt.ptr<!tt.ptr"):
        return _ADDRESS_BITS
    match = _BITS.match(element)
    return max(8, int(match[1])) if match else None


def _threads(text: str) -> int:
    warps, lanes = _WARPS.search(text), _LANES.search(text)
    return (int(warps[1]) if warps else 1) * (int(lanes[1]) if lanes else 1)
