"""What tokens cost: by ``knowledge/models/prices.yaml``, by the settings, on this machine."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field

from tilewright.knowledge.files import knowledge_root, read_folder
from tilewright.models.model import ModelChoice

_STRICT = ConfigDict(extra="forbid")
_MILLION = 1_000_000
Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Text = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True)
class Price:
    """Dollars per million tokens; ``cached`` is of input that the endpoint had in its cache."""

    __pydantic_config__ = _STRICT

    input: Dollars
    output: Dollars
    cached: Dollars | None = None

    def cost(self, tokens_in: int, tokens_cached: int, tokens_out: int) -> float:
        """Dollars of a call."""
        cached = self.input if self.cached is None else self.cached
        fresh = max(0, tokens_in - tokens_cached)
        total = fresh * self.input + tokens_cached * cached + tokens_out * self.output
        return total / _MILLION


FREE = Price(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class DatedPrice:
    """An entry of the YAML.

    Attributes:
        models: patterns of the model's name at the hosts, in lower case.
        hosts: of the endpoints that the price holds at.
        date: when the source gave it.
    """

    __pydantic_config__ = _STRICT

    models: Annotated[tuple[_Text, ...], Field(min_length=1)]
    hosts: Annotated[tuple[_Text, ...], Field(min_length=1)]
    input: Dollars
    output: Dollars
    cached: Dollars | None
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    source: _Text

    @property
    def price(self) -> Price:
        return Price(self.input, self.output, self.cached)

    def covers(self, model: str, host: str) -> bool:
        """Whether it is the price of a model at a host."""
        name = model.lower()
        return host in self.hosts and any(fnmatchcase(name, pattern) for pattern in self.models)


@dataclass(frozen=True)
class PriceFile:
    """A file of ``knowledge/models``."""

    __pydantic_config__ = _STRICT

    prices: tuple[DatedPrice, ...]


def price_of(choice: ModelChoice, own: Mapping[str, Price]) -> Price | None:
    """The price of a model: the settings' own, none on this machine, or the dated one."""
    if choice.name in own:
        return own[choice.name]
    if is_local(choice.base_url):
        return FREE
    host = urlsplit(choice.base_url).hostname or ""
    found = (entry for entry in dated_prices() if entry.covers(choice.name, host))
    return next((entry.price for entry in found), None)


def dated_prices() -> tuple[DatedPrice, ...]:
    """Every price of the knowledge base."""
    return _dated_prices(knowledge_root())


def is_local(base_url: str) -> bool:
    """Whether an endpoint is on this machine: what runs there costs no money."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@cache
def _dated_prices(root: Path) -> tuple[DatedPrice, ...]:
    return tuple(entry for file in read_folder(root, "models", PriceFile) for entry in file.prices)
