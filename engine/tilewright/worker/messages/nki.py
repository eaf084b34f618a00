"""One instruction of an NKI kernel, as the simulator saw it or as the text gives it."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class InstructionRecord(TypedDict):
    """Equal instructions of one line: the same operation on tiles of the same shape and type.

    The simulator writes one for all turns of the loops around a line, the static stream likewise; a
    mask that cuts off the last tiles of a loop makes records of their own, with the extents that
    are left. Extents and bytes are of one instruction.

    Attributes:
        op: dotted, as in ``knowledge/nki``: "nki.isa.nc_matmul", "nki.language.load". An operator
            between tiles is its function ("nki.language.add"), an assignment that copies a tile
            "nki.language.copy"; ``psum[...] += nc_matmul(...)`` is the matmul alone.
        engines: that may run it, the documented one first: "tensor", "vector", "scalar", "gpsimd",
            "dma".
        count: how often it runs.
        line: 1-based, in the user's file.
        partitions, free: of the tile it makes (of the tile it reads, where it reduces): partitions,
            and elements a partition.
        dtype_in, dtype_out: "float32"; "" where it is not known.
        sources, destination: memories: "HBM", "SBUF", "PSUM"; one source for each tile it reads.
        inputs, outputs: tensors that it reads and writes, by a number of their own.
        k, m, n: of a product on the tensor engine: contracted partitions, columns of the stationary
            and of the moving operand.
        distinct: how many of ``count`` work on different parts of their operands; the others repeat
            one whose operands have not changed. Left out where it is not known.
        direction: of a transfer: "load", "store" or "copy" (HBM to HBM).
        bytes: of a transfer.
        transpose: a product with the identity, which moves and does not compute.
        broadcast: a product with ones, which copies one partition to all.
        accumulate: it adds to what PSUM holds.
    """

    op: str
    engines: list[str]
    count: int
    line: int
    partitions: int
    free: int
    dtype_in: str
    dtype_out: str
    sources: list[str]
    destination: str
    inputs: list[int]
    outputs: list[int]
    k: NotRequired[int]
    m: NotRequired[int]
    n: NotRequired[int]
    distinct: NotRequired[int]
    direction: NotRequired[str]
    bytes: NotRequired[int]
    transpose: NotRequired[bool]
    broadcast: NotRequired[bool]
    accumulate: NotRequired[bool]
