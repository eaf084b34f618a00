"""The ways a kernel is launched: constexprs and compiler options, for each configuration."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tilewright.analysis.detectors.common import constants_at, stated_arguments
from tilewright.analysis.intervals import Numbers
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.tiles import TileFacts, Tiles, tiles_of
from tilewright.analysis.values import Value
from tilewright.source.constants import Evaluator, Undecidable
from tilewright.source.host import resolve
from tilewright.source.model import Config, Kernel, Launch, Module
from tilewright.source.text import Range

Option = int | float | bool | str | None
_MOST = 256
_DEFAULT_WARPS = 4


@dataclass(frozen=True)
class Setting:
    """One launch of a kernel with one configuration.

    Attributes:
        numbers: parameters that are known, and the grid of a captured launch.
        options: compiler options that are stated; None where the value is not literal.
        range: what states them: the configuration, the launch, or the kernel's name.
        config: the autotune configuration, None for a kernel that is not tuned.
        captured: whether the shapes of the problem are known.
    """

    numbers: Numbers
    options: Mapping[str, Option]
    range: Range
    config: Config | None = field(default=None, compare=False)
    captured: bool = False

    @property
    def warps(self) -> int | None:
        """Warps of a program; None if they are stated in a way that cannot be read."""
        return self._whole("num_warps", _DEFAULT_WARPS)

    @property
    def stages(self) -> int | None:
        """Stages of the software pipeline, None unless they are stated as a number."""
        return self._whole("num_stages", None)

    def _whole(self, option: str, default: int | None) -> int | None:
        value = self.options.get(option, default)
        return value if isinstance(value, int) and value > 0 else None


def settings_of(module: Module, kernel: Kernel, context: AnalysisContext) -> list[Setting]:
    """Every launch that was captured, else every launch of the file, in each configuration."""
    if kernel.autotune is not None and not kernel.autotune.configs:
        return []
    bases = list(_captured(module, kernel, context)) or list(_stated(module, kernel))
    configs = kernel.autotune.configs if kernel.autotune is not None else None
    if configs:
        bases = bases or [Setting(Numbers(), {}, kernel.name_range)]
        return [_configured(base, config) for base in bases for config in configs][:_MOST]
    return bases[:_MOST]


def symbolic_tiles(module: Module, kernel: Kernel) -> Tiles:
    """Tiles whose extents are constexprs still, to be filled in for each setting."""
    return tiles_of(module, kernel)


class SizedTiles:
    """Tiles with symbolic extents and the element types that captured launches tell."""

    def __init__(self, module: Module, kernel: Kernel, context: AnalysisContext) -> None:
        self._symbolic = symbolic_tiles(module, kernel)
        self._typed = tiles_of(module, kernel, context) if context.launches else self._symbolic

    def facts_of(self, value: Value) -> TileFacts:
        """What is known of a value in whatever setting."""
        return replace(self._symbolic.facts_of(value), dtype=self._typed.facts_of(value).dtype)


def _captured(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Setting]:
    places = module.launches_of(kernel.name)
    for launch in context.launches:
        if launch.kernel == kernel.name:
            numbers = Numbers.of_launch(launch)
            if len(places) == 1 and not set(kernel.constexprs) <= set(numbers.parameters):
                stated = stated_arguments(module, kernel, places[0])
                numbers = Numbers({**stated, **numbers.parameters}, numbers.grid)
            yield Setting(numbers, launch.options, kernel.name_range, captured=True)


def _stated(module: Module, kernel: Kernel) -> Iterator[Setting]:
    for launch in module.launches_of(kernel.name):
        numbers = Numbers(stated_arguments(module, kernel, launch))
        options = _options(module, launch)
        if not launch.is_complete:
            options = {"num_warps": None, "num_stages": None, **options}
        yield Setting(numbers, options, module.index.range_of(launch.node.func))


def _options(module: Module, launch: Launch) -> dict[str, Option]:
    evaluator = Evaluator(constants_at(module, launch), {}, module.names)
    found: dict[str, Option] = {}
    for name, node in launch.options.items():
        try:
            value = evaluator.value(resolve(module, launch, node))
        except Undecidable:
            value = None
        found[name] = value if isinstance(value, int | float | str) else None
    return found


def _configured(base: Setting, config: Config) -> Setting:
    values = {n: int(v) for n, v in config.values.items() if isinstance(v, int)}
    unread = {n for n, v in config.values.items() if not isinstance(v, int)}
    known = {n: v for n, v in base.numbers.parameters.items() if n not in unread}
    # The grid that was captured is that of the configuration that happened to run.
    numbers = Numbers({**known, **values})
    options = {**base.options, **config.options}
    return Setting(numbers, options, config.range, config, base.captured)
