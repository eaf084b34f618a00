"""One thing a candidate is asked to compute, and under which circumstances."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilewright.problems.model import RAGGED, Case

NORMAL, PLAIN = "normal", "plain"
FORWARD, REVERSED, SHUFFLED = "forward", "reversed", "shuffled"


@dataclass(frozen=True)
class Check:
    """One call, or a few of the same call, whose results are compared with the oracle's.

    Attributes:
        case: shapes, dtypes and tolerances.
        seed: of the values, added to the run's own.
        values: family that floats are drawn from (``worker/inputs/value_families.py``).
        layout: how the inputs lie in memory (``worker/inputs/layouts.py``).
        order: in which the interpreter runs a grid's programs.
        repeats: calls on the same inputs, whose results must agree.
        launch_options: compiler options that the launches get instead of their own.
        training: whether a module is in training mode; what it keeps (running statistics) is then
            compared after the call as well.
        gradients: "where any" compares gradients of the call with respect to inputs and weights
            where original and candidate have some, "needed" where the original has.
        required: False where the original need not stand it: a check that the original fails, or
            in which it disagrees with its reference, is skipped with a note.
    """

    case: Case
    seed: int
    values: str = NORMAL
    layout: str = PLAIN
    order: str = FORWARD
    repeats: int = 1
    launch_options: Mapping[str, int] = field(default_factory=dict)
    training: bool = False
    gradients: str = ""
    required: bool = True

    @property
    def is_ragged(self) -> bool:
        """Whether its case was made from one of the spec's by other extents."""
        return self.case.category.endswith(RAGGED)

    @property
    def name(self) -> str:
        """For people: the case and what is out of the ordinary."""
        said = [self.case.name]
        if self.is_ragged:
            dims = self.case.dims.items()
            said += [f"{name}={value}" for name, value in dims if isinstance(value, int)]
        said += [f"{self.values} values"] if self.values != NORMAL else []
        said += [f"{self.layout} inputs"] if self.layout != PLAIN else []
        said += [f"programs {self.order}"] if self.order != FORWARD else []
        said += [f"{name}={value}" for name, value in self.launch_options.items()]
        said += [f"{self.repeats} times"] if self.repeats > 1 else []
        said += ["in training mode"] if self.training else []
        said += ["gradients"] if self.gradients else []
        return ", ".join(said)
