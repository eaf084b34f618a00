"""The specification of a search: strategy, populations, idea sources, memory, limits."""

import hashlib
import json
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

StrategyName = Literal[
    "staged", "incumbent", "beam", "grid", "islands", "stall", "rewind", "tiling", "auto"
]
SourceName = Literal[
    "schedule", "memory", "bottlenecks", "rewrites", "launches", "patterns", "model"
]
_Count = Annotated[int, Field(ge=1)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Tolerance = Annotated[float, Field(ge=1)]
_Strategy = StrategyName | Annotated[tuple[StrategyName, ...], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, ser_json_inf_nan="strings", defer_build=True
    )


class BeamSpec(_Strict):
    """A beam of ``width`` parents, each with ``ideas`` children a generation.

    Attributes:
        samples: candidates for each idea that a model implements.
        diverse: of ``width``, slots for the best of cells that the others do not hold.
        tolerance: how much slower than its parent a child may be and still be a parent; a list
            has one for each generation, and the last one stays.
        keep_per_idea: most children of one parent and idea; None: no limit.
    """

    width: _Count = 6
    ideas: _Count = 4
    samples: _Count = 1
    diverse: Annotated[int, Field(ge=0)] = 3
    tolerance: _Tolerance | Annotated[tuple[_Tolerance, ...], Field(min_length=1)] = 1.10
    keep_per_idea: _Count | None = None


class MixtureSpec(_Strict):
    """Shares of the ways in which a grid selects parents."""

    uniform: _Share = 0.4
    quality: _Share = 0.3
    curiosity: _Share = 0.2
    best: _Share = 0.1

    @model_validator(mode="after")
    def _draws_something(self) -> Self:
        if not any((self.uniform, self.quality, self.curiosity, self.best)):
            raise ValueError("all shares are 0, so no parent can be drawn; give one a share")
        return self


class GridSpec(_Strict):
    """An archive with one elite and one runner-up for each cell of behaviour."""

    axes: Literal["static", "resources"] = "static"
    children: _Count = 8
    mixture: MixtureSpec = MixtureSpec()


class IslandsSpec(_Strict):
    """``count`` populations in a ring; their best nodes migrate after every ``every`` nodes."""

    count: Annotated[int, Field(ge=2)] = 4
    every: _Count = 40
    inner: Literal["incumbent", "beam", "grid"] = "incumbent"


class StallSpec(_Strict):
    """After ``after`` evaluations without gain, ``then`` takes over the whole tree."""

    after: _Count = 30
    then: Literal["beam", "grid", "islands"] = "beam"


class ShownSpec(_Strict):
    """Most entries of memory that are shown for one node."""

    helped: Annotated[int, Field(ge=0)] = 4
    hurt: Annotated[int, Field(ge=0)] = 4


class MemorySpec(_Strict):
    """What is recalled and learned.

    Attributes:
        use: "run": what this run learned; "local": the bank on this machine as well.
        blind: the share of ideas that are drawn as if nothing were remembered.
        capacity: most entries that a run learns; of more the newest stay.
        gain: the least speed-up that is learned as a help; ``loss``: the least slow-down as harm.
        share: whether other projects may see the code of what is learned here; it decides nothing
            about the search and is no part of its identity.
    """

    use: Literal["none", "run", "local"] = "none"
    shown: ShownSpec = ShownSpec()
    blind: _Share = 0.2
    capacity: _Count = 64
    gain: _Tolerance = 1.04
    loss: _Tolerance = 1.15
    share: bool = False


class BudgetSpec(_Strict):
    """What the run may spend; None: no limit."""

    evaluations: _Count | None = None
    calls: _Count | None = None
    tokens: _Count | None = None
    dollars: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    minutes: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class StopSpec(_Strict):
    """What ends a search before its budget.

    Attributes:
        roof: the share of the attainable speed that is enough.
        stall: evaluations without gain.
    """

    roof: _Share | None = 0.90
    stall: _Count | None = None


class MenuSpec(_Strict):
    """How a menu of patterns is drawn for each slot.

    Attributes:
        keep: the probability that an entry stays.
        least, most: entries of a menu.
        invent: the share of slots that are asked to leave the menu.
    """

    keep: _Share = 0.3
    least: _Count = 3
    most: _Count = 10
    invent: _Share = 0.1

    @model_validator(mode="after")
    def _has_a_size(self) -> Self:
        if self.least > self.most:
            raise ValueError(f"least is {self.least} and most is {self.most}; lower least")
        return self


class StrategySpec(_Strict):
    """How a run searches.

    Attributes:
        strategy: one, or several that follow each other, each from the tree of the one before.
        ideas: sources, in the order in which they are asked.
        hints: "gradient": prefer ideas that move a text to where gains were found.
        guidance: "bandit": choose between variants of the prompts' guidance by their success.
        phases: 2: a model plans before it implements.
        anchor: most half-width of a chained speed-up before it is measured against the original.
        title: what the configuration is; no part of the identity of a run.
    """

    title: str = ""
    strategy: _Strategy = "staged"
    beam: BeamSpec = BeamSpec()
    grid: GridSpec = GridSpec()
    islands: IslandsSpec = IslandsSpec()
    stall: StallSpec = StallSpec()
    ideas: tuple[SourceName, ...] = (
        "schedule", "memory", "bottlenecks", "rewrites", "launches", "patterns", "model",
    )  # fmt: skip
    menu: MenuSpec = MenuSpec()
    memory: MemorySpec = MemorySpec()
    hints: Literal["none", "gradient"] = "none"
    guidance: Literal["fixed", "bandit"] = "fixed"
    phases: Literal[1, 2] = 1
    anchor: Annotated[float, Field(gt=0)] = 0.05
    budget: BudgetSpec = BudgetSpec()
    stop: StopSpec = StopSpec()
    seed: int | None = None

    @field_validator("strategy")
    @classmethod
    def _begins_with_stages(cls, value: _Strategy) -> _Strategy:
        if "staged" in _steps(value)[1:]:
            raise ValueError("stages come first or not at all; name staged or auto first, and once")
        return value

    @property
    def steps(self) -> tuple[StrategyName, ...]:
        """The strategies of the run in their order."""
        return _steps(self.strategy)

    def hash(self) -> str:
        """The identity of everything that decides about the search."""
        return hashlib.sha256(json.dumps(self.dump(), sort_keys=True).encode()).hexdigest()[:32]

    def dump(self) -> dict[str, Any]:
        """The specification as JSON."""
        found: dict[str, Any] = json.loads(
            self.model_dump_json(exclude={"title": True, "memory": {"share"}})
        )
        return found


def _steps(strategy: _Strategy) -> tuple[StrategyName, ...]:
    """Strategies in their order, ``auto`` as those that it stands for."""
    named = strategy if isinstance(strategy, tuple) else (strategy,)
    auto: tuple[StrategyName, ...] = ("staged", "stall")
    return tuple(step for name in named for step in (auto if name == "auto" else (name,)))
