"""The points of the benchmark: each kernel of ``kernels/`` in each shape and configuration.

A kernel's file has KERNEL, SHAPES, configs(shape), arguments(shape, config, empty) and
grid(shape, config); ``empty(shape, dtype, high)`` makes a tensor, of integers below ``high``.
"""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from tilewright.worker.launches import hooks

FOLDER = Path(__file__).parent / "kernels"
FOLDERS = (FOLDER, FOLDER / "fresh", FOLDER / "blind")
"""The first kernels; those that came later; those that were timed last, after a first score."""
OPTIONS = ("num_warps", "num_stages")
Shapes = Mapping[str, Sequence[Mapping[str, int]]]


@dataclass(frozen=True)
class Point:
    """One kernel, shape and configuration."""

    kernel: str
    shape: Mapping[str, int]
    config: Mapping[str, int]

    @property
    def group(self) -> str:
        """Kernel and shape: what configurations are compared within."""
        return f"{self.kernel} " + " ".join(f"{k}={v}" for k, v in self.shape.items())

    @property
    def name(self) -> str:
        return f"{self.group} | " + " ".join(f"{k}={v}" for k, v in self.config.items())


def kernel_names() -> tuple[str, ...]:
    """Kernels of the benchmark, later ones aside."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.py")))


def file_of(kernel: str) -> Path:
    """The file of a kernel, in whichever folder it is."""
    files = [folder / f"{kernel}.py" for folder in FOLDERS]
    return next((file for file in files if file.exists()), files[0])


def load(kernel: str) -> ModuleType:
    """The module of a kernel, imported once."""
    name = f"static_cost_{kernel}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file_of(kernel))
        if spec is None or spec.loader is None:
            raise FileNotFoundError(f"no kernel {kernel} in {FOLDER}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def points(
    kernels: tuple[str, ...], shapes: Shapes | None = None, *, whole: bool = False
) -> Iterator[Point]:
    """Every point, kernel by kernel and shape by shape.

    Args:
        shapes: in place of the kernels' own; a kernel that is not among them has no points.
        whole: all configurations of the kernels that otherwise have a part of them, and no others.
    """
    for kernel in kernels:
        module = load(kernel)
        configs = getattr(module, "every_config", None) if whole else module.configs
        if configs is None:
            continue
        for shape in module.SHAPES if shapes is None else shapes.get(kernel, ()):
            for config in configs(shape):
                yield Point(kernel, shape, config)


def drawn(every: Sequence[Point], most: int) -> list[Point]:
    """Whole groups of points, drawn by a fixed seed, until the next would make them too many.

    A kernel's second shape comes after the first of all others.
    """
    groups: dict[str, dict[str, list[Point]]] = {}
    for point in every:
        groups.setdefault(point.kernel, {}).setdefault(point.group, []).append(point)
    chance = random.Random(0)
    turns: list[tuple[int, float, list[Point]]] = []
    for of_kernel in groups.values():
        shapes = list(of_kernel.values())
        chance.shuffle(shapes)
        turns += [(turn, chance.random(), group) for turn, group in enumerate(shapes)]
    kept: list[Point] = []
    for _, _, group in sorted(turns, key=lambda turn: turn[:2]):
        if len(kept) + len(group) > most:
            break
        kept += group
    return kept


def absent(shape: tuple[int, ...], dtype: str, high: int | None = None) -> torch.Tensor:
    """A tensor without memory, for compiling and describing."""
    return torch.empty(shape, dtype=getattr(torch, dtype), device="meta")


def arguments(point: Point, empty: Callable[..., Any]) -> dict[str, Any]:
    return dict(load(point.kernel).arguments(point.shape, point.config, empty))


def grid(point: Point) -> tuple[int, ...]:
    return tuple(load(point.kernel).grid(point.shape, point.config))


def launch_facts(point: Point) -> dict[str, Any]:
    """The launch as ``LaunchFacts`` in JSON; a fresh allocation is aligned."""
    kernel = load(point.kernel).KERNEL
    values = arguments(point, absent) | dict(point.config)
    return {
        "kernel": kernel.fn.__name__,
        "grid": list(grid(point)),
        "arguments": [hooks.describe(param, values[param.name]) for param in kernel.params],
        "options": {name: point.config[name] for name in OPTIONS},
    }
