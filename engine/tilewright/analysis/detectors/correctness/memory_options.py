"""Detectors of keywords of loads, stores and atomics that the compiler refuses."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import source_of, triton_kernels
from tilewright.analysis.detectors.correctness.language import is_for_a_fork, language_name
from tilewright.analysis.detectors.registry import Reports, detector, kernel_detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import Flow
from tilewright.python_syntax import is_none, passes_unseen
from tilewright.source.model import Kernel, Module

_ATOMICS = tuple(f"atomic_{n}" for n in ("add", "max", "min", "and", "or", "xor", "cas", "xchg"))
_CACHE = {
    "load": frozenset(("", ".ca", ".cg", ".cs", ".cv")),
    "store": frozenset(("", ".wb", ".cg", ".cs", ".wt")),
}
_EVICTION = frozenset(("", "evict_first", "evict_last", "evict_normal"))
_SEMANTICS = frozenset(("acquire", "release", "acq_rel", "relaxed"))
_SCOPES = frozenset(("gpu", "cta", "sys"))


@detector("invalid_memory_option")
def invalid_memory_option(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Words for cache, eviction, memory order or scope that do not exist."""
    if is_for_a_fork(module):
        return
    for kernel, _ in triton_kernels(module):
        for call, function in _memory_calls(module, kernel.node):
            for keyword in call.keywords:
                allowed = _allowed(function, keyword.arg)
                word = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                if allowed is None or not isinstance(word, str) or word in allowed:
                    continue
                known = ", ".join(repr(w) for w in sorted(allowed) if w)
                yield Finding(
                    module.index.range_of(keyword.value),
                    f"tl.{function} has no {keyword.arg} {word!r} (valid: {known}): this does "
                    "not compile.",
                    kernel.name,
                )


def _allowed(function: str, keyword: str | None) -> frozenset[str] | None:
    if function in _CACHE:
        known = {"cache_modifier": _CACHE[function], "eviction_policy": _EVICTION}
    else:
        known = {"sem": _SEMANTICS, "scope": _SCOPES}
    return known.get(keyword or "")


def _memory_calls(module: Module, function: ast.FunctionDef) -> Iterator[tuple[ast.Call, str]]:
    for node in nodes_like(function, ast.Call):
        name = language_name(node.func, module.names)
        if name in _CACHE or name in _ATOMICS:
            yield node, name or ""


@kernel_detector("other_without_mask", triton_kernels)
def other_without_mask(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """A load that says what masked lanes hold and has no mask."""
    for call, function in _memory_calls(module, kernel.node):
        given = {k.arg: k.value for k in call.keywords}
        is_plain = not passes_unseen(call)
        if function != "load" or len(call.args) != 1 or not is_plain:
            continue
        other, mask = given.get("other"), given.get("mask")
        if other is None or is_none(other) or "boundary_check" in given:
            continue
        if mask is None or is_none(mask):
            text = (
                f"other={source_of(module, other)} is for masked lanes, and this load has no "
                "mask: it does not compile."
            )
            yield call, text
