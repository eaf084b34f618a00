"""Which values of launch options and block sizes a chip allows, for completion."""

from collections.abc import Iterator, Mapping, Sequence

from tilewright.analysis.tile_uses import TileUse, tile_cost
from tilewright.figures import kibibytes
from tilewright.hardware.model import Chip
from tilewright.knowledge.language_notes import OptionNote
from tilewright.knowledge.model import Constraint
from tilewright_server.option_costs import stage_bytes, stages_of, warps_of

_ASSUMED_BYTES = 2
_DOT_SIZES = tuple(1 << power for power in range(4, 9))
_ROW_SIZES = tuple(1 << power for power in range(6, 15))
_MOST_ELEMENTS = 1 << 20


def option_values(
    name: str, note: OptionNote, chip: Chip | None, constraints: Sequence[Constraint]
) -> tuple[str, ...]:
    """The values of an option that are worth offering and that the chip takes, as written."""
    values = note.values
    for constraint in constraints:
        given = constraint.check.parameters
        if given.get("option") != name:
            continue
        listed, maximum = given.get("values"), given.get("maximum")
        if constraint.check.name == "option_values" and isinstance(listed, tuple):
            values = tuple(f'"{value}"' for value in listed)
        if constraint.check.name == "option_maximum" and isinstance(maximum, int):
            values = tuple(v for v in values if not v.isdigit() or int(v) <= maximum)
    if name == "num_warps" and chip is not None:
        values = tuple(v for v in values if int(v) <= chip.max_warps)
    return values


def block_sizes(
    name: str, uses: Sequence[TileUse], settings: Mapping[str, object], chip: Chip | None
) -> Iterator[tuple[int, str]]:
    """Powers of two for a block size that fit the chip, each with what its tiles take there."""
    own = [use for use in uses if name in use.constants]
    has_dot = any(use.kind == "dot" for use in uses)
    for size in _DOT_SIZES if has_dot else _ROW_SIZES:
        said = _cost_text(own, uses, {**settings, name: size}, chip)
        if said is not None:
            yield size, said


def _cost_text(
    own: Sequence[TileUse],
    uses: Sequence[TileUse],
    settings: Mapping[str, object],
    chip: Chip | None,
) -> str | None:
    """What a choice takes; empty where that is not known, None where it does not fit."""
    cost = tile_cost(uses, settings, _ASSUMED_BYTES)
    if chip is None or cost is None or not own:
        return ""
    threads = warps_of(settings) * chip.warp_size
    if cost.largest > _MOST_ELEMENTS or cost.accumulators / threads > chip.max_registers:
        return None
    if not cost.staged or chip.backend == "xpu":
        return f"{cost.largest} elements in the largest tile"
    taken = stage_bytes(cost.staged, stages_of(settings, chip), chip)
    if taken > chip.shared_limit:
        return None
    return f"{kibibytes(taken)} of {kibibytes(chip.shared_limit)} shared memory"
