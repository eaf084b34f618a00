"""What compilers and the cost model say of a text, kernel by kernel, as JSON."""

from collections.abc import Sequence
from typing import Any

from tilewright.costs import estimate
from tilewright.evaluation.model import Evaluation
from tilewright.serialize import dump
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.strategies.recorded import compile_row
from tilewright.strategies.verdict import reports_of
from tilewright.targets.model import CompileReport


def kernel_figures(text: str, path: str, evaluation: Evaluation) -> list[dict[str, Any]]:
    """For each kernel that was compiled: ``configurations``, ``compiled``, and as [least, most]
    over those that compile ``registers``, ``spill_bytes``, ``shared_bytes`` and ``estimate_us``;
    null where it is not known. Nothing of it is measured."""
    reports = reports_of(evaluation)
    module = parse_module(text, path)
    names = dict.fromkeys(report.kernel for report in reports)
    return [_figures(module, name, [r for r in reports if r.kernel == name]) for name in names]


def _figures(module: Module, kernel: str, reports: Sequence[CompileReport]) -> dict[str, Any]:
    estimates = [found.us for one in reports if (found := estimate(module, one)) is not None]
    row = compile_row(kernel, [dump(report) for report in reports])
    return {**row, "estimate_us": [min(estimates), max(estimates)] if estimates else None}
