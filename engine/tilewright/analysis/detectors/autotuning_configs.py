"""The detector of poor configuration lists: repeated, impossible, oversized, too many."""

import ast
from collections.abc import Iterator, Sequence

from tilewright.analysis.detectors.block_extents import Extents, extent, extents_of
from tilewright.analysis.detectors.chips import chip_of
from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.detectors.settings import Setting, SizedTiles, settings_of
from tilewright.analysis.detectors.sizes import BYTES, elements_of
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.tiles import TileFacts
from tilewright.analysis.values import Flow
from tilewright.hardware.configs import next_power_of_two
from tilewright.hardware.model import Chip
from tilewright.knowledge.model import ADVICE, HINT
from tilewright.source.autotuning import CONFIG_DEFAULTS
from tilewright.source.device_names import VENDOR_OF_OPTION
from tilewright.source.model import Config, Kernel, Module
from tilewright.source.text import Range

_MANY = 48
_REPEAT = "repeat an earlier one"
_FEW = 4
"""Where fewer than one in so many configurations repeats another, little time is lost."""


@detector("suboptimal_autotune_configs")
def suboptimal_autotune_configs(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Configurations that cost tuning time and cannot win."""
    for kernel, flow in triton_kernels(module):
        configs = kernel.autotune.configs if kernel.autotune is not None else None
        if not configs or len(configs) < 2:
            continue
        for reason, wasted in _wasted(module, kernel, flow, configs, context):
            if wasted:
                yield Finding(
                    _place(kernel, wasted[0]),
                    f"{len(wasted)} of {len(configs)} configurations {reason}.",
                    kernel.name,
                    severity=_severity(reason, wasted, configs),
                )
        if len(configs) > _MANY and not _prunes(module, kernel):
            yield Finding(
                _place(kernel, configs[0]),
                f"{len(configs)} configurations are each compiled and timed for every new key; "
                "prune_configs_by would drop those that cannot win.",
                kernel.name,
                severity=ADVICE,
            )


def _severity(reason: str, wasted: Sequence[Config], configs: Sequence[Config]) -> int | None:
    """How severe it is; None for what the taxonomy states.

    The tuner times repeats once more, of its compiled kernel, and skips what does not fit, which
    takes tuning time alone; an odd num_warps is an error that it does not catch.
    """
    if any(c.overwritten or _is_odd(c.options.get("num_warps")) for c in wasted):
        return None
    return HINT if reason == _REPEAT and len(wasted) * _FEW < len(configs) else ADVICE


def _wasted(
    module: Module,
    kernel: Kernel,
    flow: Flow,
    configs: Sequence[Config],
    context: AnalysisContext,
) -> Iterator[tuple[str, list[Config]]]:
    lost = [config for config in configs if config.overwritten]
    names = sorted({name for config in lost for name in config.overwritten})
    yield (
        f"write {' and '.join(names)} among the kernel's parameters, where Config writes its own "
        "over it, by default 4 warps and 3 stages: give it as a keyword of Config",
        lost,
    )
    # A pruning function may choose configurations by their places in the list, for each chip.
    once = [] if _prunes(module, kernel) else [c for c in configs if not c.overwritten]
    yield _REPEAT, _repeated(once)
    yield (
        "set a num_warps that is no power of two and cannot run",
        [c for c in configs if _is_odd(c.options.get("num_warps"))],
    )
    settings = settings_of(module, kernel, context)
    chip = chip_of(context)
    if chip is not None:
        operands = _operands(module, kernel, flow, context)
        here = [s for s in settings if not _is_of_other_vendor(s, chip)]
        beyond = [s for s in here if not _runs(s, chip, operands)]
        yield f"exceed the warps or the shared memory of a program on {chip.id}", _distinct(beyond)
    if any(setting.captured for setting in settings):
        extents = extents_of(flow)
        large = [s for s in settings if s.captured and _oversized(s, extents)]
        smaller = [s for s in settings if s.captured and not _oversized(s, extents)]
        # A block that is large for every shape is waste; one that suits some case is not.
        fits = {id(s.config) for s in smaller}
        yield (
            "have a block beyond the next power of two of its extent, all padding",
            _distinct([s for s in large if id(s.config) not in fits]),
        )


def _repeated(configs: Sequence[Config]) -> list[Config]:
    seen: set[str] = set()
    found = []
    for config in configs:
        entries = [*config.values.items(), *{**CONFIG_DEFAULTS, **config.options}.items()]
        if any(value is None for _, value in entries):
            continue
        key = repr(sorted(entries, key=repr))
        if key in seen:
            found.append(config)
        seen.add(key)
    return found


def _is_odd(warps: object) -> bool:
    return isinstance(warps, int) and (warps < 1 or warps & (warps - 1) != 0)


def _distinct(settings: Sequence[Setting]) -> list[Config]:
    by_id = {id(s.config): s.config for s in settings if s.config is not None}
    return list(by_id.values())


def _operands(
    module: Module, kernel: Kernel, flow: Flow, context: AnalysisContext
) -> list[TileFacts]:
    """Tiles that the pipeline of the one product loop keeps in shared memory, one a stage."""
    dots = [(value, loops) for _, value, loops in flow.calls(TL + "dot")]
    if len(dots) != 1 or not dots[0][1]:
        return []
    tiles = SizedTiles(module, kernel, context)
    value, loops = dots[0]
    operands = [operand.uncast for operand in value.positional[:2]]
    return [tiles.facts_of(o) for o in operands if o.op == "load" and loops[-1] in o.varies]


def _is_of_other_vendor(setting: Setting, chip: Chip) -> bool:
    """Whether a configuration sets an option that another vendor's backend alone knows."""
    values = setting.config.values if setting.config is not None else {}
    vendors = {VENDOR_OF_OPTION.get(name) for name in (*setting.options, *values)}
    return not vendors <= {None, chip.backend}


def _runs(setting: Setting, chip: Chip, operands: Sequence[TileFacts]) -> bool:
    """Whether a configuration may run; True wherever that is not certain to fail."""
    if setting.warps is not None and setting.warps > _most_warps(setting, chip):
        return False
    if chip.backend == "xpu" or setting.stages is None:
        return True
    sizes = [elements_of(o.shape, setting.numbers) for o in operands]
    staged = sum(
        size * BYTES.get(o.dtype or "", 1)
        for size, o in zip(sizes, operands, strict=True)
        if size is not None
    )
    # One buffer may be saved: the tile in use can be in registers already.
    return staged * max(1, setting.stages - 1) <= chip.shared_limit


def _most_warps(setting: Setting, chip: Chip) -> int:
    large = setting.options.get(
        "grf_mode", setting.config and setting.config.values.get("grf_mode")
    )
    if large in ("256", "large", 256) and chip.max_warps_large_registers is not None:
        return chip.max_warps_large_registers
    return chip.max_warps


def _oversized(setting: Setting, extents: Extents) -> bool:
    values = setting.config.values if setting.config is not None else {}
    for name, block in values.items():
        bound = extent(extents, name, setting.numbers)
        if not isinstance(block, int) or bound is None or bound < 1:
            continue
        if block > max(16, next_power_of_two(bound)):
            return True
    return False


def _prunes(module: Module, kernel: Kernel) -> bool:
    return any(
        keyword.arg == "prune_configs_by"
        for decorator in kernel.node.decorator_list
        if isinstance(decorator, ast.Call) and module.names.is_call(decorator, "triton.autotune")
        for keyword in decorator.keywords
    )


def _place(kernel: Kernel, config: Config) -> Range:
    """The configuration, if it is written out; what a comprehension makes shares one range."""
    return config.range
