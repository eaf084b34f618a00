"""The tensor engine: products and transposes."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .arithmetic import Undefined, check_shape, floats, selection_of
from .dtypes import DType
from .indices import Selection
from .instruction import Instruction
from .launch import Launch
from .storage import Values
from .tensors import Tensor

Array = np.ndarray[Any, Any]


def nc_matmul(
    stationary: Any,
    moving: Any,
    mask: Any = None,
    is_transpose: bool = False,
    dtype: Any = None,
) -> Tensor:
    """``stationary.T @ moving`` of (K, M) and (K, N): fp32 (M, N) in PSUM.

    Args:
        is_transpose: one operand is the identity; the values pass through as they are.
    """
    instruction = Instruction("nki.isa.nc_matmul")
    left = _flat(instruction.read(stationary, "the stationary operand", ("SBUF",)))
    right = _flat(instruction.read(moving, "the moving operand", ("SBUF",)))
    otherwise = left.dtype if is_transpose else dtypes.float32
    more = (("transpose", True),) if is_transpose else ()
    return _product(instruction, left, right, mask, dtype, otherwise, more)


def _product(
    instruction: Instruction,
    left: Values,
    right: Values,
    mask: Any,
    dtype: Any,
    otherwise: DType,
    more: tuple[tuple[str, Any], ...],
) -> Tensor:
    """``left.T @ right`` in PSUM, of (K, M) and (K, N)."""
    launch = instruction.launch
    check_product(launch, left, right)
    (_, m), (_, n) = left.data.shape, right.data.shape
    instruction.selection = _result_selection(launch, mask, m, n, left, right)
    data = np.asarray(floats(left).T @ floats(right))
    sizes = (("k", left.data.shape[0]), ("m", m), ("n", n))
    undefined = _undefined(left, right)
    result = instruction.result(data, dtype, otherwise, undefined, "PSUM", (*sizes, *more))
    result.product = True
    return result


def _flat(found: Values) -> Values:
    """An operand with its free axes as one."""
    if found.data.ndim > 2:
        found.data = found.data.reshape(found.data.shape[0], -1)
        if found.undefined is not None:
            found.undefined = found.undefined.reshape(found.data.shape)
    return found


def check_product(launch: Launch, left: Values, right: Values) -> None:
    """Sizes and types of a product.

    Raises:
        KernelFault: the tensor engine does not take them.
    """
    limits = launch.settings.limits
    (k, m), (k2, n) = left.data.shape, right.data.shape
    if k != k2:
        launch.stop(
            "shape",
            f"nc_matmul contracts the partitions of both operands: the stationary one has {k}, the "
            f"moving one {k2} (err_num_partition_mismatch)",
        )
    if m > limits.stationary_free:
        launch.stop(
            "limit",
            f"the stationary operand has {m} columns; the tensor engine takes "
            f"{limits.stationary_free} (err_size_of_dimension_exceed_arch_limit)",
        )
    if n > limits.moving_free:
        launch.stop(
            "limit",
            f"the moving operand has {n} columns; the tensor engine takes {limits.moving_free} "
            "(err_size_of_dimension_exceed_arch_limit)",
        )
    wide = [v.dtype.itemsize == 4 for v in (left, right)]
    if wide[0] != wide[1]:
        launch.stop(
            "argument",
            f"nc_matmul of {left.dtype} and {right.dtype}: float32 does not go with narrower types",
        )
    if left.dtype.kind != "f" or right.dtype.kind != "f":
        launch.stop("argument", f"nc_matmul of {left.dtype} and {right.dtype}: it takes floats")


def _undefined(left: Values, right: Values) -> Undefined:
    """A product is undefined where its row or column holds an undefined element."""
    if left.undefined is None and right.undefined is None:
        return None, None
    result = np.zeros((left.data.shape[1], right.data.shape[1]), dtype=bool)
    if left.undefined is not None:
        result |= np.asarray(left.undefined.any(axis=0))[:, None]
    if right.undefined is not None:
        result |= np.asarray(right.undefined.any(axis=0))[None, :]
    return result, left.origin or right.origin


def _result_selection(
    launch: Launch, mask: Any, m: int, n: int, left: Values, right: Values
) -> Selection | None:
    """A mask over the stationary operand's axes cuts K and M, over the moving one's K and N."""
    if mask is None:
        return None
    k = left.data.shape[0]
    for shape in ((m, n), (k, n), (k, m)):
        if _fits(mask, shape):
            found = selection_of(launch, mask, shape)
            if found is None:
                return None
            return _spread(found, shape, (k, m, n), left, right)
    selection_of(launch, mask, (m, n))  # reports what does not fit
    return None


def _fits(mask: Any, shape: tuple[int, int]) -> bool:
    conditions = getattr(mask, "conditions", ())
    return all(
        len(c.shape) == 2
        and all(step == 0 or n == m for n, m, step in zip(c.shape, shape, c.steps, strict=True))
        for c in conditions
    )


def _spread(
    found: Selection,
    shape: tuple[int, int],
    sizes: tuple[int, int, int],
    left: Values,
    right: Values,
) -> Selection:
    k, m, n = sizes
    if shape == (m, n):
        return found
    rows, columns = found.box
    if rows != (0, k):  # fewer partitions are contracted
        for side in (left, right):
            side.data = side.data[rows[0] : rows[1]]
            if side.undefined is not None:
                side.undefined = side.undefined[rows[0] : rows[1]]
    return Selection(((0, m), columns) if shape == (k, n) else (columns, (0, n)))


def matmul(x: Any, y: Any, transpose_x: bool = False, mask: Any = None) -> Tensor:
    """``x @ y``, or ``x.T @ y``: fp32 in PSUM. The compiler transposes ``x`` where it must."""
    instruction = Instruction("nki.language.matmul")
    left = _flat(instruction.read(x, "x", ("SBUF",)))
    right = _flat(instruction.read(y, "y", ("SBUF",)))
    if not transpose_x:
        left.data = left.data.T
        left.undefined = None if left.undefined is None else left.undefined.T
    more = (("transpose_x", True),) if transpose_x else ()
    return _product(instruction, left, right, mask, None, dtypes.float32, more)


def nc_transpose(
    data: Any,
    engine: Any = "",
    dtype: Any = None,
    mask: Any = None,
    op: str = "nki.isa.nc_transpose",
) -> Tensor:
    """(P, F) to (F, P), free axes as one; by the tensor engine in PSUM, else in SBUF."""
    instruction = Instruction(op, engine=engine)
    launch = instruction.launch
    found = _flat(instruction.read(data, "data"))
    p, f = found.data.shape
    by_tensor = instruction.engine in ("", "tensor")
    if instruction.engine == "vector" and max(p, f) > 32:
        launch.stop("limit", f"the vector engine transposes 32 x 32 at most, not {p} x {f}")
    if by_tensor and found.memory == "PSUM":
        launch.stop("memory", "the tensor engine reads SBUF, not PSUM: copy the tile first")
    if by_tensor and f > launch.settings.limits.stationary_free:
        launch.stop(
            "limit",
            f"nc_transpose of {f} columns; the tensor engine takes "
            f"{launch.settings.limits.stationary_free} (err_size_of_dimension_exceed_arch_limit)",
        )
    check_shape(launch, (f, p), "PSUM" if by_tensor else "SBUF", "the transposed tile")
    undefined = None if found.undefined is None else found.undefined.T
    instruction.selection = _turned(launch, mask, (p, f))
    more = (("k", p), ("m", f), ("n", p), ("transpose", True))
    result = instruction.result(
        found.data.T.copy(), dtype, found.dtype, (undefined, found.origin),
        "PSUM" if by_tensor else "SBUF", more,
    )  # fmt: skip
    result.product = by_tensor
    return result


def _turned(launch: Launch, mask: Any, shape: tuple[int, int]) -> Selection | None:
    found = selection_of(launch, mask, shape)
    if found is None:
        return None
    return Selection((found.box[1], found.box[0]), None if found.exact is None else found.exact.T)
