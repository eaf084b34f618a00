"""The options of a command that asks language models, and what they and the project amount to."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from tilewright.checking.configuration import configuration_for
from tilewright.errors import InputError
from tilewright.models.model import Limits, Spent
from tilewright.models.prices import price_of
from tilewright.models.settings import Ensemble, ensemble, missing_price
from tilewright.search.spec import StrategySpec
from tilewright.strategies.calls import Completer

Names = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME[,NAME...]",
        help="Language models to ask; local: a server on this machine; none: no model.",
    ),
]
MostCalls = Annotated[int | None, typer.Option("--max-calls", min=1, help="Most model calls.")]
MostTokens = Annotated[
    int | None, typer.Option("--max-tokens", min=1, help="Most tokens for models, both ways.")
]
MostDollars = Annotated[
    float | None, typer.Option("--max-dollars", help="Most dollars for models.")
]
MostMinutes = Annotated[
    float | None, typer.Option("--max-minutes", help="Minutes after which no model is called.")
]
Tries = Annotated[
    int | None, typer.Option(min=1, help="Most tries of a model in each stage. Default: 5.")
]
Samples = Annotated[
    int | None,
    typer.Option(min=1, help="Replies of which a stage keeps the fastest. Default: 1."),
]
ShowPrompts = Annotated[
    bool,
    typer.Option("--show-prompts", help="Print the first prompt of each role; send nothing."),
]


@dataclass(frozen=True)
class ModelOptions:
    """What the options say."""

    names: str
    calls: int | None
    tokens: int | None
    dollars: float | None
    minutes: float | None
    tries: int | None
    samples: int | None

    def ensemble(self, file: Path) -> Ensemble | None:
        """The models to ask about a file, with the project's settings; None for no model.

        Raises:
            InputError: a limit without a model, or one in dollars for a model without a price.
        """
        for name, value in (("dollars", self.dollars), ("minutes", self.minutes)):
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"--max-{name}: a number above 0 is needed")
        limits = Limits(None, self.calls, self.tokens, self.dollars, self.minutes)
        settings = configuration_for(file).models
        names = self.names.split(",")
        found = ensemble(names, settings, _local_server, limits, self.tries, self.samples)
        if found is None:
            self._refuse_unused()
        elif found.limits.dollars is not None:
            for choice in found.choices:
                if price_of(choice, found.prices) is None:
                    raise missing_price(choice)
        return found

    def _refuse_unused(self) -> None:
        named = {
            "--max-calls": self.calls,
            "--max-tokens": self.tokens,
            "--max-dollars": self.dollars,
            "--max-minutes": self.minutes,
            "--tries": self.tries,
            "--samples": self.samples,
        }
        unused = [name for name, value in named.items() if value is not None]
        if unused:
            verb = "needs" if len(unused) == 1 else "need"
            raise InputError(
                f"{', '.join(unused)} {verb} --model NAME: without it no model is called"
            )


def limited_ensemble(models: Ensemble | None, search: StrategySpec) -> Ensemble | None:
    """The models with the tighter of their limits and of those of a search."""
    if models is None:
        return None
    budget = search.budget
    tighter = {
        name: min(one for one in (getattr(models.limits, name), most) if one is not None)
        for name in ("calls", "tokens", "dollars", "minutes")
        if (most := getattr(budget, name)) is not None
    }
    return replace(models, limits=replace(models.limits, **tighter))


def require_client() -> None:
    """Refuse to begin without the packages that a client needs."""
    from tilewright.models.endpoint import missing_package

    try:
        import openai  # noqa: F401
    except ImportError as error:
        raise missing_package(error) from None


def connect(models: Ensemble, before: Spent) -> Completer:
    """The client of a run."""
    from tilewright.models.client import Client

    return Client(models, before)


def _local_server() -> tuple[str, str]:
    from tilewright.models.local_servers import local_server

    return local_server()
