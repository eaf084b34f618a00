"""Launch settings chosen by the extents of a call: a function of the host code between two markers.

    # tilewright: tiling begin
    def tiling_of_KERNEL(M, N): ...
    # tilewright: tiling end

The function is a decision list: rules over extents in order, each with a setting, and one setting
for all else. ``written`` puts a list into a file that has literals, or another list, at the launch.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tilewright.rewrites.launch_config import set_launch_config
from tilewright.rewrites.model import RefusedError, accepted, refusal_returned
from tilewright.rewrites.scope import host_scope, names_in, parameters, set_in, targets_of
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Launch, Module

BEGIN, END = "# tilewright: tiling begin", "# tilewright: tiling end"
# Stand for the values until the text is written; a launch that is computed cannot be set to them.
_FIRST_MARK = 1_000_003
_TILING = re.compile(
    rf"^{re.escape(BEGIN)}\n(?P<code>def tiling_of_(?P<kernel>\w+)\(.*?)^{re.escape(END)}\n",
    re.MULTILINE | re.DOTALL,
)

N = TypeVar("N", bound=ast.AST)
Choice = Mapping[str, int]
"""Constexprs and compiler options of a launch."""


@dataclass(frozen=True)
class Rule:
    """A setting for the calls one of whose extents is at most, or above, a bound."""

    extent: str
    bound: int
    above: bool
    choice: Choice

    def holds(self, extents: Mapping[str, int]) -> bool:
        """Whether the rule speaks of a call."""
        return (extents[self.extent] > self.bound) is self.above


@dataclass(frozen=True)
class Tiling:
    """A decision list: the first rule that holds decides, else ``otherwise``."""

    rules: tuple[Rule, ...]
    otherwise: Choice

    @property
    def extents(self) -> tuple[str, ...]:
        """The extents that it asks for."""
        return tuple(dict.fromkeys(rule.extent for rule in self.rules))

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The setting of each rule, and the last one."""
        return (*(rule.choice for rule in self.rules), self.otherwise)

    def choice(self, extents: Mapping[str, int]) -> Choice:
        """The setting of a call."""
        return next((rule.choice for rule in self.rules if rule.holds(extents)), self.otherwise)

    def with_choice(self, number: int, choice: Choice) -> "Tiling":
        """The list with another setting in one place; the last place is that of all else."""
        rules = [
            Rule(r.extent, r.bound, r.above, choice if at == number else r.choice)
            for at, r in enumerate(self.rules)
        ]
        return Tiling(tuple(rules), choice if number == len(rules) else self.otherwise)


@refusal_returned
def written(module: Module, kernel: Kernel, tiling: Tiling, options: Sequence[str]) -> str:
    """The file with a tiling at the kernel's only launch.

    Args:
        options: which names of the choices are compiler options; the others are constexprs.
    """
    present = tiling_in(module.text, kernel.name)
    if present is not None:
        return _replaced(module.text, kernel.name, tiling, present)
    if f"tiling_of_{kernel.name}" in module.text:
        raise RefusedError(f"the file has a tiling_of_{kernel.name} that no markers enclose")
    if module.kernel(kernel.name) is None or len(module.launches_of(kernel.name)) != 1:
        raise RefusedError(f"{kernel.name} needs one launch in the file")
    names = list(tiling.otherwise)
    if any(list(choice) != names for choice in tiling.choices):
        raise RefusedError("the settings of a tiling have to name the same constants")
    marks = {name: _FIRST_MARK + 2 * at for at, name in enumerate(names)}
    pinned = set_launch_config(
        module,
        kernel,
        {name: mark for name, mark in marks.items() if name not in options},
        {name: mark for name, mark in marks.items() if name in options},
    )
    return _placed(module, accepted(pinned), kernel, tiling, marks)


def _placed(
    module: Module, pinned: str, kernel: Kernel, tiling: Tiling, marks: Mapping[str, int]
) -> str:
    """The marks replaced by what the tiling says, and its call put before the first of them."""
    there = parse_module(pinned, module.path)
    (launch,) = there.launches_of(kernel.name)
    scope = host_scope(there, launch)
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        raise RefusedError(f"{kernel.name} is not launched in a function")
    holds = [s for s in scope.body if _marks_in(s) & set(marks.values())]
    inside = sum(len(_marks_at(s)) for s in scope.body)
    if len(_marks_at(there.tree)) > inside or not holds:
        raise RefusedError(
            f"a constant of {kernel.name} is set outside the function that launches it"
        )
    first = holds[0]
    given = _launch_extents(there, launch, scope, first, tiling)
    lines = pinned.splitlines(keepends=True)
    indent = re.match(r"\s*", lines[first.lineno - 1])
    call = f"tiling = tiling_of_{kernel.name}({', '.join(given)})\n"
    lines.insert(first.lineno - 1, f"{indent.group() if indent else ''}{call}")
    lines.insert(_line_of(there, scope) - 1, _function(kernel.name, tiling) + "\n\n")
    text = "".join(lines)
    for name, mark in marks.items():
        text = re.sub(rf"\b{mark}\b", f'tiling["{name}"]', text)
    return text


def _launch_extents(
    module: Module, launch: Launch, scope: ast.FunctionDef | ast.AsyncFunctionDef,
    before: ast.stmt, tiling: Tiling,
) -> list[str]:  # fmt: skip
    """What the launch passes for each extent, where the host knows it early enough."""
    if "tiling" in set_in(scope) | parameters(scope):
        raise RefusedError(f"{scope.name} has a variable named tiling already")
    known = parameters(scope)
    for statement in scope.body:
        if statement is before:
            break
        known |= set(targets_of(statement))
    every = set_in(scope) | parameters(scope)
    given = []
    for name in tiling.extents:
        expression = launch.arguments.get(name)
        if expression is None:
            raise RefusedError(f"the launch does not pass {name}")
        late = (names_in(expression) & every) - known
        if late:
            raise RefusedError(f"{sorted(late)[0]} is not known before the grid is")
        given.append(ast.get_source_segment(module.text, expression) or name)
    return given


def _marks_at(node: ast.AST) -> list[int]:
    numbers = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
    whole = [one for one in numbers if isinstance(one, int)]
    return [one for one in whole if _FIRST_MARK <= one < _FIRST_MARK + 100]


def _marks_in(node: ast.AST) -> set[int]:
    return set(_marks_at(node))


def _line_of(module: Module, scope: ast.AST) -> int:
    """The line of the statement of the module that a function stands in."""
    for statement in module.tree.body:
        if any(node is scope for node in ast.walk(statement)):
            decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
            return min([statement.lineno, *[one.lineno for one in decorators]])
    return 1


def _function(kernel: str, tiling: Tiling) -> str:
    lines = [BEGIN, f"def tiling_of_{kernel}({', '.join(tiling.extents)}):"]
    lines.append('    """Tile sizes and launch options by the extents of a call."""')
    for rule in tiling.rules:
        sign = ">" if rule.above else "<="
        lines.append(f"    if {rule.extent} {sign} {rule.bound}:")
        lines.append(f"        return {_literal(rule.choice)}")
    lines.append(f"    return {_literal(tiling.otherwise)}")
    return "\n".join([*lines, END, ""])


def _literal(choice: Choice) -> str:
    inside = ", ".join(f'"{name}": {value}' for name, value in choice.items())
    return f"{{{inside}}}"


def _replaced(text: str, kernel: str, tiling: Tiling, present: Tiling) -> str:
    if tiling.extents != present.extents:
        raise RefusedError("the launch passes other extents to the tiling that is there")
    found = next(one for one in _TILING.finditer(text) if one.group("kernel") == kernel)
    return text[: found.start()] + _function(kernel, tiling) + text[found.end() :]


def tiling_in(text: str, kernel: str) -> Tiling | None:
    """The tiling of a kernel in a text; None where there is none, or not one of this form."""
    for found in _TILING.finditer(text):
        if found.group("kernel") == kernel:
            return _parsed(found.group("code"))
    return None


def _parsed(code: str) -> Tiling | None:
    """A decision list from its function; None if somebody wrote something else into it."""
    try:
        (function,) = ast.parse(code).body
        *rules, last = _statements(_as(ast.FunctionDef, function))
        return Tiling(tuple(map(_rule, rules)), _choice(last))
    except (SyntaxError, ValueError):
        return None


def _statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    for statement in function.body:
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            yield statement


def _rule(statement: ast.stmt) -> Rule:
    node = _as(ast.If, statement)
    if node.orelse:
        raise ValueError("a rule has no else")
    test = _as(ast.Compare, node.test)
    (sign,), (bound,), (body,) = test.ops, test.comparators, node.body
    if not isinstance(sign, ast.Gt | ast.LtE):
        raise ValueError("a rule compares by > or <=")
    extent = _as(ast.Name, test.left).id
    return Rule(extent, _integer(bound), isinstance(sign, ast.Gt), _choice(body))


def _choice(statement: ast.stmt) -> Choice:
    node = _as(ast.Dict, _as(ast.Return, statement).value)
    pairs = zip(node.keys, node.values, strict=True)
    return {str(_as(ast.Constant, key).value): _integer(value) for key, value in pairs}


def _integer(node: ast.expr) -> int:
    value = _as(ast.Constant, node).value
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("a bound or constant is an integer")
    return value


def _as(kind: type[N], node: ast.AST | None) -> N:
    if not isinstance(node, kind):
        raise ValueError(f"this is no {kind.__name__}")
    return node
