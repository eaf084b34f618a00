"""The outline of a file's kernels, and the parts of a file that can be folded."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from tilewright.source.autotuning import AUTOTUNE, CONFIG
from tilewright.source.model import Config, Kernel, Launch, Module
from tilewright.source.text import Range


class SymbolKind(StrEnum):
    """What an entry of an outline is."""

    KERNEL = "kernel"
    CONSTEXPR = "constexpr"
    CONFIGURATIONS = "configurations"
    CONFIGURATION = "configuration"
    LAUNCH = "launch"


@dataclass(frozen=True)
class Symbol:
    """An entry of an outline. ``name_range`` lies in ``range``, and so do the children's."""

    name: str
    kind: SymbolKind
    detail: str
    range: Range
    name_range: Range
    children: tuple["Symbol", ...] = ()


def outline(module: Module) -> tuple[Symbol, ...]:
    """Kernels with their constexprs and configurations, and launches, in the order of the text."""
    found: dict[tuple[SymbolKind, Range], Symbol] = {}
    for kernel in module.kernels:
        entry = _kernel(module, kernel)
        found[entry.kind, entry.range] = entry
        apart = [c for c in _configs(kernel) if not _is_inside(c.range, kernel.range)]
        if apart:
            # Several kernels may share a list: it is one entry.
            group = _group(kernel, apart)
            found.setdefault((group.kind, group.range), group)
    for launch in module.launches:
        entry = _launch(module, launch)
        found.setdefault((entry.kind, entry.range), entry)
    return tuple(sorted(found.values(), key=lambda symbol: symbol.range))


def _kernel(module: Module, kernel: Kernel) -> Symbol:
    inside = [c for c in _configs(kernel) if _is_inside(c.range, kernel.range)]
    children = [
        Symbol(p.name, SymbolKind.CONSTEXPR, _default(p.default), p.range, p.range)
        for p in kernel.parameters
        if p.is_constexpr
    ]
    children += _by_place(inside)
    counts = (
        _count(len(kernel.constexprs), "constexpr"),
        _count(len(_configs(kernel)), "configuration"),
        _count(len(module.launches_of(kernel.name)), "launch", "launches"),
    )
    return Symbol(
        kernel.qualified_name or kernel.name,
        SymbolKind.KERNEL,
        ", ".join(part for part in counts if part),
        kernel.range,
        kernel.name_range,
        tuple(sorted(children, key=lambda symbol: symbol.range)),
    )


def _count(number: int, one: str, many: str | None = None) -> str:
    if not number:
        return ""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def _default(text: str | None) -> str:
    return "constexpr" if text is None else f"constexpr = {text}"


def _configs(kernel: Kernel) -> Sequence[Config]:
    tuned = kernel.autotune
    return () if tuned is None or tuned.configs is None else tuned.configs


def _is_inside(inner: Range, outer: Range) -> bool:
    return outer.contains(inner.line, inner.column) and outer.contains(
        inner.end_line, inner.end_column
    )


def _by_place(configs: Sequence[Config]) -> list[Symbol]:
    """An entry for each place: one ``triton.Config`` in a loop stands for many."""
    ordered = sorted(configs, key=lambda config: config.range)
    return [
        _configuration(place, tuple(group))
        for place, group in groupby(ordered, key=lambda config: config.range)
    ]


def _configuration(place: Range, configs: Sequence[Config]) -> Symbol:
    if len(configs) > 1:
        name, detail = f"{len(configs)} configurations", "of one expression"
    else:
        (config,) = configs
        parts = {**config.values, **config.options}
        name = ", ".join(f"{key}={_value(value)}" for key, value in parts.items()) or "defaults"
        detail = ""
    return Symbol(name, SymbolKind.CONFIGURATION, detail, place, place)


def _value(value: object) -> str:
    return "?" if value is None else str(value)


def _group(kernel: Kernel, configs: Sequence[Config]) -> Symbol:
    places = [config.range for config in configs]
    last = max((place.end_line, place.end_column) for place in places)
    whole = Range(min(places).line, min(places).column, *last)
    children = tuple(_by_place(configs))
    name = f"{kernel.name} configurations"
    count = _count(len(configs), "configuration")
    first = children[0].range
    return Symbol(name, SymbolKind.CONFIGURATIONS, count, whole, first, children)


def _launch(module: Module, launch: Launch) -> Symbol:
    where = f"in {launch.host_function}" if launch.host_function else "at module level"
    start = launch.range
    end = module.index.range_of(launch.node.func)
    name_range = Range(start.line, start.column, end.end_line, end.end_column)
    return Symbol(f"{launch.kernel}[grid]", SymbolKind.LAUNCH, where, start, name_range)


def folds(module: Module) -> tuple[tuple[int, int], ...]:
    """First and last 1-based lines of what can be folded, outermost first.

    Kernels with their decorators, their signatures, and lists of configurations; and every other
    block of the file, since an editor that gets ranges from a server makes none of its own.
    """
    found = {(kernel.range.line, kernel.range.end_line) for kernel in module.kernels}
    for node in ast.walk(module.tree):
        found |= set(_folds_of(module, node))
    return tuple(sorted((f for f in found if f[0] < f[1]), key=lambda f: (f[0], -f[1])))


def _folds_of(module: Module, node: ast.AST) -> Iterator[tuple[int, int]]:
    if isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try):
        yield from _branches(node)
    elif isinstance(node, _WHOLE) or (isinstance(node, ast.Call) and _is_tuning(module, node)):
        yield node.lineno, node.end_lineno or node.lineno
    if isinstance(node, ast.FunctionDef):
        yield node.lineno, node.body[0].lineno - 1


_WHOLE = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.List,
    ast.Tuple,
    ast.Dict,
    ast.ListComp,
)


def _is_tuning(module: Module, node: ast.Call) -> bool:
    """Whether a call is a configuration, an autotuner, or a launch."""
    return module.names.is_call(node, CONFIG, AUTOTUNE) or module.lookup.launch_of(node) is not None


def _branches(node: ast.AST) -> Iterator[tuple[int, int]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if block:
            first = getattr(node, "lineno", 0) if field == "body" else block[0].lineno - 1
            yield first, block[-1].end_lineno or block[-1].lineno
    for handler in getattr(node, "handlers", ()):
        yield handler.lineno, handler.end_lineno or handler.lineno
