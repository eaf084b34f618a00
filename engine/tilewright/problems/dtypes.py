"""Element types by torch's names, and what a case takes in memory. No torch here."""

import math
from collections.abc import Mapping

from tilewright.problems.model import Case, Input

DTYPE_BYTES: Mapping[str, int] = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "float8_e4m3fn": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2": 1,
    "float8_e5m2fnuz": 1,
    "int16": 2,
    "uint16": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}

ALIASES: Mapping[str, str] = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}


def canonical_dtype(name: str) -> str | None:
    """torch's own name for a dtype ("torch.half" -> "float16"); None where there is none."""
    bare = name.removeprefix("torch.")
    bare = ALIASES.get(bare, bare)
    return bare if bare in DTYPE_BYTES else None


def is_floating(dtype: str) -> bool:
    """Whether values of this dtype are drawn as real (or complex) numbers."""
    return "float" in dtype or "complex" in dtype


def integer_bounds(dtype: str) -> tuple[int, int] | None:
    """The least and the largest number of a dtype that integers are drawn for; None for others.

    Drawn as 64 bits with a sign, so that the upper half of uint64 is out of reach.
    """
    if is_floating(dtype) or dtype == "bool":
        return None
    bits = 8 * DTYPE_BYTES[dtype]
    if dtype.startswith("u"):
        return 0, 2 ** min(bits, 63) - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def input_bytes(item: Input) -> int:
    """Bytes of one input tensor; 0 for a plain scalar."""
    if item.value is not None:
        return 0
    return math.prod(item.shape) * DTYPE_BYTES[item.dtype]


def size_bytes(case: Case) -> int:
    """Bytes of all input tensors of a case. 0 where the module under test makes the inputs."""
    return sum(input_bytes(item) for item in case.inputs)
