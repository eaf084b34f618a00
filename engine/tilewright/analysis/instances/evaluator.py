"""Python as host functions and kernels use it, evaluated at chosen sizes; nothing of it runs.

What is not modelled is ``UNKNOWN``. A condition that is unknown makes what it decides unknown.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tilewright.analysis.flow import assigned_names
from tilewright.analysis.instances.hooks import End, Hooks
from tilewright.analysis.instances.model import (
    UNKNOWN,
    Dim,
    Dotted,
    Function,
    Infeasible,
    Known,
    Method,
    Unfollowed,
    Unknown,
    demand_exact,
    keys_of,
)
from tilewright.analysis.instances.operators import (
    BUILTIN_CALLS,
    CONTAINER_METHODS,
    CONTAINERS,
    FAILURES,
    LEAST_SCALED,
    PLAIN,
    container_call,
    containers_in,
    has_unknown,
    is_block,
    plain_result,
)
from tilewright.python_syntax import parameter_defaults
from tilewright.source.constants import ORDER, Undecidable
from tilewright.source.constants import Evaluator as Constants
from tilewright.source.model import Module
from tilewright.source.parse import module_constants

_DEEPEST = 40


class Evaluator(Hooks):
    """Evaluates expressions and statements; host functions and kernels add what is theirs."""

    def __init__(self, module: Module, steps: int, scale: int = 1) -> None:
        self.module = module
        self.scale = scale
        self.env: dict[str, Known] = {}
        self.result: Known = None
        self.steps = steps
        self.depth = 0
        self.unread = frozenset[str]()  # sizes that the text leaves aside: others say the same
        self._globals: dict[str, Known] = module.memo.setdefault((Evaluator, scale), {})

    # Expressions.

    def scaled(self, value: Known) -> Known:
        """A value that the text states; lengths of blocks are made smaller by ``scale``."""
        if self.scale == 1:
            return value
        if isinstance(value, tuple | list):
            return type(value)(map(self.scaled, value))
        if isinstance(value, dict):
            return {key: self.scaled(one) for key, one in value.items()}
        is_long = is_block(value) and value >= LEAST_SCALED * self.scale
        return value // self.scale if is_long else value

    def step(self) -> None:
        """Count a step; raises Unfollowed where too many were taken."""
        self.steps -= 1
        if self.steps < 0:
            raise Unfollowed("too many steps")

    def value(self, node: ast.expr) -> Known:
        """The value of an expression."""
        self.step()
        found = _VALUES.get(type(node))
        if found is None:
            return UNKNOWN
        try:
            result = found(self, node)
        except FAILURES:
            self.failed(node)
            return UNKNOWN
        for _ in containers_in(result) if isinstance(result, CONTAINERS) else ():
            self.step()
        return result

    def _elements(self, nodes: list[ast.expr]) -> Iterator[Known]:
        for node in nodes:
            if not isinstance(node, ast.Starred):
                yield self.value(node)
                continue
            parts = self.value(node.value)
            if not isinstance(parts, tuple | list):
                raise Unfollowed("unknown elements")
            yield from parts

    def _name(self, node: ast.Name) -> Known:
        if node.id in self.env:
            return self.env[node.id]
        if node.id not in self._globals:
            self._globals[node.id] = self._global(node)
        return self._globals[node.id]

    def _global(self, node: ast.Name) -> Known:
        constants = module_constants(self.module.tree)
        if node.id in constants:
            try:
                return self.scaled(Constants(constants, {}, self.module.names).value(node))
            except Undecidable:
                return UNKNOWN
        return Dotted(self.module.names.resolve(node) or node.id)

    def _attribute(self, node: ast.Attribute) -> Known:
        owner = self.value(node.value)
        if isinstance(owner, Dotted):
            return Dotted(f"{owner.name}.{node.attr}")
        return UNKNOWN if isinstance(owner, Unknown) else self.member(owner, node.attr)

    def _subscript(self, node: ast.Subscript) -> Known:
        owner = self.value(node.value)
        if isinstance(owner, tuple | list | dict):
            return self._element(owner, node.slice)
        return self.item(node, owner)

    def _element(self, owner: Any, index: ast.expr) -> Known:
        if isinstance(index, ast.Slice):
            parts = (index.lower, index.upper, index.step)
            return owner[slice(*(None if part is None else self.value(part) for part in parts))]
        key = self.value(index)
        return UNKNOWN if isinstance(key, Unknown) else owner[key]

    def _binary(self, node: ast.BinOp) -> Known:
        one, two = self.value(node.left), self.value(node.right)
        return self.operation(type(node.op), one, two)

    def operation(self, op: type[ast.operator], one: Known, two: Known) -> Known:
        """``one op two``."""
        if not isinstance(one, PLAIN) or not isinstance(two, PLAIN):
            return self.computed(op, one, two)
        if op is ast.FloorDiv and isinstance(one, Dim) and one.is_raised:
            self.asked_to_round(one)
        elif op is ast.FloorDiv and isinstance(one, Dim) and (isinstance(two, Dim) or two == 2):
            demand_exact(one, two)
        if op is ast.Mod:
            self.divided(one, two)
        return plain_result(op, one, two)

    def _unary(self, node: ast.UnaryOp) -> Known:
        value = self.value(node.operand)
        if isinstance(node.op, ast.UAdd):
            return value
        # ``~`` of a condition on numbers is that of a lane, and not Python's of a bool.
        if isinstance(node.op, ast.Not) or (
            isinstance(node.op, ast.Invert) and isinstance(value, bool)
        ):
            truth = self.truth(value)
            return UNKNOWN if truth is None else not truth
        if isinstance(value, int | float):
            return -value if isinstance(node.op, ast.USub) else ~int(value)
        if isinstance(node.op, ast.USub):
            return self.computed(ast.Sub, 0, value)
        return self.computed(ast.BitXor, value, True) if value is not UNKNOWN else UNKNOWN

    def _compare(self, node: ast.Compare) -> Known:
        left = self.value(node.left)
        result: Known = True
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            self.bounds(node, left, right)
            step = self.comparison(type(op), left, right)
            if len(node.ops) == 1:
                return step
            truth = self.truth(step)
            if truth is None:
                return UNKNOWN
            result = result and truth
            left = right
        return result

    def comparison(self, op: type[ast.cmpop], one: Known, two: Known) -> Known:
        """``one op two``."""
        if op in (ast.Is, ast.IsNot):
            same = self.same(one, two)
            return UNKNOWN if same is None else same is (op is ast.Is)
        if isinstance(one, Unknown) or isinstance(two, Unknown):
            return UNKNOWN
        if op in (ast.In, ast.NotIn):
            return self._contained(op, one, two)
        if isinstance(one, PLAIN) and isinstance(two, PLAIN):
            return UNKNOWN if has_unknown(one) or has_unknown(two) else ORDER[op](one, two)
        return self.compared(op, one, two)

    def _contained(self, op: type[ast.cmpop], one: Known, two: Known) -> Known:
        is_known = isinstance(one, PLAIN) and isinstance(two, tuple | list | dict | str)
        if not is_known or has_unknown(two):
            return UNKNOWN
        return (one in two) is (op is ast.In)

    def same(self, one: Known, two: Known) -> bool | None:
        """``one is two``."""
        if isinstance(one, Unknown | Dotted) or isinstance(two, Unknown | Dotted):
            return None
        return one is two if one is None or two is None or isinstance(one, bool) else None

    def _bool(self, node: ast.BoolOp) -> Known:
        is_and, is_open = isinstance(node.op, ast.And), False
        value: Known = is_and
        for part in node.values:
            value = self.value(part)
            truth = self.truth(value)
            is_open = is_open or truth is None
            if truth is not None and truth is not is_and:
                return value
        return UNKNOWN if is_open else value

    def _choice(self, node: ast.IfExp) -> Known:
        truth = self.truth(self.value(node.test))
        if truth is None:
            return UNKNOWN
        return self.value(node.body if truth else node.orelse)

    def truth(self, value: Known) -> bool | None:
        """Whether a value is true; None where that is not known."""
        return bool(value) if isinstance(value, PLAIN) else None

    def _dict(self, node: ast.Dict) -> Known:
        found: dict[Known, Known] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            result = self.value(value)
            found.update(result if key is None else {self.value(key): result})
        return found

    def _call(self, node: ast.Call) -> Known:
        function: Known
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            name = node.func.attr
            function = (
                Dotted(f"{owner.name}.{name}") if isinstance(owner, Dotted) else Method(owner, name)
            )
        else:
            function = self.value(node.func)
        try:
            given = list(self._elements(node.args))
        except Unfollowed:
            given, function = [], UNKNOWN
        named = {k.arg: self.value(k.value) for k in node.keywords if k.arg is not None}
        if isinstance(function, Dotted) and function.name in BUILTIN_CALLS and not named:
            return self._builtin(node, function.name, given)
        if isinstance(function, Function):
            return self.apply(function, given, named)
        if (
            isinstance(function, Method)
            and isinstance(function.owner, list | dict)
            and function.name in CONTAINER_METHODS
        ):
            return container_call(function.owner, function.name, given, named)
        return self.call(node, function, given, named)

    def _builtin(self, node: ast.Call, name: str, given: list[Known]) -> Known:
        if not all(isinstance(value, PLAIN) for value in given):
            return self.call(node, Dotted(name), given, {})
        if name in ("min", "max"):
            for value in given:
                self.asked_to_round(value)
        if name == "int" and len(given) == 1 and isinstance(given[0], int):
            return given[0]
        return BUILTIN_CALLS[name](*given)

    def apply(
        self,
        function: Function,
        given: list[Known],
        named: Mapping[str, Known] | None = None,
    ) -> Known:
        """The result of a lambda, or of a function of the text."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise Unfollowed("too deep")
        outer, self.env = self.env, function.env
        own = {
            argument.arg: UNKNOWN if default is None else self.value(default)
            for argument, default in parameter_defaults(function.node.args)
        }
        self.env = {**function.env, **own, **dict(zip(own, given, strict=False)), **(named or {})}
        held, self.result = self.result, None
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body)
            self.run(function.node.body)
            return self.result
        finally:
            self.env, self.result = outer, held
            self.depth -= 1

    # Statements.

    def run(self, body: list[ast.stmt]) -> End | None:
        """Run statements in their order."""
        for statement in body:
            found = _STATEMENTS.get(type(statement))
            if found is None:
                self.forget([statement])
                continue
            end = found(self, statement)
            if end is not None:
                return end
        return None

    def forget(self, body: list[ast.stmt]) -> None:
        """The names that statements may set are unknown behind them."""
        for name in assigned_names(body):
            self.env[name] = UNKNOWN

    def _assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.value(node.value))

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name) or self._container_of(node.target) is not None:
            before = self.value(node.target)
            try:
                result = self.operation(type(node.op), before, self.value(node.value))
            except FAILURES:
                result = UNKNOWN
            self.bind(node.target, result)
        else:
            self.changed(node.target)
            self.value(node.value)

    def _container_of(self, target: ast.expr) -> Known:
        """The list or dictionary that a target is an element of."""
        held = self.value(target.value) if isinstance(target, ast.Subscript) else None
        return held if isinstance(held, list | dict) else None

    def bind(self, target: ast.expr, value: Known) -> None:
        """Give a target its value."""
        match target:
            case ast.Name(id=name):
                self.env[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                values = self.unpacked(value, parts)
                for part, one in zip(parts, values, strict=True):
                    self.bind(part, one)
                    if isinstance(part, ast.Name) and part.id == "_":
                        self.unread |= keys_of(one)
            case ast.Starred(value=inner):
                self.bind(inner, UNKNOWN)
            case ast.Subscript(slice=index) if (held := self._container_of(target)) is not None:
                container_call(held, "__setitem__", [self.value(index), value])
            case _:
                self.changed(target)

    def unpacked(self, value: Known, parts: list[ast.expr]) -> list[Known]:
        """The values that a tuple of targets is given."""
        starred = any(isinstance(part, ast.Starred) for part in parts)
        if isinstance(value, tuple | list) and len(value) == len(parts) and not starred:
            return list(value)
        return [UNKNOWN] * len(parts)

    def _named_value(self, node: ast.NamedExpr) -> Known:
        value = self.value(node.value)
        self.bind(node.target, value)
        return value

    def _expression(self, node: ast.Expr) -> None:
        self.value(node.value)

    def _return(self, node: ast.Return) -> End:
        self.result = None if node.value is None else self.value(node.value)
        return End.RETURN

    def _if(self, node: ast.If) -> End | None:
        truth = self.truth(self.value(node.test))
        if truth is None:
            return self.undecided(node)
        if truth and node.body and isinstance(node.body[-1], ast.Raise):
            raise Infeasible("the text raises an error", multiples=self._multiples(node.test))
        return self.run(node.body if truth else node.orelse)

    def _for(self, node: ast.For) -> End | None:
        over = self.value(node.iter)
        if not isinstance(over, range | tuple | list):
            self.endless(node)
            return None
        for value in self.turns(node, over):
            self.step()
            self.bind(node.target, value)
            end = self.run(node.body)
            if end is End.BREAK:
                return None
            if end is End.RETURN:
                return end
        return self.run(node.orelse)

    def _while(self, node: ast.While) -> End | None:
        while True:
            truth = self.truth(self.value(node.test))
            if truth is None:
                self.endless(node)
                return None
            if not truth:
                return self.run(node.orelse)
            end = self.run(node.body)
            if end is End.BREAK:
                return None
            if end is End.RETURN:
                return end

    def _assert(self, node: ast.Assert) -> None:
        self.demand(node.test)

    def demand(self, test: ast.expr) -> None:
        """The text goes on only if this is true."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for part in test.values:
                self.demand(part)
            return
        if self.truth(self.value(test)) is not False:
            return
        same = None
        multiples = self._multiples(test)
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            same = self._tied(self.value(test.left), self.value(test.comparators[0]))
        raise Infeasible("an assertion fails", same=same, multiples=multiples)

    def _tied(self, one: Known, two: Known) -> tuple[str, str] | None:
        """The first two sizes that have to be the same so that two numbers or shapes are."""
        if isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two):
            pairs = zip(one, two, strict=True)
            return next((self._tied(*pair) for pair in pairs if pair[0] != pair[1]), None)
        left, right = keys_of(one), keys_of(two)
        is_one_each = len(left) == len(right) == 1
        return (next(iter(left)), next(iter(right))) if is_one_each else None

    def _multiples(self, test: ast.expr) -> dict[str, int]:
        """What a condition on remainders demands sizes to be multiples of."""
        found: dict[str, int] = {}
        for node in ast.walk(test):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
                keys, by = keys_of(self.value(node.left)), self.value(node.right)
                if len(keys) == 1 and isinstance(by, int) and by > 0:
                    found[next(iter(keys))] = int(by)
        return found

    def _raise(self, node: ast.Raise) -> None:
        raise Infeasible("the text raises an error")

    def _function(self, node: ast.FunctionDef) -> None:
        self.env[node.name] = Function(node, self.env)


# A table of bound methods would make each evaluation a reference cycle, which only the garbage
# collector frees: that of a host function holds thousands of objects.
_VALUES: Mapping[type[ast.AST], Callable[[Evaluator, Any], Known]] = {
    ast.Constant: lambda of, node: of.scaled(node.value),
    ast.Name: Evaluator._name,
    ast.Attribute: lambda of, node: of._attribute(node),
    ast.Subscript: Evaluator._subscript,
    ast.BinOp: Evaluator._binary,
    ast.UnaryOp: Evaluator._unary,
    ast.Compare: Evaluator._compare,
    ast.BoolOp: Evaluator._bool,
    ast.IfExp: Evaluator._choice,
    ast.Call: Evaluator._call,
    ast.Tuple: lambda of, node: tuple(of._elements(node.elts)),
    ast.List: lambda of, node: list(of._elements(node.elts)),
    ast.Dict: Evaluator._dict,
    ast.Lambda: lambda of, node: Function(node, of.env),
    ast.NamedExpr: Evaluator._named_value,
}
_STATEMENTS: Mapping[type[ast.stmt], Callable[[Evaluator, Any], End | None]] = {
    ast.Assign: Evaluator._assign,
    ast.AnnAssign: Evaluator._annotated,
    ast.AugAssign: Evaluator._augmented,
    ast.Expr: Evaluator._expression,
    ast.Return: Evaluator._return,
    ast.If: Evaluator._if,
    ast.For: Evaluator._for,
    ast.While: Evaluator._while,
    ast.With: lambda of, node: of.run(node.body),
    ast.Assert: Evaluator._assert,
    ast.Raise: Evaluator._raise,
    ast.Break: lambda of, node: End.BREAK,
    ast.Continue: lambda of, node: End.CONTINUE,
    ast.Pass: lambda of, node: None,
    ast.FunctionDef: Evaluator._function,
}
