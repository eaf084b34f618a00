"""Which models a run asks and how: ``[tool.tilewright.models]``, the options of a command."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tilewright.errors import InputError
from tilewright.models.model import NO_LIMITS, Limits, ModelChoice, Role
from tilewright.models.prices import Dollars, Price, price_of
from tilewright.models.variables import BASE_URL

NONE = "none"
LOCAL = "local"
OPENAI = "https://api.openai.com/v1"
_TABLE = "[tool.tilewright.models"

_Count = Annotated[int, Field(ge=1)]
_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Temperature = Annotated[float, Field(ge=0, le=2)]
_Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Name = Annotated[str, Field(min_length=1)]


def _is_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError('a base URL such as "http://localhost:8000/v1" is needed')
    if parts.username or parts.password:
        raise ValueError("a URL with a user or a password would be written to reports")
    return value.rstrip("/")


_Url = Annotated[str, AfterValidator(_is_url)]


class _Strict(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        alias_generator=lambda n: n.replace("_", "-"),
        defer_build=True,
    )


class _Asked(_Strict):
    """How a model is asked; what is not set here comes from the wider table."""

    temperature: _Temperature | None = None
    effort: _Name | None = None
    max_output_tokens: _Count | None = None


class PriceSettings(_Strict):
    """``named."NAME".price``: dollars per million tokens."""

    input: Dollars
    output: Dollars
    cached: Dollars | None = None


class NamedSettings(_Asked):
    """``named."NAME"``: one model, for all roles."""

    base_url: _Url | None = None
    weight: _Weight = 1.0
    price: PriceSettings | None = None


class RoleSettings(_Asked):
    """``roles.ROLE``; ``models`` replaces the models of the command line for the role."""

    models: tuple[_Name, ...] = Field(default=(), strict=False)


class LimitSettings(_Strict):
    """``limits``: what a run may spend."""

    evaluations: _Count | None = None
    calls: _Count | None = None
    tokens: _Count | None = None
    dollars: _Seconds | None = None
    minutes: _Seconds | None = None


class ModelSettings(_Asked):
    """``[tool.tilewright.models]``."""

    concurrency: _Count = 4
    tries: _Count = 5
    samples: _Count = 1
    retries: Annotated[int, Field(ge=0)] = 5
    first_byte_seconds: _Seconds = 300.0
    call_seconds: _Seconds = 900.0
    cache: bool = True
    cache_megabytes: _Count = 256
    limits: LimitSettings = LimitSettings()
    roles: Mapping[
        Literal["analyzer", "planner", "optimizer", "extractor", "summarizer", "reviewer"],
        RoleSettings,
    ] = {}
    named: Mapping[str, NamedSettings] = {}


@dataclass(frozen=True)
class CallPolicy:
    """How calls are made.

    Attributes:
        retries: further attempts after one that failed for a while.
        first_byte_seconds: silence before a reply's first byte that ends an attempt.
        call_seconds: all attempts of a call and the waiting between them.
        cache: whether replies are kept on disk and used again.
    """

    retries: int = 5
    first_byte_seconds: float = 300.0
    call_seconds: float = 900.0
    cache: bool = True
    cache_megabytes: int = 256


@dataclass(frozen=True)
class Ensemble:
    """The models of a run by role, its limits and how it calls.

    Attributes:
        concurrency: calls in flight at one time.
        tries: attempts of the verify-and-refine loop for each stage.
        samples: candidates of which a stage keeps the best.
        prices: of the settings, by the model's name.
        notes: what a person should know about the choice of models.
    """

    by_role: Mapping[Role, tuple[ModelChoice, ...]]
    limits: Limits = NO_LIMITS
    concurrency: int = 4
    tries: int = 5
    samples: int = 1
    policy: CallPolicy = field(default_factory=CallPolicy)
    prices: Mapping[str, Price] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def choices(self) -> tuple[ModelChoice, ...]:
        """Every choice once, in the order of the roles."""
        return tuple(dict.fromkeys(c for choices in self.by_role.values() for c in choices))

    @property
    def free(self) -> bool:
        """Whether no call costs money: each model has a price, and it is zero."""
        prices = [price_of(choice, self.prices) for choice in self.choices]
        return all(price is not None and not (price.input or price.output) for price in prices)

    def choose(self, role: Role, slot: int) -> ModelChoice:
        """The model of a slot: each gets its weight's share of any run of slots, evenly spread."""
        choices = self.by_role[role]
        total = sum(choice.weight for choice in choices)
        credit = [0.0] * len(choices)
        best = 0
        for _ in range(slot + 1):
            credit = [have + c.weight for have, c in zip(credit, choices, strict=True)]
            best = max(range(len(choices)), key=lambda n: (credit[n], -n))
            credit[best] -= total
        return choices[best]


LocalServer = Callable[[], tuple[str, str]]
"""Gives (base URL, model) of a server on this machine; raises InputError if none answers."""


def ensemble(
    names: Sequence[str],
    settings: ModelSettings,
    local_server: LocalServer,
    limits: Limits = NO_LIMITS,
    tries: int | None = None,
    samples: int | None = None,
) -> Ensemble | None:
    """The models that a command names, with their settings; None if it names none.

    Args:
        names: of the option: models, "local" for a server on this machine, or "none" alone.
        limits, tries, samples: of the options; a value given here replaces that of the settings.
    """
    wanted = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not wanted or wanted == (NONE,):
        return None
    if NONE in wanted:
        raise InputError('the model "none" cannot be combined with others: remove it or the others')
    asked_once = cache(local_server)
    roles = {role: _choices(role, wanted, settings, asked_once) for role in Role}
    notes: tuple[str, ...] = ()
    if asked_once.cache_info().currsize:
        base_url, name = asked_once()
        notes = (f"the local model is {name} at {base_url}",)
    return Ensemble(
        roles,
        _limits(limits, settings.limits),
        settings.concurrency,
        tries or settings.tries,
        samples or settings.samples,
        CallPolicy(
            settings.retries, settings.first_byte_seconds, settings.call_seconds,
            settings.cache, settings.cache_megabytes,
        ),
        _prices(settings),
        notes,
    )  # fmt: skip


def default_base_url() -> str:
    """The endpoint that the ``openai`` package would ask.

    Raises InputError for a value of OPENAI_BASE_URL that is no base URL.
    """
    value = os.environ.get(BASE_URL, "").strip()
    if not value:
        return OPENAI
    try:
        return _is_url(value)
    except ValueError as error:
        raise InputError(f"{BASE_URL}: {error}") from None


def _choices(
    role: Role, wanted: Sequence[str], settings: ModelSettings, local_server: LocalServer
) -> tuple[ModelChoice, ...]:
    of_role = settings.roles.get(role.value, RoleSettings())
    names = of_role.models or wanted
    return tuple(_choice(name, of_role, settings, local_server) for name in names)


def _choice(
    name: str, of_role: RoleSettings, settings: ModelSettings, local_server: LocalServer
) -> ModelChoice:
    named = settings.named.get(name, NamedSettings())
    if name == LOCAL:
        base_url, name = local_server()
    else:
        base_url = named.base_url or default_base_url()
    choice = ModelChoice(name, base_url, weight=named.weight)
    for table in (settings, named, of_role):
        values: dict[str, Any] = {field: getattr(table, field) for field in _Asked.model_fields}
        choice = replace(choice, **{n: v for n, v in values.items() if v is not None})
    return choice


def _prices(settings: ModelSettings) -> dict[str, Price]:
    own = {name: named.price for name, named in settings.named.items()}
    return {name: Price(p.input, p.output, p.cached) for name, p in own.items() if p is not None}


def _limits(given: Limits, settings: LimitSettings) -> Limits:
    values = {}
    for name in LimitSettings.model_fields:
        value = getattr(given, name)
        values[name] = getattr(settings, name) if value is None else value
    return Limits(**values)


def missing_price(choice: ModelChoice) -> InputError:
    """That a limit in dollars cannot be kept, and the setting to add."""
    return InputError(
        f"the price of {choice.name} at {choice.base_url} is not known, so that a limit in dollars "
        f'cannot be kept; add to pyproject.toml {_TABLE}.named."{choice.name}"] with '
        "price = {input = DOLLARS, output = DOLLARS} per million tokens, or leave out the limit "
        "(calls, tokens and minutes are limited without prices)"
    )
