"""Detectors of names and keywords that the user's Triton does not have."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, nodes_of, triton_kernels
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.knowledge.api import LanguageApi, Presence, Version, language_api
from tilewright.source.model import Module
from tilewright.source.names import Names


@detector("removed_api")
def removed_api(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Names and keywords that the user's Triton no longer has, or that no version had."""
    version, api = context.triton_version, language_api()
    for kernel, _ in triton_kernels(module):
        for node, name, found in _used(module, nodes_of(kernel.node), api):
            if not found.is_known and (version is None or version <= api.last):
                yield _never(module, kernel.name, node, name, api)
            elif version is not None and found.until is not None and version >= found.until:
                yield Finding(
                    module.index.range_of(node),
                    f"{_spelled(name)} is gone since Triton {_dotted(found.until)} (here "
                    f"{_dotted(version)}){_use(api, name)}.",
                    kernel.name,
                    data={"name": TL + name},
                )


@detector("api_not_yet_there")
def api_not_yet_there(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Names and keywords that came with a later Triton than the user's."""
    version, api = context.triton_version, language_api()
    if version is None or version < api.first:
        return
    for kernel, _ in triton_kernels(module):
        for node, name, found in _used(module, nodes_of(kernel.node), api):
            if found.since is not None and version < found.since:
                yield Finding(
                    module.index.range_of(node),
                    f"{_spelled(name)} came with Triton {_dotted(found.since)}, and here is "
                    f"{_dotted(version)}: this does not compile.",
                    kernel.name,
                    data={"name": TL + name},
                )


def _used(
    module: Module, nodes: tuple[ast.AST, ...], api: LanguageApi
) -> Iterator[tuple[ast.expr, str, Presence]]:
    """What a kernel uses of the language that some version lacks: where, which, and since when."""
    inner = {id(n.value) for n in nodes if isinstance(n, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.Call):
            yield from _keywords(module, node, api)
        if not isinstance(node, ast.Attribute | ast.Name) or id(node) in inner:
            continue
        name = _language_name(node, module.names)
        if name is not None:
            found = api.name(name)
            if found is not None and not _asks_first(module, name):
                yield node, name, found


def _keywords(
    module: Module, call: ast.Call, api: LanguageApi
) -> Iterator[tuple[ast.expr, str, Presence]]:
    function = _language_name(call.func, module.names)
    if function is None or _asks_first(module, function):
        return
    own = api.name(function)
    for keyword in call.keywords:
        found = api.keyword(function, keyword.arg) if keyword.arg and own is not None else None
        if found is not None and own is not None and own.is_known:
            yield keyword.value, f"{function}({keyword.arg}=)", found


def _language_name(node: ast.expr, names: Names) -> str | None:
    """``dot`` for ``tl.dot``: the dotted name below ``triton.language``."""
    if not isinstance(node, ast.Attribute | ast.Name):
        return None
    dotted = names.resolve(node)
    if dotted is None or not dotted.startswith(TL):
        return None
    name = dotted.removeprefix(TL)
    # Of ``tl.float32.to(...)`` or ``tl.constexpr.value`` the first part is the name.
    head, _, rest = name.partition(".")
    return name if not rest or head == "math" else None


def _asks_first(module: Module, name: str) -> bool:
    """Whether the file asks for the name, or the version, before it relies on it."""
    last = name.rpartition(".")[2]
    return (
        f'"{last}"' in module.text
        or f"'{last}'" in module.text
        or "triton.__version__" in module.text
    )


def _never(module: Module, kernel: str, node: ast.expr, name: str, api: LanguageApi) -> Finding:
    return Finding(
        module.index.range_of(node),
        f"No Triton from {_dotted(api.first)} to {_dotted(api.last)} has {_spelled(name)}: this "
        f"does not compile{_use(api, name)}.",
        kernel,
        data={"name": TL + name},
    )


def _spelled(name: str) -> str:
    function, bracket, keyword = name.partition("(")
    return f"{keyword.rstrip('=)')} of tl.{function}" if bracket else f"tl.{name}"


def _use(api: LanguageApi, name: str) -> str:
    instead = api.instead(name)
    return "" if instead is None else f"; use {instead}"


def _dotted(version: Version) -> str:
    return f"{version[0]}.{version[1]}"
