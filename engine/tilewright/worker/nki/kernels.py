"""Decorated kernels, as host code calls them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import launch as launches
from .settings import Flavour, KernelFault, Settings, Simulated
from .simulation import TypedArray, simulate

Convert = Callable[[Any], Any]


def _plain(output: TypedArray) -> Any:
    """An output as numpy has it; bf16 and fp8 as float32 of their values."""
    return output.data


@dataclass
class Runs:
    """How kernels run when host code calls them.

    Attributes:
        to_array: an argument as the simulator takes it; what it does not know comes back as it is.
        from_array: an output as host code expects it.
        observe: called with each launch, also with those that stopped.
    """

    settings: Settings = field(default_factory=Settings)
    to_array: Convert = lambda value: value
    from_array: Convert = _plain
    observe: Callable[[Simulated], None] = lambda launch: None


class JitKernel:
    """A kernel that ``@nki.jit`` made: ``kernel(x)`` or ``kernel[grid](x)``."""

    def __init__(
        self, function: Callable[..., Any], flavour: Flavour, runs: Runs, grid: tuple[int, ...] = ()
    ) -> None:
        functools.update_wrapper(self, function)
        self.func = function
        self.flavour: Flavour = flavour
        self.runs = runs
        self.grid = grid

    def __getitem__(self, grid: Any) -> JitKernel:
        sizes = grid if isinstance(grid, tuple) else (grid,)
        return JitKernel(self.func, self.flavour, self.runs, tuple(_extent(n) for n in sizes))

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """The outputs of a launch; within a kernel, what the function returns.

        Raises:
            KernelFault: the kernel could not go on.
        """
        if launches.is_running():
            if self.grid:
                launches.running().stop(
                    "argument",
                    "a kernel calls another one without a grid (err_nested_kernel_with_spmd_grid)",
                )
            return self.func(*arguments, **keywords)
        convert = self.runs.to_array
        result = simulate(
            self.func,
            [convert(a) for a in arguments],
            self.grid,
            self.runs.settings,
            keywords={name: convert(a) for name, a in keywords.items()},
            flavour=self.flavour,
        )
        self.runs.observe(result)
        if result.outputs is None:
            raise KernelFault(result.errors[-1])
        if isinstance(result.outputs, tuple):
            return tuple(self.runs.from_array(one) for one in result.outputs)
        return self.runs.from_array(result.outputs)


def _extent(value: Any) -> int:
    """An extent of a grid: a number, or the vendor's marks of cores, multiplied out."""
    if isinstance(value, (int, np.integer)):
        return int(value)
    sizes = getattr(value, "sizes", None)
    if sizes is None:
        raise TypeError(f"a grid is whole numbers, not {value!r}")
    return math.prod(sizes)


class Cores:
    """``nl.nc(2)`` and ``nl.spmd_dim(nl.nc(2), 4)``: instances spread over cores."""

    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes

    def __mul__(self, other: Any) -> Cores:
        return Cores(*self.sizes, _extent(other))

    __rmul__ = __mul__


def decorator(flavour: Flavour, runs: Runs) -> Callable[..., Any]:
    """``nki.jit`` and its relatives, with or without arguments."""

    def jit(function: Any = None, **options: Any) -> Any:
        if function is None:
            return lambda wrapped: jit(wrapped, **options)
        if isinstance(function, JitKernel):
            return function
        return JitKernel(function, flavour, runs)

    return jit
