"""What names of the tile language and options of a launch do, for hovers and completion."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from tilewright.knowledge.api import Version, language_api
from tilewright.knowledge.files import knowledge_root, read_folder

_STRICT = ConfigDict(extra="forbid")
_LANGUAGE = "triton.language."
_HOST = "triton."
_Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_Sentence = Annotated[str, Field(min_length=8, max_length=240)]


@dataclass(frozen=True)
class Argument:
    """One parameter of a function: its name and, if it may be left out, its default as written.

    ``is_variadic`` for ``*shape``, ``is_open`` for ``**changes``.
    """

    name: str
    default: str | None = None
    is_variadic: bool = False
    is_open: bool = False

    def __str__(self) -> str:
        stars = "**" if self.is_open else "*" if self.is_variadic else ""
        return f"{stars}{self.name}" + ("" if self.default is None else f"={self.default}")


@dataclass(frozen=True)
class LanguageNote:
    """What one name does.

    Attributes:
        takes: its parameters as a call lists them; None for what is not called.
        limits: what it refuses and what surprises, a sentence each.
        values: for a parameter the values it takes, as they are written.
        meanings: of parameters that need more than their name, sentences each.
    """

    __pydantic_config__ = _STRICT

    does: _Sentence
    takes: str | None = None
    limits: tuple[_Sentence, ...] = ()
    values: Mapping[_Name, tuple[str, ...]] = field(default_factory=dict)
    meanings: Mapping[_Name, tuple[_Sentence, ...]] = field(default_factory=dict)

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """Its parameters, in any version that has the name."""
        return tuple(map(_argument, _split(self.takes or "")))


@dataclass(frozen=True)
class TritonNotesFile:
    """One file of ``knowledge/triton_notes``: names below ``triton.language`` and ``triton``."""

    __pydantic_config__ = _STRICT

    notes: Mapping[_Name, LanguageNote]
    host: Mapping[_Name, LanguageNote] = field(default_factory=dict)


@dataclass(frozen=True)
class OptionNote:
    """What one option of a launch does.

    Attributes:
        costs: what a larger or smaller value costs.
        backends: that take it.
        values: worth offering, as they are written.
        default: in words.
    """

    __pydantic_config__ = _STRICT

    does: _Sentence
    backends: tuple[Literal["cuda", "hip", "xpu"], ...]
    values: tuple[str, ...]
    default: str
    costs: str = ""


@dataclass(frozen=True)
class OptionsFile:
    """One file of ``knowledge/launch_options``."""

    __pydantic_config__ = _STRICT

    options: Mapping[_Name, OptionNote]


def language_note(dotted: str) -> LanguageNote | None:
    """The note of ``triton.language.dot`` or ``triton.Config``; None where there is none.

    ``triton.language.math.exp`` has the note of ``triton.language.exp``.
    """
    language, host = _notes(knowledge_root())
    if dotted.startswith(_LANGUAGE):
        return language.get(dotted.removeprefix(_LANGUAGE).removeprefix("math."))
    return host.get(dotted.removeprefix(_HOST)) if dotted.startswith(_HOST) else None


def arguments_of(dotted: str, version: Version | None) -> tuple[Argument, ...]:
    """The parameters of a function that a version of Triton has; of every version for None."""
    note = language_note(dotted)
    if note is None:
        return ()
    short, api = dotted.removeprefix(_LANGUAGE), language_api()
    found = []
    for argument in note.arguments:
        presence = api.keyword(short, argument.name)
        known = presence is not None and presence.is_known and version is not None
        if not known or presence is None or version is None or presence.is_in(version):
            found.append(argument)
    return tuple(found)


def launch_options() -> Mapping[str, OptionNote]:
    """Every option of a launch by name."""
    return _options(knowledge_root())


@cache
def _notes(root: Path) -> tuple[Mapping[str, LanguageNote], Mapping[str, LanguageNote]]:
    files = read_folder(root, "triton_notes", TritonNotesFile)
    language = {name: note for file in files for name, note in file.notes.items()}
    host = {name: note for file in files for name, note in file.host.items()}
    return MappingProxyType(language), MappingProxyType(host)


@cache
def _options(root: Path) -> Mapping[str, OptionNote]:
    files = read_folder(root, "launch_options", OptionsFile)
    return MappingProxyType({name: note for file in files for name, note in file.options.items()})


def _split(takes: str) -> list[str]:
    return [part for part in (p.strip() for p in takes.split(", ")) if part]


def _argument(text: str) -> Argument:
    name, has_default, default = text.partition("=")
    bare = name.lstrip("*")
    stars = len(name) - len(bare)
    return Argument(bare, default if has_default else None, stars == 1, stars == 2)
