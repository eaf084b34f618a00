"""``[tool.tilewright]`` of a pyproject.toml: which issues, for which chip, in which files."""

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from tilewright.checking.selectors import ALL, UnknownSelectorError, issues_meant
from tilewright.errors import InputError
from tilewright.models.settings import ModelSettings
from tilewright.search.spec import StrategySpec
from tilewright.targets.model import Target, TargetError
from tilewright.targets.registry import parse_target

_NAME = "tilewright"


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
