"""``[tool.tilewright]`` of the nearest pyproject.toml: which issues, for which chip and files."""

import os
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from tilewright.errors import InputError
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.stages import Stage
from tilewright.models.settings import ModelSettings
from tilewright.search.spec import StrategySpec
from tilewright.targets.model import Target, TargetError
from tilewright.targets.registry import parse_target
from tilewright.textfile import in_roots, utf8_text

_NAME = "tilewright"
ALL = "all"
FILE_NAME = "pyproject.toml"
_LARGEST = 4 * 1024 * 1024


class ConfigurationError(InputError):
    """A ``[tool.tilewright]`` that cannot be used as it is."""


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    select: list[str] | None = None
    ignore: list[str] = []
    target: str | None = None
    allow: list[
        Literal[
            "workspaces", "prepacked-weights", "inline-assembly", "fixed-shapes", "fixed-layouts",
            "finite-inputs", "host-reads", "forward-only",
        ]
    ] = []  # fmt: skip


class _Table(_Rules):
    triton: str | None = Field(default=None, pattern=r"^\d+\.\d+(\.\d+)*$")
    exclude: list[str] = []
    per_path: dict[str, _Rules] = Field(default={}, alias="per-path")
    models: ModelSettings = ModelSettings()
    search: StrategySpec = StrategySpec()


@dataclass(frozen=True)
class Rules:
    """What holds for one file.

    Attributes:
        issues: ids that are reported.
        target: the chip that is assumed; None if none is named.
        triton: (major, minor) the code is written for; None: whatever is installed.
        allow: what candidates may do (``problems.permissions``).
    """

    issues: frozenset[str]
    target: Target | None = None
    triton: tuple[int, int] | None = None
    allow: tuple[str, ...] = ()


@dataclass(frozen=True)
class Override:
    """The settings of a ``per-path`` table, for files that match ``pattern``."""

    pattern: str
    select: frozenset[str] | None
    ignore: frozenset[str]
    target: Target | None
    allow: tuple[str, ...] = ()


@dataclass(frozen=True)
class Configuration:
    """The settings of a project; patterns are relative to ``root``.

    Attributes:
        path: the pyproject.toml; None for the defaults.
        overrides: in the order of the file; a later one wins.
        models: how language models are asked, if a command names any.
        search: how ``optimize`` searches.
    """

    rules: Rules
    path: Path | None = None
    exclude: tuple[str, ...] = ()
    overrides: tuple[Override, ...] = ()
    models: ModelSettings = field(default_factory=ModelSettings, hash=False)
    search: StrategySpec = field(default_factory=StrategySpec, hash=False)

    def rules_for(self, file: Path) -> Rules:
        """What holds for a file."""
        rules = self.rules
        for override in self.overrides:
            if self._matches(file, override.pattern):
                issues = rules.issues if override.select is None else override.select
                target = override.target or rules.target
                allow = tuple(dict.fromkeys((*rules.allow, *override.allow)))
                issues -= override.ignore
                rules = replace(rules, issues=issues, target=target, allow=allow)
        return rules

    def excludes(self, file: Path) -> bool:
        """Whether a file found in a folder is left out."""
        return any(self._matches(file, pattern) for pattern in self.exclude)

    def _matches(self, file: Path, pattern: str) -> bool:
        """``*`` crosses folders; a folder's name means everything below it."""
        if self.path is None:
            return False
        try:
            # Not Path.resolve, which raises at a link that leads to itself.
            root = os.path.realpath(self.path.parent)
            place = Path(os.path.realpath(file)).relative_to(root).as_posix()
        except ValueError:
            return False
        pattern = pattern.rstrip("/")
        either = {pattern, pattern.removeprefix("**/"), f"{pattern}/*"}
        return any(fnmatchcase(place, p) for p in either)


def default_configuration() -> Configuration:
    """Every issue, no chip in particular."""
    return Configuration(Rules(issues_meant([ALL])))


def read_configuration(text: str, path: Path) -> Configuration | None:
    """What a pyproject.toml sets; None if it has no ``[tool.tilewright]``.

    Raises:
        ConfigurationError: not TOML, an unknown key, issue or target, a value of another type.
    """
    if _NAME not in text:
        # Not ours: whatever is wrong with it is for others to say.
        return None
    try:
        tools = tomllib.loads(text).get("tool")
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"not TOML: {error}", str(path)) from None
    if not isinstance(tools, dict) or _NAME not in tools:
        return None
    table = tools[_NAME]
    try:
        return _configuration(_Table.model_validate(table), path)
    except ValidationError as error:
        raise _refused(error, text, path) from None
    except UnknownSelectorError as error:
        line = _line_of(text, f'"{error.selector}"', f"'{error.selector}'")
        raise ConfigurationError(str(error), str(path), line) from None
    except TargetError as error:
        raise ConfigurationError(error.message, str(path), _line_of(text, "target")) from None


def _configuration(table: _Table, path: Path) -> Configuration:
    selected = issues_meant(table.select if table.select is not None else [ALL])
    version = tuple(int(n) for n in table.triton.split(".")[:2]) if table.triton else None
    rules = Rules(
        selected - issues_meant(table.ignore),
        _target(table.target),
        (version[0], version[1]) if version else None,
        tuple(table.allow),
    )
    overrides = tuple(_override(pattern, given) for pattern, given in table.per_path.items())
    exclude = tuple(table.exclude)
    return Configuration(rules, path, exclude, overrides, table.models, table.search)


def _override(pattern: str, given: _Rules) -> Override:
    select = None if given.select is None else issues_meant(given.select)
    ignore, target = issues_meant(given.ignore), _target(given.target)
    return Override(pattern, select, ignore, target, tuple(given.allow))


def _target(text: str | None) -> Target | None:
    return parse_target(text) if text else None


def _refused(error: ValidationError, text: str, path: Path) -> ConfigurationError:
    detail = error.errors()[0]
    keys = [str(part) for part in detail["loc"]]
    line = _line_of(text, *reversed([k for k in keys if not k.isdigit()]))
    name = ".".join(["tool.tilewright", *keys])
    if detail["type"] == "extra_forbidden":
        return ConfigurationError(f"{name} is no setting; there are {_keys(keys)}", str(path), line)
    return ConfigurationError(f"{name}: {detail['msg']}", str(path), line)


def _keys(path: Sequence[str]) -> str:
    """The settings of the table that the last key of ``path`` stands in."""
    table: type[BaseModel] = _Table
    for key in path[:-1]:
        found = _fields(table).get(key)
        kinds = (found.annotation, *get_args(found.annotation)) if found else ()
        tables = [k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)]
        table = tables[-1] if tables else table
    return ", ".join(sorted(_fields(table)))


def _fields(table: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in table.model_fields.items()}


def _line_of(text: str, *words: str) -> int | None:
    """The line, below the table's head, on which the first of the words found stands."""
    lines = text.splitlines()
    head = next((n for n, line in enumerate(lines) if "tool.tilewright" in line), 0)
    for word in words:
        for number, line in enumerate(lines[head:], head + 1):
            if word in line:
                return number
    return None


class UnknownSelectorError(ValueError):
    """A selector that means no issue; ``selector`` is the text that was given."""

    def __init__(self, selector: str) -> None:
        self.selector = selector
        near = get_close_matches(selector, [*taxonomy(), *Stage, ALL], n=1)
        hint = f"; did you mean {near[0]}?" if near else "; `tilewright explain` lists them"
        super().__init__(f"no issue or stage is called {selector}{hint}")


def issues_meant(selectors: Iterable[str]) -> frozenset[str]:
    """Issue ids that selectors name: an id, a stage, a pattern such as ``nki_*``, or ``all``.

    Raises:
        UnknownSelectorError: one means no issue at all.
    """
    return frozenset(issue for selector in selectors for issue in _selected_issues(selector))


def _selected_issues(selector: str) -> frozenset[str]:
    known = taxonomy()
    if selector == ALL:
        return frozenset(known)
    found = frozenset(
        issue.id
        for issue in known.values()
        if selector == issue.stage.value or fnmatchcase(issue.id, selector)
    )
    if not found:
        raise UnknownSelectorError(selector)
    return found


def configuration_for(file: Path) -> Configuration:
    """The configuration that holds for a file or folder; the defaults if there is none.

    Raises:
        ConfigurationError: there is one, and it cannot be used.
    """
    # Not Path.resolve, which raises at a link that leads to itself.
    start = Path(os.path.realpath(file))
    for folder in (start, *start.parents):
        found = _of_folder(folder) if in_roots(folder) else None
        if found is not None:
            return found
    return default_configuration()


def _of_folder(folder: Path) -> Configuration | None:
    path = folder / FILE_NAME
    try:
        state = path.stat()
    except OSError:
        return None
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=64)
def _read(path: Path, changed_ns: int, size: int) -> Configuration | None:
    # The time and the size are there to read a changed file anew.
    try:
        text = utf8_text(path, _LARGEST)
    except InputError as error:
        raise ConfigurationError(error.message, str(path), error.line) from None
    return read_configuration(text, path)
