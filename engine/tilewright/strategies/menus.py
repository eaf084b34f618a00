"""Launch configurations worth a look: a menu from the chip's figures, and steps between them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilewright.hardware.configs import dot_configs, row_configs
from tilewright.hardware.model import Chip
from tilewright.rewrites.tiles import TileKind, Tunable
from tilewright.targets.model import LaunchFacts

MENU_SIZE = 24
TILE_RANGE: Mapping[str, tuple[int, int]] = {
    "m": (16, 256),
    "n": (16, 256),
    "k": (16, 128),
    "group": (1, 16),
    "block": (128, 8192),
    "row": (16, 65536),
}
OPTION_RANGE: Mapping[str, tuple[int, int]] = {"num_warps": (1, 32), "num_stages": (1, 6)}
ELEMENT_BYTES: Mapping[str, int] = {"fp64": 8, "i64": 8, "fp32": 4, "i32": 4, "fp16": 2, "bf16": 2}
DEFAULT_OPTIONS: Mapping[str, int] = {"num_warps": 4, "num_stages": 3}


@dataclass(frozen=True)
class Setting:
    """Constexpr values and compiler options to launch a kernel with."""

    values: Mapping[str, int]
    options: Mapping[str, int | str]

    def __str__(self) -> str:
        return " ".join(
            f"{name}={value}" for name, value in {**self.values, **self.options}.items()
        )


def menu(found: Tunable, launch: LaunchFacts, on: Chip) -> list[Setting]:
    """What to look at first, best guess first; what would come apart from a tie is left out."""
    if found.kind is TileKind.DOT:
        every = _dot_menu(found, launch, on)
    elif found.kind is TileKind.ROW:
        every = _row_menu(found, launch, on)
    else:
        every = _element_menu(found)
    return [one for one in every if not found.refusal(one.values)]


def _dot_menu(found: Tunable, launch: LaunchFacts, on: Chip) -> Iterator[Setting]:
    extents = [_extent(found, launch, role) for role in ("m", "n", "k")]
    m, n, k = (extent or 4096 for extent in extents)
    size, whole = _element_bytes(found, launch), found.whole_blocks
    for config in dot_configs(on, m, n, k, size, limit=MENU_SIZE, whole_blocks=whole):
        by_role = {
            "m": config.block_m,
            "n": config.block_n,
            "k": config.block_k,
            "group": config.group_m,
        }
        values = {found.roles[r]: v for r, v in by_role.items() if found.roles.get(r) in found.free}
        options: dict[str, int | str] = {
            "num_warps": config.num_warps,
            "num_stages": config.num_stages,
        }
        if config.register_mode is not None:
            options["grf_mode"] = config.register_mode
        yield Setting(values, options)


def _row_menu(found: Tunable, launch: LaunchFacts, on: Chip) -> Iterator[Setting]:
    block = launch.argument(found.roles["row"])
    width = _extent(found, launch, "row")
    if width is None:
        width = block.value if block is not None and isinstance(block.value, int) else 1024
    for config in row_configs(on, width, _element_bytes(found, launch)):
        values = {found.roles["row"]: config.block} if found.roles["row"] in found.free else {}
        yield Setting(values, {"num_warps": config.num_warps})


def _element_menu(found: Tunable) -> Iterator[Setting]:
    name = found.roles["block"]
    for block in (512, 1024, 2048, 4096):
        for warps in (4, 8):
            yield Setting({name: block} if name in found.free else {}, {"num_warps": warps})


def neighbours(setting: Setting, found: Tunable, on: Chip) -> list[Setting]:
    """One step in each direction: half or twice a tile or the warps, a stage more or less."""
    steps: list[Setting] = []
    full = {**{n: v for n, v in found.values.items() if v and n in found.free}, **setting.values}
    for role, name in found.roles.items():
        if name not in found.free or name not in full:
            continue
        for value in _in_range((full[name] // 2, full[name] * 2), TILE_RANGE[role]):
            steps.append(Setting({**full, name: value}, setting.options))
    options: dict[str, int | str] = {**DEFAULT_OPTIONS, **_integers(found.options)}
    options |= setting.options
    warps, stages = (int(options[name]) for name in ("num_warps", "num_stages"))
    for value in _in_range((warps // 2, warps * 2), (1, min(32, on.max_warps))):
        steps.append(Setting(full, {**options, "num_warps": value}))
    if found.kind is TileKind.DOT:
        for value in _in_range((stages - 1, stages + 1), OPTION_RANGE["num_stages"]):
            steps.append(Setting(full, {**options, "num_stages": value}))
    return [one for one in steps if not found.refusal(one.values)]


def _in_range(values: tuple[int, ...], bounds: tuple[int, int]) -> list[int]:
    return [value for value in values if bounds[0] <= value <= bounds[1]]


def _integers(options: Mapping[str, object]) -> dict[str, int]:
    return {name: value for name, value in options.items() if type(value) is int}


def _extent(found: Tunable, launch: LaunchFacts, role: str) -> int | None:
    argument = launch.argument(found.extents[role]) if role in found.extents else None
    value = argument.value if argument else None
    return value if isinstance(value, int) else None


def _element_bytes(found: Tunable, launch: LaunchFacts) -> int:
    named = found.operands.get("lhs")
    pointers = [a for a in launch.arguments if a.kind == "tensor" and named in (None, a.name)]
    return ELEMENT_BYTES.get(pointers[0].type.lstrip("*"), 4) if pointers else 2
