"""Where an entry applies: preconditions of the knowledge base, asked of one kernel."""

from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.preconditions.match import check
from tilewright.knowledge.base import patterns_of, taxonomy
from tilewright.knowledge.patterns import Precondition
from tilewright.memory.model import Condition, condition_word
from tilewright.source.model import Kernel, Module


def conditions_of(
    issue: str | None, module: Module, kernel: Kernel | None, context: AnalysisContext
) -> tuple[Condition, ...]:
    """The preconditions of an issue's patterns that hold in a kernel, each once."""
    if issue is None or kernel is None:
        return ()
    wanted = {
        condition_word(condition): (condition, precondition)
        for pattern in patterns_of(issue)
        if kernel.language.value in pattern.applies_to.languages
        for precondition in pattern.preconditions
        for condition in (_condition(precondition),)
    }
    return tuple(
        condition
        for condition, precondition in wanted.values()
        if check(precondition, module, kernel, context).holds
    )


def exception_of(issue: str | None) -> tuple[Condition, ...]:
    """When an issue's fix is not worth making although it looks alike, as the taxonomy says."""
    kind = taxonomy().get(issue or "")
    return (Condition(kind.unless),) if kind is not None and kind.unless else ()


class Asker:
    """Asks conditions of a file, each once."""

    def __init__(self, module: Module, context: AnalysisContext) -> None:
        self._module = module
        self._context = context
        self._known: dict[str, bool | None] = {}

    def __call__(self, condition: Condition) -> bool | None:
        """Whether a condition holds in some kernel of the file; None: not known of any."""
        name = condition_word(condition)
        if name not in self._known:
            self._known[name] = self._holds(condition)
        return self._known[name]

    def _holds(self, condition: Condition) -> bool | None:
        name = condition.name
        precondition = Precondition(name, _parameters(condition))  # type: ignore[arg-type]
        found = [
            check(precondition, self._module, kernel, self._context).holds
            for kernel in self._module.kernels
        ]
        if True in found:
            return True
        return None if None in found or not found else False


def _condition(precondition: Precondition) -> Condition:
    parameters = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in precondition.parameters.items()
    }
    return Condition(precondition.statement, precondition.name, parameters)


def _parameters(condition: Condition) -> dict[str, int | str | tuple[int | str, ...]]:
    """The parameters as the knowledge base has them: JSON keeps tuples as lists."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in condition.parameters.items()
    }
