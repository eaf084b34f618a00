"""A YAML file as nodes that remember their lines, so that every complaint can name one."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import yaml

from tilewright.errors import InputError
from tilewright.problems.model import NoSpecError, ProblemError
from tilewright.textfile import utf8_text

Scalar = int | float | bool | str | None

LARGEST_SPEC = 256 * 1024
"""Bytes; what belongs to something else may be any size, and YAML is read slowly."""


@dataclass(frozen=True)
class SpecNode:
    """One value of a spec and where it stands. Every failure is a ProblemError with the line."""

    node: yaml.Node
    path: str

    @property
    def line(self) -> int:
        return int(self.node.start_mark.line) + 1

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.node, yaml.MappingNode)

    @property
    def is_list(self) -> bool:
        return isinstance(self.node, yaml.SequenceNode)

    def fail(self, message: str) -> NoReturn:
        """Raise a ProblemError at this value."""
        raise ProblemError(message, self.path, self.line, int(self.node.start_mark.column))

    def note(self, message: str) -> str:
        """A warning that names this value's place."""
        return f"{self.path}:{self.line}: {message}"

    def fields(self, what: str) -> "dict[str, SpecNode]":
        """The mapping's values by key; ``what`` names it in messages."""
        if not isinstance(self.node, yaml.MappingNode):
            self.fail(f"{what} must be a mapping of names to values")
        try:
            yaml.SafeLoader("").flatten_mapping(self.node)
        except (yaml.YAMLError, RecursionError):
            self.fail(f"the merge key '<<' in {what} must name a mapping, and not itself")
        found: dict[str, SpecNode] = {}
        own: set[str] = set()
        for key_node, value_node in self.node.value:
            key_at = SpecNode(key_node, self.path)
            key = key_at.raw
            if key in own:
                key_at.fail(f"'{key}' is given twice in {what}; remove one of them")
            if self._spans(key_node):
                own.add(key)
            found[key] = SpecNode(value_node, self.path)
        return found

    def _spans(self, node: yaml.Node) -> bool:
        """Whether ``node`` stands inside this value, as against merged in from an anchor."""
        start, end = self.node.start_mark.index, self.node.end_mark.index
        return bool(start <= node.start_mark.index < end)

    def elements(self, what: str) -> "Iterator[SpecNode]":
        """The list's values; ``what`` names it in messages."""
        if not isinstance(self.node, yaml.SequenceNode):
            self.fail(f"{what} must be a list")
        if self.node.tag != "tag:yaml.org,2002:seq":
            self.fail(f"{what} must be a plain list; remove the tag {self.node.tag}")
        return (SpecNode(child, self.path) for child in self.node.value)

    @property
    def is_word(self) -> bool:
        """Whether it is a number or a word, as against a list or a mapping."""
        return isinstance(self.node, yaml.ScalarNode)

    @property
    def keys(self) -> "tuple[SpecNode, ...]":
        """A mapping's keys as they are, whatever they are."""
        pairs = self.node.value if isinstance(self.node, yaml.MappingNode) else ()
        return tuple(SpecNode(key, self.path) for key, _ in pairs)

    @property
    def raw(self) -> str:
        """The text as written. A name such as ON or NO would otherwise be read as a truth value."""
        if not isinstance(self.node, yaml.ScalarNode):
            self.fail("a number or a word is expected here, not a list or a mapping")
        return str(self.node.value)

    @property
    def is_quoted(self) -> bool:
        """Whether the text stands in quotes, so that it is meant as text."""
        return isinstance(self.node, yaml.ScalarNode) and self.node.style in ("'", '"')

    def scalar(self) -> Scalar:
        """The number, truth value or text; anything else is a failure."""
        if not isinstance(self.node, yaml.ScalarNode):
            self.fail("a number or a word is expected here, not a list or a mapping")
        try:
            value = yaml.SafeLoader("").construct_object(self.node)
        except (yaml.YAMLError, ValueError):
            self.fail(f"'{self.node.value}' is neither a number nor a word; quote it")
        if value is None or isinstance(value, int | float | str):
            return value
        self.fail(f"'{self.node.value}' is neither a number nor a word; quote it")

    def word(self, what: str) -> str:
        """A piece of text; ``what`` names it in messages."""
        value = self.scalar()
        if isinstance(value, bool):
            return self.raw
        if not isinstance(value, str) or not value.strip():
            self.fail(f"{what} must be a word, not {value!r}")
        return value.strip()


def read_text(path: Path) -> str:
    """The text of a spec, or a ProblemError that says why it cannot be read."""
    try:
        return utf8_text(path, LARGEST_SPEC)
    except InputError as problem:
        raise unreadable(problem) from None


def unreadable(problem: InputError) -> ProblemError:
    """That a file of a problem cannot be read, and why."""
    return ProblemError(f"the file cannot be read: {problem.message}", problem.path, problem.line)


def read_yaml(text: str, path: str) -> SpecNode:
    """The single document of a YAML text; raises ProblemError where it is not one."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        kind = NoSpecError if "single document" in str(problem.context) else ProblemError
        line, column = (None, None) if mark is None else (int(mark.line) + 1, int(mark.column))
        raise kind(f"this is not YAML: {problem.problem}", path, line, column) from None
    except (yaml.YAMLError, RecursionError) as problem:
        raise ProblemError(f"this is not YAML: {problem}", path) from None
    if node is None:
        raise ProblemError(
            "the spec is empty; it needs 'inputs' and a variant such as 'ci'", path, 1
        )
    return SpecNode(node, path)
