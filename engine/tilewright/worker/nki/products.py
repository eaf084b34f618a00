"""The tensor engine: products and transposes."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .arithmetic import check_shape, dtype_of, floats, new_tile, operand, record, selection_of
from .dtypes import DType
from .indices import Selection
from .launch import Launch, running
from .storage import Values
from .tensors import Tensor, Tile

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
    launch = running()
    left = operand(launch, stationary, "the stationary operand", places=("SBUF",))
    right = operand(launch, moving, "the moving operand", places=("SBUF",))
    left, right = _flat(left), _flat(right)
    check_product(launch, left, right)
    (_, m), (_, n) = left.data.shape, right.data.shape
    selection = _result_selection(launch, mask, m, n, left, right)
    data = multiply(left, right, transposed=True)
    undefined, origin = _undefined(left, right)
    otherwise = left.dtype if is_transpose else dtypes.float32
    result = new_tile(
        launch, "nki.isa.nc_matmul", data, dtype_of(launch, dtype, otherwise), undefined, origin,
        "PSUM", selection,
    )  # fmt: skip
    result.product = True
    record_product(launch, "nki.isa.nc_matmul", left, right, result, selection, is_transpose)
    return result


def record_product(
    launch: Launch,
    op: str,
    left: Values,
    right: Values,
    result: Tile,
    selection: Selection | None,
    is_transpose: bool = False,
    more: tuple[tuple[str, Any], ...] = (),
) -> None:
    (k, m), (_, n) = left.data.shape, right.data.shape
    sizes = (("k", k), ("m", m), ("n", n))
    extra = (("transpose", True),) if is_transpose else ()
    record(launch, op, [left, right], [result], selection, more=(*sizes, *extra, *more))


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


def multiply(left: Values, right: Values, transposed: bool) -> Array:
    first = floats(left)
    return np.asarray((first.T if transposed else first) @ floats(right))


def _undefined(left: Values, right: Values) -> tuple[Array | None, tuple[int, str] | None]:
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
    launch = running()
    op = "nki.language.matmul"
    left = _flat(operand(launch, x, "x", places=("SBUF",)))
    right = _flat(operand(launch, y, "y", places=("SBUF",)))
    if not transpose_x:
        left.data = left.data.T
        left.undefined = None if left.undefined is None else left.undefined.T
    check_product(launch, left, right)
    (_, m), (_, n) = left.data.shape, right.data.shape
    selection = _result_selection(launch, mask, m, n, left, right)
    data = multiply(left, right, transposed=True)
    undefined, origin = _undefined(left, right)
    result = new_tile(launch, op, data, dtypes.float32, undefined, origin, "PSUM", selection)
    result.product = True
    more = (("transpose_x", True),) if transpose_x else ()
    record_product(launch, op, left, right, result, selection, more=more)
    return result


def nc_transpose(
    data: Any,
    engine: str = "",
    dtype: Any = None,
    mask: Any = None,
    op: str = "nki.isa.nc_transpose",
) -> Tensor:
    """(P, F) to (F, P), free axes as one; by the tensor engine in PSUM, else in SBUF."""
    launch = running()
    found = _flat(operand(launch, data, "data"))
    p, f = found.data.shape
    by_tensor = engine in ("", "tensor")
    if engine == "vector" and max(p, f) > 32:
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
    selection = _turned(launch, mask, (p, f))
    result = new_tile(
        launch, op, found.data.T.copy(), _transposed_type(launch, dtype, found), undefined,
        found.origin, "PSUM" if by_tensor else "SBUF", selection,
    )  # fmt: skip
    result.product = by_tensor
    more = (("k", p), ("m", f), ("n", p), ("transpose", True))
    record(launch, op, [found], [result], selection, engine, more)
    return result


def _turned(launch: Launch, mask: Any, shape: tuple[int, int]) -> Selection | None:
    found = selection_of(launch, mask, shape)
    if found is None:
        return None
    return Selection((found.box[1], found.box[0]), None if found.exact is None else found.exact.T)


def _transposed_type(launch: Launch, dtype: Any, found: Values) -> DType:
    return dtype_of(launch, dtype, found.dtype)
