"""Detectors of names and keywords that the user's Triton does not have."""

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.correctness.language import (
    is_for_a_fork,
    language_name,
    language_names,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.per_kernel import per_kernel, per_module
from tilewright.knowledge.api import LanguageApi, Presence, Version, language_api
from tilewright.knowledge.language_notes import arguments_of
from tilewright.knowledge.model import ADVICE
from tilewright.source.model import Kernel, Module
from tilewright.source.names import Names

_ALWAYS = Presence(is_known=True)
_NEVER = Presence(is_known=False)
_IMPORT = re.compile(r"^\s*(?:import|from)\s+triton\b", re.MULTILINE)
_CONFIG = "triton.Config"
_CLASSES = ("constexpr", "dtype")
_Choice = tuple[str, bool]
_Arm = tuple[_Choice, list[ast.stmt]]


@detector("removed_api")
def removed_api(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Names and keywords that the user's Triton no longer has, or that no version had."""
    version, api = context.triton_version, language_api()
    for kernel, _ in triton_kernels(module):
        used = _used(module, kernel)
        gone = [u for u in used if _is_gone(u.presence, version)]
        has_another_way = builds_without(module, kernel, [u.node for u in gone])
        if version is None or version <= api.last:
            unknown = [u for u in used if not u.presence.is_known]
            for name in dict.fromkeys(u.name for u in unknown):
                yield _never(module, kernel.name, [u for u in unknown if u.name == name], api)
        if gone and version is not None and not has_another_way:
            yield _removed(module, kernel.name, gone, version, api)


@detector("api_not_yet_there")
def api_not_yet_there(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Names and keywords that came with a later Triton than the user's."""
    version, api = context.triton_version, language_api()
    if version is None or version < api.first or _is_handed_on(module):
        return
    for kernel, _ in triton_kernels(module):
        late = [u for u in _used(module, kernel) if _is_late(u.presence, version)]
        if builds_without(module, kernel, [u.node for u in late]):
            continue
        for use in late:
            node, name, found = use.node, use.name, use.presence
            if found.since is not None:
                yield Finding(
                    module.index.range_of(node),
                    f"{_spelled(name)} came with Triton {_dotted(found.since)}, and here is "
                    f"{_dotted(version)}: this does not compile.",
                    kernel.name,
                )


@per_module
def _is_handed_on(module: Module) -> bool:
    """Whether the file takes Triton from another module alone, which may hand on one of its own."""
    return "import" in module.text and _IMPORT.search(module.text) is None


def _is_late(presence: Presence, version: Version) -> bool:
    return presence.since is not None and version < presence.since


def _is_gone(presence: Presence, version: Version | None) -> bool:
    return version is not None and presence.until is not None and version >= presence.until


@dataclass(frozen=True)
class _Use:
    """A name of the language, or ``function(keyword=)``, that some version lacks."""

    node: ast.expr
    name: str
    presence: Presence


def _used(module: Module, kernel: Kernel) -> tuple[_Use, ...]:
    if is_for_a_fork(module):
        return ()
    found = (use for use in _uses(module, kernel) if not _asks_first(module.text, use.name))
    return tuple(sorted(found, key=lambda use: (use.node.lineno, use.node.col_offset)))


@per_kernel
def _uses(module: Module, kernel: Kernel) -> tuple[_Use, ...]:
    api, found = language_api(), []
    for node, name in language_names(module, kernel):
        presence = api.name(name)
        if presence is not None and presence != _ALWAYS:
            found.append(_Use(node, name, presence))
    for call in nodes_like(kernel.node, ast.Call):
        found += _members(call, module.names, api)
        if call.keywords:
            found += _keywords(call, module.names, api)
            found += _options(call, module.names, api)
    return tuple(found)


def _members(call: ast.Call, names: Names, api: LanguageApi) -> Iterator[_Use]:
    """``tl.reduce.max(x)``: functions of the language have no functions below them."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    function = None if owner is None else language_name(owner, names)
    presence = None if function is None else api.name(function)
    if function is None or presence is None or not presence.is_known or function in _CLASSES:
        return
    if isinstance(call.func, ast.Attribute) and arguments_of(TL + function, None):
        yield _Use(call.func, f"{function}.{call.func.attr}", _NEVER)


def _keywords(call: ast.Call, names: Names, api: LanguageApi) -> Iterator[_Use]:
    function = language_name(call.func, names)
    own = None if function is None else api.name(function)
    if function is None or own is None or not own.is_known:
        return
    arguments = arguments_of(TL + function, None)
    is_open = any(argument.is_open for argument in arguments)
    known = set[str]() if is_open else {argument.name for argument in arguments}
    for keyword in call.keywords:
        presence = api.keyword(function, keyword.arg) if keyword.arg else None
        if presence is None and known and keyword.arg and not _is_taken(keyword.arg, known):
            presence = _NEVER
        if presence is not None and presence != _ALWAYS:
            yield _Use(keyword.value, f"{function}({keyword.arg}=)", presence)


def _is_taken(keyword: str, known: Collection[str]) -> bool:
    """Whether a function takes a keyword, or the compiler passes it itself."""
    return keyword in known or keyword.startswith("_")


def _options(call: ast.Call, names: Names, api: LanguageApi) -> Iterator[_Use]:
    """Keywords of a ``triton.Config`` that some version lacks."""
    if not names.is_call(call, _CONFIG):
        return
    for keyword in call.keywords:
        presence = api.keyword("Config", keyword.arg) if keyword.arg else None
        if presence is not None and presence != _ALWAYS:
            yield _Use(keyword.value, f"Config({keyword.arg}=)", presence)


def _asks_first(text: str, name: str) -> bool:
    """Whether the file asks for the name, its keyword or the version before it relies on it."""
    function, _, keyword = name.partition("(")
    asked = (function.rpartition(".")[2], keyword.rstrip("=)"))
    is_asked = any(f'"{one}"' in text or f"'{one}'" in text for one in asked if one)
    return is_asked or "triton.__version__" in text


def _never(module: Module, kernel: str, uses: list[_Use], api: LanguageApi) -> Finding:
    name = uses[0].name
    return _finding(
        module,
        kernel,
        uses,
        f"No Triton from {_dotted(api.first)} to {_dotted(api.last)} has {_spelled(name)}: this "
        f"does not compile{_use(api, name)}",
    )


def _removed(
    module: Module, kernel: str, uses: list[_Use], version: Version, api: LanguageApi
) -> Finding:
    """One finding for all that a kernel uses and the version lacks, at the first of it."""
    first = uses[0]
    others = [n for n in dict.fromkeys(_spelled(u.name) for u in uses) if n != _spelled(first.name)]
    text = (
        f"{_spelled(first.name)} is gone since Triton {_dotted(first.presence.until or version)} "
        f"(here {_dotted(version)}){_use(api, first.name)}"
    )
    return _finding(
        module, kernel, uses, text + (f"; gone as well: {', '.join(others)}" if others else "")
    )


def _finding(module: Module, kernel: str, uses: list[_Use], text: str) -> Finding:
    """A finding at the first use, with the count and the places of the others."""
    first, *others = (module.index.range_of(use.node) for use in uses)
    count = f" ({len(uses)} places in this kernel)" if others else ""
    related = tuple(Related("also here", place) for place in others)
    is_left = _is_left_over(module, kernel)
    if is_left:
        count += "; no kernel here calls this helper"
    severity = ADVICE if is_left else None
    return Finding(first, f"{text}{count}.", kernel, related, severity)


def _is_left_over(module: Module, name: str) -> bool:
    """Whether no kernel of the file calls a helper, as in copied files."""
    kernel = module.kernel(name)
    if kernel is None or module.launches_of(name) or module.callers_of(kernel):
        return False
    returns = any(node.value is not None for node in nodes_like(kernel.node, ast.Return))
    is_exported = f'"{name}"' in module.text or f"'{name}'" in module.text
    return returns and not is_exported and any(True for _ in module.entry_kernels())


def _spelled(name: str) -> str:
    function, bracket, keyword = name.partition("(")
    owner = _CONFIG if function == "Config" else f"tl.{function}"
    return f"{keyword.rstrip('=)')} of {owner}" if bracket else f"tl.{name}"


def _use(api: LanguageApi, name: str) -> str:
    instead = api.instead(name)
    return "" if instead is None else f"; use {instead}"


def _dotted(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


def builds_without(module: Module, kernel: Kernel, avoided: Collection[ast.expr]) -> bool:
    """Whether some choice of constexprs leaves all of these expressions out of the kernel.

    That is so where each stands in an arm of an ``if`` on a constexpr, the other arm of which has
    none of them, unless a launch of the file chooses that very arm.
    """
    if not avoided:
        return False
    ids = {id(node) for node in avoided}
    arms = [
        (choice, arm, other)
        for first, second in _branches(kernel)
        for (choice, arm), (_, other) in ((first, second), (second, first))
    ]
    optional = {
        choice
        for choice, _, other in arms
        if other and not _ids_in_arm(other, ids) and not _is_chosen(module, kernel, choice)
    }
    left_out = {i for choice, arm, _ in arms if choice in optional for i in _ids_in_arm(arm, ids)}
    return left_out == ids


def _branches(kernel: Kernel) -> Iterator[tuple[_Arm, _Arm]]:
    """Both arms of each ``if`` on a constexpr, with the value that takes it."""
    for node in nodes_like(kernel.node, ast.If):
        test, value = node.test, True
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, value = test.operand, False
        if isinstance(test, ast.Name) and test.id in kernel.constexprs:
            yield ((test.id, value), node.body), ((test.id, not value), node.orelse)


def _ids_in_arm(arm: list[ast.stmt], ids: Collection[int]) -> set[int]:
    return {id(node) for statement in arm for node in ast.walk(statement) if id(node) in ids}


def _is_chosen(module: Module, kernel: Kernel, choice: _Choice) -> bool:
    """Whether a launch of the file gives the constexpr that value outright."""
    name, value = choice
    given = [launch.arguments.get(name) for launch in module.launches_of(kernel.name)]
    return any(isinstance(node, ast.Constant) and bool(node.value) is value for node in given)
