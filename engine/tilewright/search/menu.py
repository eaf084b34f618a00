"""Which ideas the slots of a generation try: from sources in order, none twice on one text."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from tilewright.evaluation.model import text_hash
from tilewright.python_syntax import parse
from tilewright.search.behaviour import Behaviour
from tilewright.search.draws import rng
from tilewright.search.gradient import Gradient, weight
from tilewright.search.idea_source import IdeaSource
from tilewright.search.node import Idea, Node, Slot
from tilewright.search.spec import StrategySpec

ATTEMPTS = 4
"""Of an idea on one text whose implementation failed."""
_READS_NAMES = {"locals", "globals", "vars", "eval", "exec", "dir"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Documented = _Function | ast.ClassDef | ast.Module
_Scope = _Function | ast.Lambda | ast.ClassDef


class Menu:
    """Remembers which ideas were tried and which texts are known.

    Args:
        gradient: weighs ideas by where they lead; None: they come in the order of their sources.
    """

    def __init__(
        self,
        sources: Sequence[IdeaSource],
        spec: StrategySpec,
        seed: int,
        behaviour: Behaviour,
        gradient: Gradient | None,
    ) -> None:
        self._sources = sources
        self._spec = spec
        self._name = spec.hash()
        self._seed = seed
        self._behaviour = behaviour
        self._gradient = gradient
        self._known: dict[str, str] = {}
        self._tried: Counter[tuple[str, str]] = Counter()

    def slots(self, generation: int, parents: Sequence[Node]) -> tuple[list[Slot], list[str]]:
        """The slots of a generation, and the hashes of parents whose ideas do not suffice."""
        found: list[Slot] = []
        exhausted: list[str] = []
        planned: set[str] = set()
        for name, group in groupby(parents, key=lambda node: node.hash):
            nodes = list(group)
            hints = self._hints(nodes[0])
            wanted = list(self._wanted(nodes[0], len(nodes), generation, planned))
            for idea, sample in wanted:
                found.append(Slot(generation, len(found) + 1, nodes[0], idea, sample, hints))
            if len(wanted) < len(nodes):
                exhausted.append(name)
        return found, exhausted

    def _hints(self, node: Node) -> tuple[str, ...]:
        direction = self._gradient.direction_at(node.cell) if self._gradient else None
        return () if direction is None else self._behaviour.hints(direction)

    def know(self, text: str, name: str) -> None:
        """Remember a text that is, or will be, evaluated in the slot ``name``."""
        self._known.setdefault(program_hash(text), name)

    def known(self, text: str) -> str | None:
        """The slot of an equal program; None if there is none."""
        return self._known.get(program_hash(text))

    def finish(self, slot: Slot) -> None:
        """Do not try a slot's idea on its parent again: it came to a verdict."""
        self._tried[slot.parent.hash, slot.idea.id] += ATTEMPTS

    def _wanted(
        self, node: Node, want: int, generation: int, planned: set[str]
    ) -> Iterator[tuple[Idea, int]]:
        """Ideas for a node with the numbers of their samples."""
        left = want
        taken: set[str] = set()
        for source in self._sources:
            if left <= 0:
                return
            for idea in self._drawn_ideas(source, node, left, generation):
                if idea.id in taken or not self._is_new(node, idea, planned):
                    continue
                taken.add(idea.id)
                self._tried[node.hash, idea.id] += 1
                samples = 1 if idea.candidate else self._spec.beam.samples
                yield from ((idea, sample) for sample in range(min(samples, left)))
                left -= samples
                if left <= 0:
                    return

    def _drawn_ideas(
        self, source: IdeaSource, node: Node, want: int, generation: int
    ) -> Sequence[Idea]:
        """The ideas of a source, drawn by their weights where there is a gradient."""
        number = int(node.hash[:12], 16)
        draw = rng(self._seed, self._name, f"ideas:{source.name}", generation, number)
        ideas = list(source.ideas(node, want, draw))
        direction = self._gradient.direction_at(node.cell) if self._gradient else None
        if direction is None:
            return ideas
        weights = [weight(direction, self._behaviour.change(node, idea)) for idea in ideas]
        keys = [draw.random() ** (1 / one) for one in weights]
        return [ideas[at] for at in sorted(range(len(ideas)), key=lambda at: -keys[at])]

    def _is_new(self, node: Node, idea: Idea, planned: set[str]) -> bool:
        if self._tried[node.hash, idea.id] >= ATTEMPTS:
            return False
        if idea.candidate is None:
            return True
        program = program_hash(idea.candidate.text)
        if program in self._known or program in planned:
            return False
        planned.add(program)
        return True


@lru_cache(maxsize=1024)
def program_hash(text: str) -> str:
    """A hash without comments, layout, docstrings and the names of local variables.

    A text that does not parse has the hash of its bytes.
    """
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text_hash(text)
    _drop_docstrings(tree)
    if not _reads_names(tree):
        for function in _functions(tree):
            _number_locals(function)
    return text_hash(ast.dump(tree))


def _functions(tree: ast.AST) -> Iterator[_Function]:
    """Functions in which no other function is nested; a nested one may read what is around it."""
    for node in ast.walk(tree):
        if isinstance(node, _Function) and not any(
            isinstance(inner, _Scope) for inner in ast.walk(node) if inner is not node
        ):
            yield node


def _reads_names(tree: ast.AST) -> bool:
    return any(isinstance(n, ast.Name) and n.id in _READS_NAMES for n in ast.walk(tree))


def _drop_docstrings(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if not isinstance(node, _Documented):
            continue
        first = node.body[0] if node.body else None
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            node.body[:1] = [] if node.body[1:] else [ast.Pass()]


def _number_locals(function: _Function) -> None:
    """Name local variables by the order in which they are first assigned."""
    shared = {
        name
        for node in ast.walk(function)
        if isinstance(node, (ast.Global, ast.Nonlocal))
        for name in node.names
    }
    arguments = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    numbers: dict[str, str] = {}
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and node.id not in shared | arguments
        ):
            numbers.setdefault(node.id, f"local {len(numbers)}")
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id in numbers:
            node.id = numbers[node.id]
