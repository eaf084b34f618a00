"""Reading ``triton.autotune`` and ``triton.heuristics`` decorators."""

import ast
from typing import Any

from tilewright.source.constants import Evaluator, Undecidable
from tilewright.source.model import Autotune, Config
from tilewright.source.names import Names
from tilewright.source.text import LineIndex

AUTOTUNE = "triton.autotune"
HEURISTICS = "triton.heuristics"
CONFIG = "triton.Config"

_Literal = int | float | bool | str | None
_OPTION_POSITIONS = ("num_warps", "num_stages", "num_ctas")
_NOT_OPTIONS = frozenset({"kwargs", "pre_hook"})


class AutotuneReader:
    """Reads decorators of one file; ``constants`` and ``functions`` are its module level."""

    def __init__(
        self,
        index: LineIndex,
        names: Names,
        constants: dict[str, ast.expr],
        functions: dict[str, ast.FunctionDef],
    ) -> None:
        self._index = index
        self._names = names
        self._constants = constants
        self._functions = functions

    def autotune(self, call: ast.Call, parameters: frozenset[str]) -> Autotune:
        """What the decorator states; ``parameters`` are the kernel's, to tell options apart."""
        given = dict(zip(("configs", "key"), call.args, strict=False))
        given.update({k.arg: k.value for k in call.keywords if k.arg is not None})
        configs = self._evaluate(given.get("configs"))
        known = isinstance(configs, list) and all(isinstance(c, Config) for c in configs)
        return Autotune(
            configs=tuple(_split(c, parameters) for c in configs) if known else None,
            key=self._strings(given.get("key")),
            restore_value=self._strings(given.get("restore_value")),
            reset_to_zero=self._strings(given.get("reset_to_zero")),
            range=self._index.range_of(call),
        )

    def heuristics(self, call: ast.Call) -> tuple[str, ...]:
        """The parameters that a heuristics decorator gives values to."""
        values = call.args[0] if call.args else None
        for keyword in call.keywords:
            if keyword.arg == "values":
                values = keyword.value
        if isinstance(values, ast.Name):
            values = self._constants.get(values.id)
        if not isinstance(values, ast.Dict):
            return ()
        return tuple(
            k.value for k in values.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)
        )

    def _evaluate(self, node: ast.expr | None) -> Any:
        if node is None:
            return None
        evaluator = Evaluator(
            self._constants, self._functions, self._names, {CONFIG: self._make_config}
        )
        try:
            return evaluator.value(node)
        except (Undecidable, RecursionError):
            return None

    def _strings(self, node: ast.expr | None) -> tuple[str, ...] | None:
        """A literal list of names; a decorator without it has the empty one."""
        if node is None:
            return ()
        value = self._evaluate(node)
        if isinstance(node, ast.Constant) and node.value is None:
            return ()
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(value)
        return None

    def _make_config(self, call: ast.Call, evaluator: Evaluator, scope: dict[str, Any]) -> Config:
        values: dict[str, _Literal] = {}
        options: dict[str, _Literal] = {}
        positional = list(call.args)
        keywords = {k.arg: k.value for k in call.keywords if k.arg is not None}
        table = positional.pop(0) if positional else keywords.get("kwargs")
        if table is not None:
            values.update(_table(table, evaluator, scope))
        for name, node in [*zip(_OPTION_POSITIONS, positional, strict=False), *keywords.items()]:
            if name not in _NOT_OPTIONS:
                options[name] = _literal(node, evaluator, scope)
        return Config(values, options, self._index.range_of(call))


def _table(node: ast.expr, evaluator: Evaluator, scope: dict[str, Any]) -> dict[str, _Literal]:
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {
            str(evaluator.value(key, scope)): _literal(value, evaluator, scope)
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None
        }
    whole = evaluator.value(node, scope)
    if not isinstance(whole, dict):
        raise Undecidable
    return {str(key): _plain(value) for key, value in whole.items()}


def _literal(node: ast.expr, evaluator: Evaluator, scope: dict[str, Any]) -> _Literal:
    try:
        return _plain(evaluator.value(node, scope))
    except Undecidable:
        return None


def _plain(value: Any) -> _Literal:
    return value if isinstance(value, int | float | bool | str) else None


def _split(config: Config, parameters: frozenset[str]) -> Config:
    """Compiler options may be written among the values: what no parameter takes is one."""
    values = {k: v for k, v in config.values.items() if k in parameters}
    extra = {k: v for k, v in config.values.items() if k not in parameters}
    return Config(values, {**extra, **config.options}, config.range)
