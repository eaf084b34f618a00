"""Detectors of Intel's register mode: invalid, or without effect."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import decorators_known, triton_kernels
from tilewright.analysis.detectors.registry import Reports, detector, kernel_detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.values import Flow
from tilewright.knowledge.base import all_constraints
from tilewright.source.model import Kernel, Launch, Module
from tilewright.source.text import Range

_OPTION = "grf_mode"


@detector("grf_mode_value")
def grf_mode_value(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Register modes that the Triton in use has no such word for."""
    if context.target is not None and context.target.backend != "xpu":
        return
    version = context.triton_version
    here = "any Triton" if version is None else f"Triton {version[0]}.{version[1]}"
    allowed = _modes(version)
    for kernel, _ in triton_kernels(module):
        for value, where in _option_values(module, kernel):
            if value not in allowed:
                known = ", ".join(sorted(allowed))
                yield Finding(
                    where,
                    f"{value!r} is no register mode of {here} for Intel GPUs ({known}): this does "
                    "not compile.",
                    kernel.name,
                )


def _modes(version: tuple[int, int] | None) -> set[str]:
    """The modes of a version, or of any."""
    modes: set[str] = set()
    for constraint in all_constraints():
        if constraint.check.name == "option_values" and (
            version is None or constraint.applies_to.covers_triton(version)
        ):
            given = constraint.check.parameters
            values = given["values"] if given["option"] == _OPTION else ()
            modes |= set(map(str, values if isinstance(values, tuple) else ()))
    return modes


def _option_values(module: Module, kernel: Kernel) -> Iterator[tuple[str, Range]]:
    for config in kernel.autotune.configs or () if kernel.autotune else ():
        value = {**config.values, **config.options}.get(_OPTION)
        if isinstance(value, str | int) and not isinstance(value, bool):
            yield str(value), config.range
    for launch in module.launches_of(kernel.name):
        for keyword in launch.node.keywords:
            given = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            if keyword.arg == _OPTION and isinstance(given, str | int):
                yield str(given), module.index.range_of(keyword.value)


@kernel_detector("grf_mode_unused", triton_kernels)
def grf_mode_unused(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """A register mode that is a parameter's default and that no caller passes."""
    parameter = kernel.parameter(_OPTION)
    launches = module.launches_of(kernel.name)
    if parameter is None or parameter.default is None or not launches:
        return
    if not decorators_known(module, kernel) or _is_tuned(kernel):
        return
    if all(_leaves_out(launch) for launch in launches):
        text = (
            f"No launch passes {_OPTION}, and its default {parameter.default} is a constant in "
            "the kernel that the compiler's options never see."
        )
        yield parameter.range, text


def _is_tuned(kernel: Kernel) -> bool:
    if kernel.autotune is None:
        return False
    configs = kernel.autotune.configs
    return configs is None or any(_OPTION in (*c.values, *c.options) for c in configs)


def _leaves_out(launch: Launch) -> bool:
    return launch.is_complete and _OPTION not in launch.arguments
