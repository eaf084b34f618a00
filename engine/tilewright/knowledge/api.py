"""What the tile language offers, by version of Triton: names and keywords of its functions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field

from tilewright.knowledge.files import knowledge_root, read_folder

_STRICT = ConfigDict(extra="forbid")
_Version = Annotated[str, Field(pattern=r"^\d+\.\d+$")]
_Span = Annotated[str, Field(pattern=r"^(any|since \d+\.\d+|until \d+\.\d+)$")]
Version = tuple[int, int]


@dataclass(frozen=True)
class NameSpans:
    """Names of a namespace: all that any version has, and where that is not every version."""

    __pydantic_config__ = _STRICT

    known: frozenset[str]
    since: Mapping[_Version, frozenset[str]] = field(default_factory=dict)
    until: Mapping[_Version, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class ApiFile:
    """``knowledge/api/triton_language.yaml``."""

    __pydantic_config__ = _STRICT

    versions: tuple[_Version, ...]
    language: NameSpans
    math: NameSpans
    inner: frozenset[str]
    keywords: Mapping[str, Mapping[str, _Span]]
    instead: Mapping[str, str]


@dataclass(frozen=True)
class Presence:
    """Since and until which version something is there; None where that is not bounded.

    ``is_known`` is False for what no version has.
    """

    is_known: bool
    since: Version | None = None
    until: Version | None = None

    def is_in(self, version: Version) -> bool:
        """Whether that version has it."""
        return (
            self.is_known
            and (self.since is None or version >= self.since)
            and (self.until is None or version < self.until)
        )


class LanguageApi:
    """The catalogue of ``triton.language``."""

    def __init__(self, file: ApiFile) -> None:
        self._file = file
        self.first, self.last = _version(file.versions[0]), _version(file.versions[-1])
        self._names = {**_spans(file.language, ""), **_spans(file.math, "math.")}

    def name(self, name: str) -> Presence | None:
        """``dot`` or ``math.exp`` below ``triton.language``; None for what is not judged."""
        head, _, rest = name.partition(".")
        if rest and (head != "math" or "." in rest):
            return None
        last = rest or head
        if last.startswith("_") or last in self._file.inner:
            return None
        return self._names.get(name, Presence(is_known=False))

    @property
    def names(self) -> Mapping[str, Presence]:
        """Every name below ``triton.language`` that some version has, ``math.exp`` among them."""
        return self._names

    def keyword(self, function: str, keyword: str) -> Presence | None:
        """A keyword of a function; None for functions whose keywords are not listed."""
        listed = self._file.keywords.get(function)
        if listed is None or keyword.startswith("_"):
            return None
        span = listed.get(keyword)
        if span is None:
            return Presence(is_known=False)
        word, _, bound = span.partition(" ")
        if word == "any":
            return Presence(is_known=True)
        version = _version(bound)
        since, until = (version, None) if word == "since" else (None, version)
        return Presence(True, since, until)

    def keywords_of(self, function: str) -> tuple[str, ...]:
        """The keywords that any version of a function has; empty where they are not listed."""
        return tuple(self._file.keywords.get(function, ()))

    def instead(self, name: str) -> str | None:
        """What to use where this name is not there."""
        return self._file.instead.get(name)


def language_api() -> LanguageApi:
    """The catalogue of the knowledge base in use."""
    return _api(knowledge_root())


@cache
def _api(root: Path) -> LanguageApi:
    (file,) = read_folder(root, "api", ApiFile)
    return LanguageApi(file)


def _spans(names: NameSpans, prefix: str) -> dict[str, Presence]:
    since = {n: _version(v) for v, found in names.since.items() for n in found}
    until = {n: _version(v) for v, found in names.until.items() for n in found}
    return {prefix + n: Presence(True, since.get(n), until.get(n)) for n in names.known}


def _version(text: str) -> Version:
    major, minor = re.findall(r"\d+", text)
    return int(major), int(minor)
