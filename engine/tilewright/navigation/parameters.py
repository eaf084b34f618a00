"""Where a parameter of a kernel is named: signature, body, configurations, launches, grids, calls.

A parameter is named by strings as well (``META["BLOCK"]``, keys of configurations), which only the
rules of Triton connect with it. What may name it without that being certain is an obstacle.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from tilewright.navigation.mentions import mentions_in, with_parents
from tilewright.navigation.model import Obstacle, Role, Use, Uses
from tilewright.navigation.scopes import Root, Scope, names_in, reached
from tilewright.source.model import Kernel, Launch, Module
from tilewright.source.text import Range

_KEYED = frozenset(("get", "pop", "setdefault"))
_QUOTED = r"[rRuU]?(\"\"\"|'''|\"|')({name})\1"


def parameter_uses(module: Module, kernel: Kernel, name: str) -> Uses:
    """Every place of a parameter in a file, with those that other kernels' parameters have."""
    search = ParameterSearch(module, kernel, name)
    uses = search.uses()
    obstacles = set(search.obstacles)
    others: set[Range] = set()
    for other in module.kernels:
        if other is not kernel and other.parameter(name) is not None:
            places = {use.range for use in ParameterSearch(module, other, name).uses()}
            shared = places & {use.range for use in uses}
            obstacles |= {
                Obstacle(place.line, f"it is the name in {other.name} as well") for place in shared
            }
            others |= places
    known = others | {use.range for use in uses}
    obstacles |= set(search.unexplained(known))
    return Uses(tuple(sorted(uses)), tuple(sorted(obstacles)))


class ParameterSearch:
    """The search for one parameter's uses in one file. ``obstacles`` fills up on the way."""

    def __init__(self, module: Module, kernel: Kernel, name: str) -> None:
        self._module = module
        self._kernel = kernel
        self._name = name
        self._names = {kernel.name, *kernel.aliases}
        self._mentions = mentions_in(module)
        self._scope = self._mentions.scope
        self._text = module.index
        self.obstacles: list[Obstacle] = []

    def uses(self) -> set[Use]:
        """The certain uses."""
        if self._kernel.qualified_name != self._kernel.name:
            self._obstacle(self._kernel.node, "the kernel stands in a class or a function")
        configured = set(self._configurations())
        found = {*self._signature(), *self._body(), *configured}
        for launch in self._module.launches_of(self._kernel.name):
            found |= {*self._launch(launch), *self._grid(launch)}
            if not configured:
                self._unseen_value(launch)
        self._whole_kernel()
        return found | {*self._calls()}

    def _obstacle(self, node: ast.expr | ast.stmt | ast.keyword | ast.arg, reason: str) -> None:
        self.obstacles.append(Obstacle(node.lineno, reason))

    def _named(
        self, node: ast.expr | ast.arg | ast.keyword, role: Role, inside: Range | None = None
    ) -> Iterator[Use]:
        """The name that a node starts with, if the text says so."""
        start = self._text.range_of(node)
        place = Range(start.line, start.column, start.line, start.column + len(self._name))
        fits = inside is None or (
            inside.contains(place.line, place.column)
            and inside.contains(place.line, place.end_column)
        )
        if fits and self._text.slice(place) == self._name:
            yield Use(place, role)
        else:
            self._obstacle(node, f"{self._name} is written in a way that cannot be changed here")

    def _string(self, node: ast.Constant, role: Role) -> Iterator[Use]:
        """The name between the quotes of a string."""
        place = self._text.range_of(node)
        found = re.fullmatch(_QUOTED.format(name=re.escape(self._name)), self._text.slice(place))
        if found is None:
            self._obstacle(node, f"{self._name} is written in a way that cannot be changed here")
            return
        start = place.column + found.start(2)
        yield Use(Range(place.line, start, place.line, start + len(self._name)), role)

    def _signature(self) -> Iterator[Use]:
        for argument in _arguments(self._kernel.node.args):
            if argument.arg == self._name:
                yield from self._named(argument, Role.DEFINITION)

    def _body(self) -> Iterator[Use]:
        formatted = {
            id(inner): self._text.range_of(node)
            for statement in self._kernel.node.body
            for node in ast.walk(statement)
            if isinstance(node, ast.JoinedStr)
            for inner in ast.walk(node)
        }
        for statement in self._kernel.node.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id == self._name:
                    yield from self._named(node, Role.BODY, formatted.get(id(node)))
                elif isinstance(node, ast.arg) and node.arg == self._name:
                    self._obstacle(node, f"a function in the kernel has its own {self._name}")
                elif isinstance(node, ast.comprehension) and self._name in names_in(node.target):
                    self._obstacle(node.target, f"a comprehension has its own {self._name}")

    def _configurations(self) -> Iterator[Use]:
        for root in reached(self._kernel.node.decorator_list, [self._scope]):
            if not self._is_kernel(root):
                yield from self._uses_below(root)
        for alias in self._kernel.aliases:
            for root in reached(_values(self._scope.giving(alias)), [self._scope]):
                if not self._is_kernel(root):
                    yield from self._uses_below(root)

    def _is_kernel(self, root: ast.AST) -> bool:
        return any(kernel.node is root for kernel in self._module.kernels)

    def _uses_below(self, root: Root) -> Iterator[Use]:
        """The strings and keywords of what an autotuner or a heuristic is given."""
        if isinstance(root, ast.FunctionDef):
            self._own_parameter(root)
        for node, parent in with_parents(root):
            if isinstance(node, ast.Constant) and node.value == self._name:
                if _is_key(node, parent):
                    yield from self._string(node, Role.CONFIGURATION)
                elif not isinstance(parent, ast.Expr):
                    self._obstacle(node, f"the string {self._name!r} may name it")
            elif isinstance(node, ast.keyword) and node.arg == self._name:
                yield from self._keyword(node, parent)

    def _own_parameter(self, function: ast.FunctionDef) -> None:
        """A function that Triton calls gets the parameters by their names."""
        takes = any(argument.arg == self._name for argument in _arguments(function.args))
        if takes and not self._only_called(function.name):
            self._obstacle(function, f"{function.name} takes {self._name} by its name")

    def _only_called(self, name: str) -> bool:
        named = self._mentions.names.get(name, ())
        return all(id(node) in self._mentions.called for node in named)

    def _keyword(self, node: ast.keyword, call: ast.AST | None) -> Iterator[Use]:
        if not isinstance(call, ast.Call):
            return
        if self._module.names.resolve(call.func) == "dict":
            yield from self._named(node, Role.CONFIGURATION)
            return
        callee = call.func.id if isinstance(call.func, ast.Name) else None
        function = self._scope.function(callee) if callee is not None else None
        own = function is not None and any(
            argument.arg == self._name for argument in _arguments(function.args)
        )
        if not own:
            self._obstacle(node, f"what is called with {self._name}= there is not known")

    def _launch(self, launch: Launch) -> Iterator[Use]:
        given = [node for node in launch.node.keywords if node.arg == self._name]
        if not launch.is_certain:
            self._obstacle(launch.node, "that launch may be of another kernel")
        for node in given:
            yield from self._named(node, Role.LAUNCH)
        hidden = not launch.is_complete and self._name not in launch.arguments
        if hidden and not self._is_tuned:
            self._obstacle(launch.node, "that launch has arguments that are not written out")

    def _unseen_value(self, launch: Launch) -> None:
        """A value that another file gives, by name: of configurations or heuristics made there."""
        if self._name in launch.arguments or not launch.is_complete:
            return
        tuned = self._kernel.autotune
        unknown = tuned is not None and tuned.configs is None
        parameter = self._kernel.parameter(self._name)
        if unknown or (parameter is not None and parameter.default is None):
            self._obstacle(launch.node, f"nothing in this file gives {self._name} its value there")

    @property
    def _is_tuned(self) -> bool:
        """Whether an autotuner or a heuristic gives the value, so that no launch may."""
        tuned = self._kernel.autotune
        configs = tuned.configs if tuned is not None else None
        return self._name in self._kernel.heuristics or bool(
            configs and all(self._name in config.values for config in configs)
        )

    def _grid(self, launch: Launch) -> Iterator[Use]:
        """``META["BLOCK"]`` in the function that a grid is."""
        scopes = [self._scope]
        function = self._module.host_functions.get(launch.host_function or "")
        if function is not None:
            scopes.append(Scope(function.body))
        for root in reached([launch.grid], scopes):
            for node in ast.walk(root):
                if self._is_grid(node):
                    yield from self._of_meta(node)

    def _is_grid(self, node: ast.AST) -> TypeGuard[ast.Lambda | ast.FunctionDef]:
        """Whether Triton calls a function: one that the host calls gets arguments of its own."""
        if isinstance(node, ast.FunctionDef):
            return not self._is_kernel(node) and not self._only_called(node.name)
        return isinstance(node, ast.Lambda)

    def _of_meta(self, function: ast.Lambda | ast.FunctionDef) -> Iterator[Use]:
        metas = {argument.arg for argument in _arguments(function.args)}
        for node, parent in with_parents(function):
            if not (isinstance(node, ast.Constant) and node.value == self._name):
                continue
            owner = _owner(parent)
            if isinstance(owner, ast.Name) and owner.id in metas and _is_key(node, parent):
                yield from self._string(node, Role.GRID)

    def _calls(self) -> Iterator[Use]:
        """Keywords of calls from other kernels."""
        for kernel in self._module.callers_of(self._kernel):
            for node in ast.walk(kernel.node):
                if isinstance(node, ast.Call):
                    yield from self._call(node)

    def _call(self, node: ast.Call) -> Iterator[Use]:
        if not (isinstance(node.func, ast.Name) and node.func.id in self._names):
            return
        for keyword in node.keywords:
            if keyword.arg == self._name:
                yield from self._named(keyword, Role.CALL)
            elif keyword.arg is None:
                self._obstacle(keyword.value, "that call has arguments in **")

    def _whole_kernel(self) -> None:
        """Mentions of the kernel that are neither its launches nor calls of it."""
        explained = set(self._mentions.called_in_kernels)
        for launch in self._module.launches_of(self._kernel.name):
            explained |= {id(node) for node in ast.walk(launch.node.func)}
        for alias in self._kernel.aliases:
            for statement in self._scope.giving(alias):
                explained |= {id(node) for node in ast.walk(statement)}
        reason = f"{self._kernel.name} is used there in a way that is not followed"
        for name in sorted(self._names):
            for node in self._mentions.names.get(name, ()):
                if id(node) not in explained:
                    self._obstacle(node, reason)

    def unexplained(self, known: set[Range]) -> Iterator[Obstacle]:
        """Strings with the parameter's name in host code that no kernel accounts for."""
        places = {(place.line, place.column) for place in known}
        reason = f"the string {self._name!r} may name it"
        for node, parent in self._mentions.strings.get(self._name, ()):
            place = self._text.range_of(node)
            inner = any((place.line, place.column + n) in places for n in (1, 2, 3, 4))
            if not inner and not isinstance(parent, ast.Expr):
                yield Obstacle(node.lineno, reason)


def _arguments(found: ast.arguments) -> list[ast.arg]:
    every = [*found.posonlyargs, *found.args, *found.kwonlyargs]
    return every + [extra for extra in (found.vararg, found.kwarg) if extra is not None]


def _values(statements: Iterable[ast.stmt]) -> list[ast.expr]:
    return [statement.value for statement in statements if isinstance(statement, ast.Assign)]


def _owner(parent: ast.AST | None) -> ast.expr | None:
    """``a`` of ``a["BLOCK"]`` and of ``a.get("BLOCK")``."""
    match parent:
        case ast.Subscript(value=value) | ast.Call(func=ast.Attribute(value=value)):
            return value
    return None


def _is_key(node: ast.Constant, parent: ast.AST | None) -> bool:
    """Whether a string stands where names of parameters are written."""
    match parent:
        case ast.Dict(keys=keys):
            return any(key is node for key in keys)
        case ast.Subscript(slice=key):
            return key is node
        case ast.Call(func=ast.Attribute(attr=attr), args=[first, *_]):
            return attr in _KEYED and first is node
        case ast.List() | ast.Tuple() | ast.Set() | ast.Compare():
            return True
    return False
