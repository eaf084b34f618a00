"""Functions of NKI that work on tensors: parameters, operands, and what they return.

Parameters stand in the order of the older package (``neuronxcc.nki``). The newer one puts
``dst`` before them for what is in ``nki.isa``, and returns nothing.
"""

from dataclasses import dataclass
from enum import StrEnum

from tilewright.analysis.nki.model import Memory

ISA = "nki.isa."
NL = "nki.language."


class Result(StrEnum):
    """How the shape of a result follows from the operands."""

    SAME = "same"
    ELEMENTWISE = "elementwise"
    MATMUL = "matmul"
    HIGH_MATMUL = "high_matmul"
    TRANSPOSE = "transpose"
    REDUCE = "reduce"
    FILL = "fill"
    LIKE = "like"
    ROW = "row"
    BROADCAST = "broadcast"
    UNKNOWN = "unknown"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Function:
    """One function.

    Attributes:
        parameters: in order, without ``dst``.
        tiles: parameters that are tensors, or may be.
        writes: parameters that are written.
        memory: where a result lies.
    """

    parameters: tuple[str, ...]
    tiles: tuple[str, ...]
    result: Result
    writes: tuple[str, ...] = ()
    memory: Memory | None = Memory.SBUF


def _function(
    parameters: str,
    tiles: str,
    result: Result,
    writes: str = "",
    memory: Memory | None = Memory.SBUF,
) -> Function:
    return Function(
        tuple(parameters.split()), tuple(tiles.split()), result, tuple(writes.split()), memory
    )


_BINARY = (
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "fmod", "mod"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"),
    *("left_shift", "right_shift"),
)
_UNARY = (
    *("abs", "arctan", "ceil", "cos", "erf", "erf_dx", "exp", "floor", "gelu", "gelu_dx"),
    *("gelu_apprx_sigmoid", "gelu_apprx_tanh", "invert", "log", "logical_not", "mish"),
    *("negative", "reciprocal", "relu", "rsqrt", "sigmoid", "sign", "silu", "silu_dx", "sin"),
    *("softplus", "sqrt", "square", "tan", "tanh", "trunc"),
)
_REDUCTIONS = ["all", "max", "mean", "min", "prod", "sum", "var"]

_LANGUAGE: dict[str, Function] = {
    **{name: _function("x y", "x y", Result.ELEMENTWISE) for name in _BINARY},
    **{name: _function("x", "x", Result.SAME) for name in _UNARY},
    **{name: _function("x axis", "x", Result.REDUCE) for name in _REDUCTIONS},
    "load": _function("src", "src", Result.SAME),
    "store": _function("dst value", "value", Result.NOTHING, "dst"),
    "load_transpose2d": _function("src", "src", Result.TRANSPOSE),
    "copy": _function("src", "src", Result.SAME),
    "static_cast": _function("input_data dtype", "input_data", Result.SAME),
    "matmul": _function("x y transpose_x", "x y", Result.HIGH_MATMUL, memory=Memory.PSUM),
    "transpose": _function("x", "x", Result.TRANSPOSE, memory=None),
    "softmax": _function("x axis", "x", Result.SAME),
    "rms_norm": _function("x w axis n epsilon", "x w", Result.SAME),
    "dropout": _function("x rate", "x rate", Result.SAME),
    "where": _function("condition x y", "condition x y", Result.ELEMENTWISE),
    "broadcast_to": _function("src shape", "src", Result.BROADCAST),
    "expand_dims": _function("data axis", "data", Result.UNKNOWN),
    "loop_reduce": _function("x op loop_indices", "x", Result.SAME),
    "all_reduce": _function("x op program_axes", "x", Result.SAME),
    "atomic_rmw": _function("dst value op", "value", Result.NOTHING, "dst"),
    "gather_flattened": _function("data indices", "data indices", Result.UNKNOWN),
    "device_print": _function("prefix x", "x", Result.NOTHING),
    "rand": _function("shape dtype", "", Result.FILL),
    "shared_constant": _function("constant dtype", "", Result.UNKNOWN, memory=Memory.HBM),
    "shared_identity_matrix": _function("n dtype", "", Result.UNKNOWN, memory=Memory.HBM),
}
_INSTRUCTIONS: dict[str, Function] = {
    "activation": _function(
        "op data bias scale reduce_op reduce_res", "data bias scale", Result.SAME, "reduce_res"
    ),
    "activation_reduce": _function(
        "op data reduce_op reduce_res bias scale", "data bias scale", Result.SAME, "reduce_res"
    ),
    "affine_select": _function("pred on_true_tile on_false_value", "on_true_tile", Result.UNKNOWN),
    "bn_aggr": _function("data", "data", Result.UNKNOWN),
    "bn_stats": _function("data", "data", Result.UNKNOWN),
    "dma_copy": _function("src", "src", Result.NOTHING, "dst"),
    "dma_transpose": _function("src axes", "src", Result.UNKNOWN),
    "dma_compute": _function("srcs reduce_op", "srcs", Result.NOTHING, "dst"),
    "dropout": _function("data prob", "data prob", Result.SAME),
    "exponential": _function("src max_value", "src max_value", Result.SAME, "reduce_res"),
    "iota": _function("expr dtype", "", Result.UNKNOWN),
    "local_gather": _function("src_buffer index", "src_buffer index", Result.UNKNOWN),
    "max8": _function("src", "src", Result.UNKNOWN),
    "memset": _function("shape value dtype", "", Result.FILL),
    "nc_find_index8": _function("data vals", "data vals", Result.UNKNOWN),
    "nc_match_replace8": _function("data vals imm dst_idx", "data vals", Result.SAME, "dst_idx"),
    "nc_matmul": _function(
        "stationary moving is_stationary_onezero is_moving_onezero is_transpose",
        "stationary moving",
        Result.MATMUL,
        memory=Memory.PSUM,
    ),
    "nc_n_gather": _function("data indices", "data indices", Result.UNKNOWN),
    "nc_stream_shuffle": _function("src dst shuffle_mask", "src", Result.NOTHING, "dst"),
    "nc_transpose": _function("data", "data", Result.TRANSPOSE, memory=None),
    "range_select": _function(
        "on_true_tile comp_op0 comp_op1 bound0 bound1",
        "on_true_tile bound0 bound1",
        Result.SAME,
        "reduce_res",
    ),
    "reciprocal": _function("data", "data", Result.SAME),
    "scalar_tensor_tensor": _function(
        "data op0 operand0 op1 operand1", "data operand0 operand1", Result.SAME
    ),
    "select_reduce": _function(
        "predicate on_true on_false", "predicate on_true on_false", Result.NOTHING, "dst reduce_res"
    ),
    "tensor_copy": _function("src", "src", Result.SAME),
    "tensor_copy_dynamic_dst": _function("src", "src", Result.NOTHING, "dst"),
    "tensor_copy_dynamic_src": _function("src", "src", Result.SAME),
    "tensor_copy_predicated": _function("src predicate", "src predicate", Result.NOTHING, "dst"),
    "tensor_partition_reduce": _function("op data", "data", Result.ROW),
    "tensor_reduce": _function("op data axis", "data", Result.REDUCE),
    "tensor_scalar": _function(
        "data op0 operand0 reverse0 op1 operand1 reverse1", "data operand0 operand1", Result.SAME
    ),
    "tensor_scalar_cumulative": _function("src op0 op1 imm0 imm1", "src imm0 imm1", Result.UNKNOWN),
    "tensor_scalar_reduce": _function(
        "data op0 operand0 reduce_op reduce_res", "data operand0", Result.SAME, "reduce_res"
    ),
    "tensor_tensor": _function("data1 data2 op", "data1 data2", Result.ELEMENTWISE),
    "tensor_tensor_scan": _function(
        "data0 data1 initial op0 op1", "data0 data1 initial", Result.SAME
    ),
}
FUNCTIONS: dict[str, Function] = {
    **{NL + name: function for name, function in _LANGUAGE.items()},
    **{ISA + name: function for name, function in _INSTRUCTIONS.items()},
}
CREATORS = frozenset(
    NL + name for name in ("ndarray", "zeros", "ones", "full", "zeros_like", "empty_like")
)
KEYWORD_DST = frozenset(
    ISA + name
    for name in (
        "dma_copy",
        "select_reduce",
        "tensor_copy_dynamic_dst",
        "tensor_copy_predicated",
        "nc_stream_shuffle",
    )
)
"""Instructions that write to ``dst`` in the older package too, there by keyword only."""

BUFFERS: dict[str, tuple[Memory, bool]] = {
    NL + "sbuf": (Memory.SBUF, False),
    NL + "psum": (Memory.PSUM, False),
    NL + "hbm": (Memory.HBM, False),
    NL + "private_hbm": (Memory.HBM, False),
    NL + "shared_hbm": (Memory.HBM, True),
}
CONSTANTS: dict[str, int] = {
    NL + "tile_size.pmax": 128,
    NL + "tile_size.psum_fmax": 512,
    NL + "tile_size.gemm_stationary_fmax": 128,
    NL + "tile_size.gemm_moving_fmax": 512,
    NL + "tile_size.bn_stats_fmax": 512,
    NL + "tile_size.psum_min_align": 4,
    NL + "tile_size.sbuf_min_align": 1,
}
DTYPE_BYTES: dict[str, int] = {
    "bool": 1,
    "bool_": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "float8_e4m3": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float16": 2,
    "bfloat16": 2,
    "tfloat32": 4,
    "float32": 4,
}
