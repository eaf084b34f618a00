"""Configurations of searches by name: those of ``knowledge/strategies``, and files of a user."""

import difflib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import get_args

from tilewright.errors import InputError
from tilewright.knowledge.files import knowledge_root, read_file
from tilewright.search.spec import StrategyName, StrategySpec

FOLDER = "strategies"
SUFFIXES = (".yaml", ".yml")


def configurations() -> Mapping[str, StrategySpec]:
    """Every configuration of the knowledge base by its name."""
    return _configurations(knowledge_root())


@cache
def _configurations(root: Path) -> Mapping[str, StrategySpec]:
    files = sorted((root / FOLDER).glob("*.yaml"))
    return MappingProxyType({file.stem: read_file(file, StrategySpec) for file in files})


def configured(value: str, settings: StrategySpec) -> StrategySpec:
    """What an option names: a strategy with the project's settings, a configuration, or a file.

    Raises:
        InputError: there is nothing of that name, or the file cannot be used.
    """
    if value in get_args(StrategyName):
        return settings.model_copy(update={"strategy": value})
    if value.endswith(SUFFIXES):
        path = Path(value)
        if not path.is_file():
            raise InputError(f"there is no file {value}; name a YAML file with a search", value)
        found = read_file(path, StrategySpec)
        if found.memory.share:
            raise InputError(
                "'memory.share' is for the owner of the code to set: in "
                "[tool.tilewright.search.memory] of the pyproject.toml of its project",
                value,
            )
        return found
    known = configurations()
    if value in known:
        return known[value]
    names = [*get_args(StrategyName), *known]
    close = difflib.get_close_matches(value, names, 3, 0.4)
    nearest = f"the nearest are {', '.join(close)}" if close else f"there are {', '.join(names)}"
    raise InputError(f"unknown strategy '{value}'; {nearest}, or a file that ends in .yaml")
