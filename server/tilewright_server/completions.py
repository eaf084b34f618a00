"""What can be typed at a place: names of the language, parameters, options, values that fit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tilewright.analysis.tile_uses import TileUse
from tilewright.knowledge.api import Version, language_api
from tilewright.knowledge.language_notes import (
    OptionNote,
    arguments_of,
    language_note,
    launch_options,
)
from tilewright.knowledge.nki import nki_interface
from tilewright.source.cursor import (
    Cursor,
    OpenCall,
    constexprs_below,
    definition_around,
)
from tilewright.source.model import Kernel, Module, NkiFlavour
from tilewright_server.language_cards import Surroundings, nki_card, signature, spelled
from tilewright_server.language_places import config_call, dotted_name, launched_kernel
from tilewright_server.launch_choices import block_sizes, option_values

_LANGUAGE = "triton.language"
_MODULES = frozenset(("core", "semantic", "standard", "extra", "math", "random", "target_info"))
_TYPES = frozenset(("constexpr", "tensor", "dtype", "tuple", "slice"))
_CONFIG_ARGUMENTS = frozenset(("num_warps", "num_stages", "num_ctas", "maxnreg"))
_QUOTES = "'\""


class ItemKind(StrEnum):
    """What an entry of the list is."""

    FUNCTION = "function"
    CONSTANT = "constant"
    CLASS = "class"
    MODULE = "module"
    PARAMETER = "parameter"
    OPTION = "option"
    VALUE = "value"


@dataclass(frozen=True)
class Item:
    """One entry.

    Attributes:
        insert: the text to type; the label where empty.
        detail: a phrase behind the label, known without effort.
        subject: what its documentation is about: "name:triton.language.dot", "option:num_warps".
        order: entries with a lower number come first.
    """

    label: str
    kind: ItemKind
    insert: str = ""
    detail: str = ""
    subject: str = ""
    order: int = 1


@dataclass(frozen=True)
class ProfileFacts:
    """What is known of the tiles and settings of the kernel that is launched or tuned."""

    uses: tuple[TileUse, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """A place and what is around it.

    Attributes:
        lines: of the text as it is being typed.
        module: of the last text that was parsed; its kernels may be older than the lines.
        kernel: that is launched, tuned or written at the place, as it last parsed.
        constants: names of the constexprs of that kernel.
    """

    cursor: Cursor
    module: Module
    around: Surroundings
    kernel: Kernel | None
    constants: tuple[str, ...]
    facts: ProfileFacts
    in_kernel: bool


def kernel_name_at(lines: tuple[str, ...], module: Module, cursor: Cursor, line: int) -> str | None:
    """The kernel that a place is about: the launched one, the tuned one, or the one around."""
    launched = launched_kernel(module, cursor.call)
    if launched is not None:
        return launched.name
    around = definition_around(lines, line)
    return around.name if around is not None and around.is_jitted else None


def constants_of(lines: tuple[str, ...], line: int, kernel: Kernel | None) -> tuple[str, ...]:
    """The constexprs of the kernel around a line as they are typed now, or as it last parsed."""
    around = definition_around(lines, line)
    typed = constexprs_below(lines, around.line) if around is not None and around.is_jitted else ()
    return typed or (kernel.constexprs if kernel is not None else ())


def completions(request: Request) -> list[Item]:
    """The entries for a place; none in comments, and none in host code but for launches."""
    cursor = request.cursor
    if cursor.in_comment:
        return []
    launch = launched_kernel(request.module, cursor.call)
    config = config_call(request.module, cursor) is not None
    if cursor.in_text:
        return list(_in_text(request, config, launch))
    if not (request.in_kernel or launch is not None or config):
        return []
    if cursor.owner:
        return list(_members(request, dotted_name(request.module, cursor.owner) or ""))
    if config and cursor.calls[-1].callee:
        return list(_config_arguments(request))
    if config:
        return list(_config_value(request)) if cursor.calls[-1].bracket == "{" else []
    if launch is not None and cursor.calls[-1].subscripted:
        return list(_launch(request, launch))
    found = list(_arguments(request))
    return found if _is_value(cursor) and found else [*found, *_constants(request)]


def _is_value(cursor: Cursor) -> bool:
    return bool(cursor.calls) and cursor.calls[-1].keyword is not None


def _members(request: Request, owner: str) -> Iterator[Item]:
    if owner == _LANGUAGE or owner == f"{_LANGUAGE}.math":
        prefix = "" if owner == _LANGUAGE else "math."
        yield from _language_members(prefix, request.around.version)
    elif owner in ("nki.language", "nki.isa"):
        yield from _nki_members(request.module, f"{owner}.")


def _language_members(prefix: str, version: Version | None) -> Iterator[Item]:
    api = language_api()
    for name, presence in sorted(api.names.items()):
        short = name.removeprefix(prefix)
        if not name.startswith(prefix) or "." in short or short in ("core", "semantic", "standard"):
            continue
        if version is not None and not presence.is_in(version):
            continue
        note = language_note(f"{_LANGUAGE}.{name}")
        since = f"since Triton {spelled(presence.since)}" if presence.since else ""
        until = f"until Triton {spelled(presence.until)}" if presence.until else ""
        called = note is not None and note.takes is not None
        yield Item(
            short,
            _kind(short, called),
            detail=until or since,
            subject=f"name:{_LANGUAGE}.{name}",
            order=1 if called else 2,
        )


def _kind(short: str, called: bool) -> ItemKind:
    if short in _MODULES:
        return ItemKind.MODULE
    if short in _TYPES or short.endswith("_type"):
        return ItemKind.CLASS
    return ItemKind.FUNCTION if called else ItemKind.CONSTANT


def _nki_members(module: Module, prefix: str) -> Iterator[Item]:
    flavour = module.nki_flavour or NkiFlavour.NKI
    interface = nki_interface(flavour.value)
    for dotted in sorted(interface.names):
        short = dotted.removeprefix(prefix)
        if dotted.startswith(prefix) and "." not in short:
            called = dotted in interface.functions
            kind = ItemKind.FUNCTION if called else ItemKind.CONSTANT
            yield Item(short, kind, subject=f"nki:{dotted}", order=1 if called else 2)


def _arguments(request: Request) -> Iterator[Item]:
    """Keywords of the call that is open, or the values of the keyword that is being given."""
    call = request.cursor.calls[-1] if request.cursor.calls else None
    dotted = dotted_name(request.module, call.callee) if call is not None else None
    note = language_note(dotted) if dotted is not None else None
    if call is None or dotted is None or note is None or call.bracket != "(":
        return
    if call.keyword is not None:
        for value in note.values.get(call.keyword, ()):
            yield Item(value, ItemKind.VALUE, subject=f"name:{dotted}", order=0)
        return
    arguments = arguments_of(dotted, request.around.version)
    for place, argument in enumerate(arguments):
        if place < call.position or argument.name in call.given or argument.is_variadic:
            continue
        label = f"{argument.name}="
        detail = f"default {argument.default}" if argument.default else ""
        yield Item(label, ItemKind.PARAMETER, detail=detail, subject=f"name:{dotted}", order=0)


def _constants(request: Request) -> Iterator[Item]:
    """Names of the kernel's constexprs, with the value that is known."""
    for name in request.constants:
        known = request.facts.settings.get(name)
        detail = "constexpr" if known is None else f"constexpr, {known}"
        yield Item(name, ItemKind.CONSTANT, detail=detail)


def _options(request: Request) -> Iterator[tuple[str, OptionNote]]:
    """The options that the backend takes and the kernel has no parameter for."""
    chip, kernel = request.around.chip, request.kernel
    own = {parameter.name for parameter in kernel.parameters} if kernel is not None else set()
    for name, note in launch_options().items():
        if name not in own and (chip is None or chip.backend in note.backends):
            yield name, note


def _launch(request: Request, kernel: Kernel) -> Iterator[Item]:
    """Keywords of a launch: constexprs, then options, then other parameters; or values."""
    call = request.cursor.calls[-1]
    if call.keyword is not None:
        yield from _values(request, call.keyword, call.given)
        return
    for place, parameter in enumerate(kernel.parameters):
        if place >= call.position and parameter.name not in call.given:
            detail = "constexpr" if parameter.is_constexpr else "parameter"
            order = 0 if parameter.is_constexpr else 2
            yield Item(f"{parameter.name}=", ItemKind.PARAMETER, detail=detail, order=order)
    for name, note in _options(request):
        if name not in call.given:
            default = f"default {note.default}"
            subject = f"option:{name}"
            yield Item(f"{name}=", ItemKind.OPTION, detail=default, subject=subject, order=1)


def _values(request: Request, name: str, given: Mapping[str, int | None]) -> Iterator[Item]:
    """Values of an option that the chip takes, or block sizes that fit."""
    note = dict(_options(request)).get(name)
    if note is not None:
        around = request.around
        for place, value in enumerate(option_values(name, note, around.chip, around.constraints)):
            subject = f"option:{name}"
            yield Item(value, ItemKind.VALUE, subject=subject, order=place)
    elif name in request.constants:
        known = {k: v for k, v in given.items() if v is not None}
        settings = {**request.facts.settings, **known}
        sizes = block_sizes(name, request.facts.uses, settings, request.around.chip)
        for place, (size, said) in enumerate(sizes):
            yield Item(str(size), ItemKind.VALUE, detail=said, order=place)


def _config_arguments(request: Request) -> Iterator[Item]:
    """Keywords of ``triton.Config`` or their values."""
    call = request.cursor.calls[-1]
    if call.keyword is not None:
        yield from _values(request, call.keyword, call.given)
        return
    for name, note in _options(request):
        if name in _CONFIG_ARGUMENTS and name not in call.given:
            default = f"default {note.default}"
            yield Item(f"{name}=", ItemKind.OPTION, detail=default, subject=f"option:{name}")


def _config_value(request: Request) -> Iterator[Item]:
    """A key of the dict of a configuration, in quotes, or the value of one."""
    inner = request.cursor.calls[-1]
    if inner.key is not None:
        yield from _values(request, inner.key, inner.given)
        return
    for item in _config_keys(request, inner):
        yield Item(f'"{item.label}"', item.kind, "", item.detail, item.subject, item.order)


def _config_keys(request: Request, inner: OpenCall) -> Iterator[Item]:
    for name in request.constants:
        if name not in inner.given:
            yield Item(name, ItemKind.PARAMETER, detail="constexpr", order=0)
    for name, note in _options(request):
        if name not in inner.given and name not in _CONFIG_ARGUMENTS:
            default = f"default {note.default}"
            yield Item(name, ItemKind.OPTION, detail=default, subject=f"option:{name}")


def _in_text(request: Request, config: bool, launch: Kernel | None) -> Iterator[Item]:
    """Inside quotes: keys of a configuration, or texts that a keyword or key takes."""
    inner = request.cursor.calls[-1] if request.cursor.calls else None
    if inner is None:
        return
    if config and inner.bracket == "{" and inner.key is None:
        yield from _config_keys(request, inner)
        return
    name = inner.key if inner.bracket == "{" else inner.keyword
    if name is None:
        return
    found = _values(request, name, inner.given) if config or launch else _arguments(request)
    for item in found:
        if item.label[:1] in _QUOTES:
            bare = item.label.strip(_QUOTES)
            yield Item(bare, item.kind, "", item.detail, item.subject, item.order)


def documentation(subject: str, version: Version | None) -> str:
    """The text behind an entry, as Markdown; empty where there is none."""
    from tilewright.knowledge.nki import nki_note

    kind, _, name = subject.partition(":")
    if kind == "option":
        option = launch_options().get(name)
        return "" if option is None else f"{option.does}\n\n{option.costs.strip()}".strip()
    if kind == "nki":
        known = nki_note(name)
        return nki_card(name, known).brief if known is not None else ""
    note = language_note(name)
    if note is None:
        return ""
    limits = "\n".join(f"- {limit}" for limit in note.limits)
    short = "tl." + name.removeprefix(f"{_LANGUAGE}.")
    call = signature(name, short, version) if note.takes is not None else ""
    return "\n\n".join(part for part in (call, note.does, limits) if part)
