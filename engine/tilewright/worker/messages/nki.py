"""One instruction of an NKI kernel, as the simulator saw it or as the text gives it."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class TilePart(TypedDict):
    """What an instruction reads or writes of one tensor: without a mask, broadcasts not expanded.

    Attributes:
        tensor: a number of the tensor that it is a part of, the same in all records.
        memory: "HBM", "SBUF", "PSUM"; "" where it is not known.
        dtype: "float32"; "" where it is not known.
        partitions, free: extents of the tile, the free axes as one.
    """

    tensor: int
    memory: str
    dtype: str
    partitions: int
    free: int


class InstructionRecord(TypedDict):
    """Equal instructions of one line: the same operation on tiles of the same shapes and types.

    The simulator writes one for all iterations of the loops around a line, the static stream
    likewise; a mask that cuts off the last tiles of a loop makes records of their own. Facts alone:
    which engine the compiler chooses, what it fuses and what it hoists is for the reader to say.

    Attributes:
        op: dotted, as in ``knowledge/nki``: "nki.isa.nc_matmul", "nki.language.load". An operator
            between tiles is its function ("nki.language.add"). ``t[...] = call(...)`` is the call,
            which writes to ``t``; only an assignment of a tile that no call of this statement made
            is "nki.language.copy". ``psum[...] += nc_matmul(...)`` is the product, with
            ``accumulate``, and so is ``t[...] = nl.loop_reduce(...)`` one record;
            ``sbuf[...] += call(...)`` is the call and an "nki.language.add".
        engine: that the call names: "tensor", "vector", "scalar", "gpsimd"; "" where it names none.
        count: how often it runs.
        line: 1-based, in the user's file.
        reads, writes: tiles. Scalars are none.
        partitions, free: that it works on: the larger of its tiles, less what a mask leaves out.
        k, m, n: of a product (nc_matmul, matmul, nc_transpose): contracted partitions, columns of
            the stationary and of the moving operand, whatever a mask leaves of them.
        distinct: how many of ``count`` differ in what they read; the others repeat one. Left out
            where it is not known.
        kept: how many different results must be kept at once so that nothing is repeated.
        bytes: of a transfer between HBM and the chip, or within HBM, after the mask.
        transpose: a product that moves and does not compute (``is_transpose``, nc_transpose).
        transpose_x: of nki.language.matmul: the contracted axis of the stationary operand lies on
            its partitions already, so that it needs no transpose.
        accumulate: it adds to what it writes.
    """

    op: str
    engine: str
    count: int
    line: int
    reads: list[TilePart]
    writes: list[TilePart]
    partitions: int
    free: int
    k: NotRequired[int]
    m: NotRequired[int]
    n: NotRequired[int]
    distinct: NotRequired[int]
    kept: NotRequired[int]
    bytes: NotRequired[int]
    transpose: NotRequired[bool]
    transpose_x: NotRequired[bool]
    accumulate: NotRequired[bool]
