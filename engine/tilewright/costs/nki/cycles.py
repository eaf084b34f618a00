"""Cycles of one instruction on each engine that may run it.

They are those of the vendor's reference of ``nki.isa``, where an engine works on one element of
each partition in a cycle; where a published profile contradicts it, the chip's ``calibration`` has
the value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tilewright.analysis.nki.catalogue import DTYPE_BYTES
from tilewright.costs.nki.model import Engine
from tilewright.hardware.neuron import NeuronChip
from tilewright.worker.messages.nki import InstructionRecord, TilePart

ELEMENTWISE = frozenset(
    (
        *("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "mod", "fmod"),
        *("equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "abs"),
        *("logical_and", "logical_or", "logical_xor", "logical_not", "negative", "floor", "ceil"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"),
        *("trunc", "tensor_tensor", "tensor_scalar", "operator", "loop_reduce"),
    )
)
COPIES = frozenset({"copy", "tensor_copy"})
FILLS = frozenset({"memset", "full", "zeros", "ones"})
_ACTIVATIONS = frozenset(
    (
        *("activation", "activation_reduce", "exponential", "exp", "log", "sqrt", "rsqrt", "tanh"),
        *("sigmoid", "silu", "silu_dx", "gelu", "gelu_dx", "gelu_apprx_tanh", "square", "sign"),
        *("gelu_apprx_sigmoid", "erf", "erf_dx", "sin", "cos", "arctan", "softplus", "mish"),
        *("relu",),
    )
)
_REDUCTIONS = frozenset({"tensor_reduce", "sum", "prod", "max", "min", "mean", "var", "all", "any"})
_PASSES: Mapping[str, float] = {
    "tensor_tensor_scan": 2, "scalar_tensor_tensor": 2, "where": 2, "tensor_copy_predicated": 2,
    "select_reduce": 2, "range_select": 2, "tensor_scalar_reduce": 1, "bn_stats": 1,
    "bn_aggr": 13 / 3, "max8": 1, "nc_find_index8": 1, "nc_match_replace8": 1,
    "nc_stream_shuffle": 1, "tensor_scalar_cumulative": 1, "dropout": 1, "nc_transpose": 1,
    "transpose": 1,
}  # fmt: skip
"""Cycles an element on the vector engine."""
_ON_GPSIMD = frozenset(
    ("iota", "affine_select", "rand", "rand2", "local_gather", "nc_n_gather", "rng")
)
_DYNAMIC_CYCLES = 600
"""Of a copy to or from a place that a register holds."""
_GPSIMD_PROCESSORS = 8


@dataclass(frozen=True)
class Cycles:
    """Without overhead, by engine; ``documented`` where the vendor states the cost."""

    by_engine: Mapping[Engine, float]
    documented: bool = True


def cycles_of(record: InstructionRecord, chip: NeuronChip, *, of_one_tile: bool = False) -> Cycles:
    """The cycles of one instruction that is neither a product nor a transfer.

    Args:
        of_one_tile: its two tiles come from one, so that one pass over that is enough.
    """
    name = short_name(record)
    rule = next((rule for names, rule in _RULES if name in names), None)
    if name.startswith("tensor_copy_dynamic"):
        rule = _dynamic
    if of_one_tile:
        rule = _with_scalar
    found = _otherwise(record) if rule is None else Cycles(rule(record, chip))
    named = record["engine"]
    if not named or Engine(named) in found.by_engine:
        return found
    start = chip.gpsimd_start_cycles if named == Engine.GPSIMD else 0
    return Cycles({Engine(named): max(found.by_engine.values()) + start}, documented=False)


def short_name(record: InstructionRecord) -> str:
    """The last part of its operation: "nc_matmul"."""
    return record["op"].rpartition(".")[2]


def element_bytes(tile: TilePart) -> int:
    """Of a tile; 4 where its type is not known."""
    return DTYPE_BYTES.get(tile["dtype"], 4)


_ByEngine = Mapping[Engine, float]


def _copied(record: InstructionRecord, chip: NeuronChip) -> _ByEngine:
    n = record["free"]
    found = {
        Engine.VECTOR: _fast_mode_cycles(record, "tensor_copy", n, chip),
        Engine.SCALAR: float(n),
    }
    if all(tile["memory"] != "PSUM" for tile in (*record["reads"], *record["writes"])):
        found[Engine.GPSIMD] = float(n)
    return found


def _with_scalar(record: InstructionRecord, chip: NeuronChip) -> _ByEngine:
    n = record["free"]
    return {
        Engine.VECTOR: _fast_mode_cycles(record, "tensor_scalar", n, chip),
        Engine.SCALAR: float(n),
    }


def _computed(record: InstructionRecord, chip: NeuronChip) -> _ByEngine:
    """With a scalar, or with a column of scalars, or with two tiles."""
    reads, n, name = record["reads"], record["free"], short_name(record)
    tiles = [tile for tile in reads if tile["free"] > 1 or n == 1]
    if len(tiles) < 2 and name not in ("loop_reduce", "tensor_tensor"):
        return _with_scalar(record, chip)
    if sum(tile["memory"] == "PSUM" for tile in reads) == 1:
        return {Engine.VECTOR: float(n)}
    found = {Engine.VECTOR: _fast_mode_cycles(record, "tensor_tensor", 2 * n, chip)}
    if name == "multiply" and len(reads) == 2 and reads[0] == reads[1]:
        found[Engine.SCALAR] = float(n)  # a square
    return found


def _activated(record: InstructionRecord, chip: NeuronChip) -> _ByEngine:
    name, n = short_name(record), float(record["free"])
    if name == "square":
        return {Engine.SCALAR: n, Engine.VECTOR: 2 * n}
    return {Engine.SCALAR: n + (chip.issue_cycles if name == "activation_reduce" else 0)}


def _reduced(record: InstructionRecord, chip: NeuronChip) -> _ByEngine:
    read = max((tile["free"] for tile in record["reads"]), default=1)
    return {
        Engine.VECTOR: _fast_mode_cycles(record, "tensor_reduce", max(record["free"], read), chip)
    }


def _reciprocal(record: InstructionRecord, chip: NeuronChip) -> _ByEngine:
    return {Engine.VECTOR: record["free"] * chip.calibration.elementwise_cycles["reciprocal"]}


def _filled(record: InstructionRecord, chip: NeuronChip) -> _ByEngine:
    del chip
    return {Engine.VECTOR: float(record["free"]), Engine.GPSIMD: float(record["free"])}


def _passes(record: InstructionRecord, chip: NeuronChip) -> _ByEngine:
    del chip
    return {Engine.VECTOR: record["free"] * _PASSES[short_name(record)]}


def _gpsimd(record: InstructionRecord, chip: NeuronChip) -> _ByEngine:
    return {Engine.GPSIMD: float(record["free"] + chip.gpsimd_start_cycles)}


def _dynamic(record: InstructionRecord, chip: NeuronChip) -> _ByEngine:
    del chip
    return {Engine.VECTOR: float(record["free"] + _DYNAMIC_CYCLES)}


def _otherwise(record: InstructionRecord) -> Cycles:
    """One cycle an element, which no document states."""
    if short_name(record) == "tensor_partition_reduce":
        cycles = record["free"] * record["partitions"] / _GPSIMD_PROCESSORS
        return Cycles({Engine.GPSIMD: cycles}, documented=False)
    return Cycles({Engine.VECTOR: float(record["free"])}, documented=False)


def _fast_mode_cycles(
    record: InstructionRecord, kind: str, cycles: float, chip: NeuronChip
) -> float:
    """Fewer cycles for 2-byte types, where all tiles lie in SBUF."""
    tiles = (*record["reads"], *record["writes"])
    small = all(element_bytes(t) == 2 and t["memory"] == "SBUF" for t in tiles)
    return cycles / chip.vector_speedup.get(kind, 1.0) if small and tiles else float(cycles)


_Rule = Callable[[InstructionRecord, NeuronChip], _ByEngine]
_RULES: tuple[tuple[frozenset[str], _Rule], ...] = (
    (COPIES, _copied),
    (ELEMENTWISE, _computed),
    (_ACTIVATIONS, _activated),
    (_REDUCTIONS, _reduced),
    (frozenset({"reciprocal"}), _reciprocal),
    (FILLS, _filled),
    (frozenset(_PASSES), _passes),
    (_ON_GPSIMD, _gpsimd),
)
