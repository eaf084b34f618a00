"""What the two NKI packages offer: functions and their parameters, constants, enumerations.

The names are those of ``nki.language`` and ``nki.isa``, whichever package a file imports.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from tilewright.knowledge.files import KnowledgeError, knowledge_root, read_folder

_STRICT = ConfigDict(extra="forbid")
Flavour = Literal["neuronxcc", "nki"]
Engine = Literal["tensor", "vector", "scalar", "gpsimd", "sync", "dma"]
Makes = Literal[
    "tile", "tensor", "index", "slice", "loop", "number", "register", "nothing", "other"
]
_Dotted = Annotated[str, Field(pattern=r"^nki(\.[A-Za-z_][A-Za-z0-9_]*)*$")]
_Parameters = Annotated[str, Field(pattern=r"^[A-Za-z0-9_,=* ]*$")]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function."""

    name: str
    is_required: bool
    is_keyword_only: bool


@dataclass(frozen=True)
class Signature:
    """What one release's form of a function takes.

    ``is_open`` where it also takes keywords that are not documented, ``is_variadic`` where it
    takes any number of positional arguments.
    """

    parameters: tuple[Parameter, ...]
    is_open: bool
    is_variadic: bool

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters)

    @cached_property
    def positional(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters if not p.is_keyword_only)

    @cached_property
    def required(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters if p.is_required)


@dataclass(frozen=True)
class NkiFunction:
    """One function.

    Attributes:
        makes: what a call gives: a "tile" (a new value on the chip), a "tensor" (storage that is
            written to), an "index" (arange, mgrid), a "slice", a "loop", a "number" (a program
            id), a "register", "nothing", or something "other".
        takes: its parameters, in each form that releases of the package have had, newest first:
            ``name=`` may be left out, those after ``*`` are passed by keyword.
        engines: what its parameter ``engine`` may name other than "unknown"; empty if it has none.
    """

    __pydantic_config__ = _STRICT

    makes: Makes
    takes: Annotated[tuple[_Parameters, ...], Field(min_length=1)]
    engines: tuple[Engine, ...] = ()

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        return tuple(_signature(text) for text in self.takes)


@dataclass(frozen=True)
class NkiFile:
    """One file of ``knowledge/nki``: all that one package offers.

    Attributes:
        imports: the package's name in an import.
        constants: names that are no functions: dtypes, buffers, classes, enumerations.
        members: what an enumeration or a group of constants holds.
        earlier_keywords: what early releases took on any instruction, though undocumented.
        unsupported_dtypes: element types of numpy that no instruction takes.
        rules: what a kernel has to keep, a sentence each, for who writes one.
    """

    __pydantic_config__ = _STRICT

    flavour: Flavour
    imports: str
    functions: Mapping[_Dotted, NkiFunction]
    constants: tuple[_Dotted, ...]
    members: Mapping[_Dotted, tuple[str, ...]]
    earlier_keywords: tuple[str, ...] = ()
    unsupported_dtypes: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    @cached_property
    def names(self) -> frozenset[str]:
        """Every dotted name it offers."""
        inner = {f"{owner}.{name}" for owner, names in self.members.items() for name in names}
        return frozenset((*self.functions, *self.constants, *inner))

    def makes(self, dotted: str | None) -> Makes | None:
        """What a call of a dotted name gives; None for a name it does not offer."""
        function = self.functions.get(dotted or "")
        return None if function is None else function.makes


@dataclass(frozen=True)
class NkiNote:
    """What functions that behave alike do.

    Attributes:
        engines: that may run them, the usual one first; empty for what is no instruction.
        limits: what they refuse or what is slow, a sentence each.
    """

    __pydantic_config__ = _STRICT

    names: Annotated[tuple[_Dotted, ...], Field(min_length=1)]
    does: str
    engines: tuple[Engine, ...] = ()
    limits: tuple[str, ...] = ()


@dataclass(frozen=True)
class NkiNotesFile:
    """One file of ``knowledge/nki_notes``."""

    __pydantic_config__ = _STRICT

    notes: tuple[NkiNote, ...]


def nki_note(dotted: str) -> NkiNote | None:
    """What a function does and refuses; None where nothing is noted."""
    return _notes(knowledge_root()).get(dotted)


@cache
def _notes(root: Path) -> Mapping[str, NkiNote]:
    files = read_folder(root, "nki_notes", NkiNotesFile)
    return MappingProxyType({name: note for f in files for note in f.notes for name in note.names})


def nki_interface(flavour: Flavour) -> NkiFile:
    """What a package offers: "neuronxcc" for ``neuronxcc.nki``, "nki" for its successor."""
    known = _interfaces(knowledge_root())
    if flavour not in known:
        raise KnowledgeError(f"no file in {knowledge_root() / 'nki'} is for {flavour}; reinstall")
    return known[flavour]


@cache
def _interfaces(root: Path) -> Mapping[str, NkiFile]:
    return MappingProxyType({file.flavour: file for file in read_folder(root, "nki", NkiFile)})


@cache
def _signature(text: str) -> Signature:
    parameters: list[Parameter] = []
    is_open = is_variadic = keyword_only = False
    for part in filter(None, (p.strip() for p in text.split(","))):
        if part.startswith("**"):
            is_open = True
        elif part.startswith("*"):
            keyword_only, is_variadic = True, part != "*"
        else:
            name = part.rstrip("=")
            parameters.append(Parameter(name, name == part, keyword_only))
    return Signature(tuple(parameters), is_open, is_variadic)
