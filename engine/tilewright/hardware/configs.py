"""Launch configurations worth trying on a chip for a shape, best first.

Candidates are pruned by what the chip cannot hold and by what the shape cannot use, then
ordered by an estimate: share of the loads that become arithmetic, times how full the last
round of programs leaves the compute units, times how little of the tiles is padding.
The estimate only orders; what is faster is for a measurement to say.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product

from tilewright.hardware.model import Chip, DotConfig, RowConfig

TILES_MN = (16, 32, 64, 128, 256)
TILES_K = (16, 32, 64, 128, 256)
ACCUMULATOR_BYTES = 4
ROW_PADDING = 16
BALANCE = 32.0
MAX_TENSOR_ELEMENTS = 1 << 20
ROW_SHARE = 0.25
ROW_ELEMENTS_PER_THREAD = 16
VARIANTS = 4


def next_power_of_two(value: int) -> int:
    """The smallest power of two that is not below ``value``; 1 for anything below 2."""
    return 1 << max(0, value - 1).bit_length()


def staging_bytes(chip: Chip, config: DotConfig, element_bytes: int) -> int:
    """Shared memory the operands take: one buffer a stage, one fewer on AMD."""
    buffers = max(1, config.num_stages - 1) if chip.backend == "hip" else config.num_stages
    a = config.block_m * config.block_k
    b = config.block_k * config.block_n
    return buffers * (a + b) * element_bytes


def accumulator_bytes_per_warp(config: DotConfig) -> float:
    """Bytes of registers a warp holds of the fp32 accumulator."""
    return config.block_m * config.block_n * ACCUMULATOR_BYTES / config.num_warps


def register_budget(chip: Chip, config: DotConfig) -> int:
    """Bytes of registers a warp has in the mode of ``config``."""
    return chip.register_bytes // 2 if config.register_mode == "128" else chip.register_bytes


def warp_limit(chip: Chip, config: DotConfig) -> int:
    """Most warps a program may have in the register mode of ``config``."""
    large = config.register_mode is not None and config.register_mode != "128"
    if large and chip.max_warps_large_registers is not None:
        return chip.max_warps_large_registers
    return chip.max_warps


def operand_bytes_per_warp(config: DotConfig, element_bytes: int) -> float:
    """Least bytes of registers a warp holds of both operands, over all ways to split the tile."""
    a = config.block_m * config.block_k * element_bytes
    b = config.block_k * config.block_n * element_bytes
    splits = (1 << power for power in range(config.num_warps.bit_length()))
    return min(a / rows + b * rows / config.num_warps for rows in splits)


def stored_bytes(chip: Chip, config: DotConfig, element_bytes: int) -> int:
    """Shared memory that the result passes through, on its way to pointers, on Intel; else 0.

    Triton for Intel lays the whole tile out anew, each row with 16 bytes more; elsewhere the tile
    goes in pieces through what the operands took.
    """
    if chip.backend != "xpu":
        return 0
    return config.block_m * (config.block_n * element_bytes + ROW_PADDING)


def fits(chip: Chip, config: DotConfig, element_bytes: int, whole_blocks: bool = False) -> bool:
    """Whether the chip can hold the configuration without spilling the accumulator.

    ``whole_blocks``: the result is stored by a tensor descriptor or block pointer.
    """
    budget = register_budget(chip, config)
    held = accumulator_bytes_per_warp(config)
    if chip.backend == "xpu" and held + operand_bytes_per_warp(config, element_bytes) > budget:
        return False
    stored = 0 if whole_blocks else stored_bytes(chip, config, element_bytes)
    return (
        max(staging_bytes(chip, config, element_bytes), stored) <= chip.shared_limit
        and held <= chip.menu.accumulator_share * budget
        and config.num_warps <= warp_limit(chip, config)
    )


def dot_configs(
    chip: Chip,
    m: int,
    n: int,
    k: int,
    element_bytes: int,
    limit: int = 12,
    whole_blocks: bool = False,
) -> tuple[DotConfig, ...]:
    """At most ``limit`` configurations for an (m, k) x (k, n) product, best estimate first.

    ``whole_blocks``: the kernel stores by a tensor descriptor or block pointer, which on Intel
    needs no shared memory and so allows larger tiles.
    Raises ValueError for extents or sizes below 1.
    """
    if min(m, n, k, element_bytes) < 1:
        raise ValueError("extents and the element size must be at least 1")
    canonical = set(chip.menu.canonical)
    found: dict[DotConfig, float] = {}
    for config in (*chip.menu.canonical, *_generated(chip, element_bytes)):
        useful = _useful(config, m, n, k, element_bytes)
        if useful and fits(chip, config, element_bytes, whole_blocks):
            bonus = 1.05 if config in canonical else 1.0
            grouped = _with_group(config, m)
            score = bonus * _estimate(chip, grouped, m, n, element_bytes)
            found[grouped] = max(score, found.get(grouped, 0.0))
    ordered = sorted(found, key=lambda config: (-round(found[config], 9), _tie(chip, config)))
    return tuple(islice(_varied(ordered), limit))


def _varied(ordered: list[DotConfig]) -> Iterator[DotConfig]:
    """The same order with at most ``VARIANTS`` of one tile: depths and stages are near misses."""
    seen: Counter[tuple[int, int]] = Counter()
    for config in ordered:
        tile = (config.block_m, config.block_n)
        seen[tile] += 1
        if seen[tile] <= VARIANTS:
            yield config


def _generated(chip: Chip, element_bytes: int) -> Iterator[DotConfig]:
    menu = chip.menu
    for bm, bn, bk, warps, stages in product(TILES_MN, TILES_MN, TILES_K, menu.warps, menu.stages):
        # A warp with less than one 16 x 16 tile has nothing to do.
        if bm * bn >= warps * 256 or warps == min(menu.warps):
            yield DotConfig(bm, bn, bk, warps, stages, menu.group_m, menu.register_mode)


def _useful(config: DotConfig, m: int, n: int, k: int, element_bytes: int) -> bool:
    """No tile beyond the padded shape; K at least one tensor instruction deep."""
    shallowest = 32 // element_bytes if element_bytes <= 4 else 4
    shallowest = max(16, shallowest)
    return (
        config.block_m <= max(16, next_power_of_two(m))
        and config.block_n <= max(16, next_power_of_two(n))
        and shallowest <= config.block_k <= max(shallowest, next_power_of_two(k))
    )


def _with_group(config: DotConfig, m: int) -> DotConfig:
    rows = -(-m // config.block_m)
    group = min(config.group_m, next_power_of_two(rows))
    return config if group == config.group_m else replace(config, group_m=group)


def _estimate(chip: Chip, config: DotConfig, m: int, n: int, element_bytes: int) -> float:
    rows, columns = -(-m // config.block_m), -(-n // config.block_n)
    programs = rows * columns
    rounds = -(-programs // chip.compute_units)
    filled = programs / (rounds * chip.compute_units)
    wanted = m * n / (programs * config.block_m * config.block_n)
    intensity = config.block_m * config.block_n / (config.block_m + config.block_n)
    worth = intensity / (intensity + BALANCE)
    return filled * wanted * worth * _preference(chip, config, element_bytes)


def _preference(chip: Chip, config: DotConfig, element_bytes: int) -> float:
    """Small factors that order variants of one tile: K depth, bytes in flight, warps."""
    best_k = max(16, chip.menu.k_bytes // element_bytes)
    ratio = max(config.block_k, best_k) // min(config.block_k, best_k)
    depth = 0.88 ** (ratio.bit_length() - 1)
    staged = staging_bytes(chip, config, element_bytes)
    in_flight = math.pow(min(1.0, staged / max(1, chip.menu.bytes_in_flight)), 0.3)
    held = accumulator_bytes_per_warp(config) / register_budget(chip, config)
    return depth * in_flight * (0.97 if held < 0.2 else 1.0)


def _tie(chip: Chip, config: DotConfig) -> tuple[int, ...]:
    stages = chip.menu.stages
    preferred = stages.index(config.num_stages) if config.num_stages in stages else len(stages)
    return (
        -config.block_n,
        -config.block_m,
        config.num_warps,
        preferred,
        config.num_stages,
        config.block_k,
        config.group_m,
    )


def row_configs(chip: Chip, n: int, element_bytes: int) -> tuple[RowConfig, ...]:
    """Configurations for a kernel with one row of ``n`` elements a program, best first.

    The whole row stays in registers as fp32 while it takes no more than a quarter of what the
    warps hold (a kernel keeps about two copies); longer rows are read in pieces. Warps are
    ordered by how near each thread comes to 16 elements of the row, which was within a few
    percent of the fastest for softmax on one H200, in fp16 and fp32 alike.
    Raises ValueError for extents or sizes below 1.
    """
    if n < 1 or element_bytes < 1:
        raise ValueError("the extent and the element size must be at least 1")
    block = min(next_power_of_two(n), MAX_TENSOR_ELEMENTS)
    resident = [RowConfig(block, w, block >= n) for w in _row_warps(chip, block)]
    if not resident or block < n:
        block = _largest_block(chip)
        resident = [RowConfig(block, w, False) for w in _row_warps(chip, block)]
    return tuple(sorted(resident, key=lambda config: _row_distance(chip, config, n)))


def _row_warps(chip: Chip, block: int) -> list[int]:
    """Powers of two of warps that hold the block, none with idle threads except a single warp."""
    limit = chip.max_warps_large_registers or chip.max_warps
    found = []
    warps = 1
    while warps <= limit:
        held = block * ACCUMULATOR_BYTES / warps
        busy = warps == 1 or block >= warps * chip.warp_size
        if busy and held <= ROW_SHARE * chip.register_bytes:
            found.append(warps)
        warps *= 2
    return found


def _largest_block(chip: Chip) -> int:
    limit = chip.max_warps_large_registers or chip.max_warps
    block = 1
    while 2 * block * ACCUMULATOR_BYTES <= ROW_SHARE * chip.register_bytes * limit:
        block *= 2
    return block


def _row_distance(chip: Chip, config: RowConfig, n: int) -> tuple[float, int]:
    held = min(config.block, n) / (config.num_warps * chip.warp_size)
    away = held / ROW_ELEMENTS_PER_THREAD
    return max(away, 1 / away), config.num_warps
