"""What a problem's spec says of the host function it calls, in the analysis' words."""

from tilewright.analysis.model import EntryFacts
from tilewright.problems.arguments import entry_arguments
from tilewright.problems.model import Problem


def entry_facts(problem: Problem) -> EntryFacts | None:
    """The arguments of the spec's first default case; None if the module makes its own."""
    arguments = entry_arguments(problem)
    return None if arguments is None else EntryFacts(problem.entry.name, arguments)
