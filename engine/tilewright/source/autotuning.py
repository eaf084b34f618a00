"""Reading ``triton.autotune`` and ``triton.heuristics`` decorators."""

import ast
from dataclasses import dataclass
from typing import Any

from tilewright.source.callables import Undecidable
from tilewright.source.constants import Evaluator
from tilewright.source.environment import Environment
from tilewright.source.model import Autotune, Config
from tilewright.source.names import Names
from tilewright.source.text import LineIndex

AUTOTUNE = "triton.autotune"
HEURISTICS = "triton.heuristics"
CONFIG_DEFAULTS = {"num_warps": 4, "num_stages": 3, "num_ctas": 1}
"""What triton.Config takes where nothing is said (Triton 3.6 and 3.9)."""
CONFIG = "triton.Config"

_Literal = int | float | bool | str | None
_OPTION_POSITIONS = ("num_warps", "num_stages", "num_ctas")
_READ = frozenset(("configs", "key", "restore_value", "reset_to_zero"))
_NOT_OPTIONS = frozenset(("kwargs", "pre_hook"))
_DEFAULT_OPTIONS = {"num_warps": 4, "num_stages": 3, "num_ctas": 1}


@dataclass(frozen=True)
class _Made(Config):
    """A configuration under evaluation, whose attributes filters may ask for."""

    def stated(self, name: str) -> Any:
        if name == "kwargs":
            return dict(self.values)
        value = self.options.get(name, _DEFAULT_OPTIONS.get(name))
        if value is None:
            raise Undecidable
        return value


class AutotuneReader:
    """Reads the decorators of one file."""

    def __init__(self, index: LineIndex, names: Names, environment: Environment) -> None:
        self._index = index
        self._names = names
        self._environment = environment

    def autotune(self, call: ast.Call, parameters: frozenset[str]) -> Autotune:
        """What the decorator states; ``parameters`` are the kernel's, to tell options apart."""
        given = dict(zip(("configs", "key"), call.args, strict=False))
        given.update({k.arg: k.value for k in call.keywords if k.arg is not None})
        configs = self._evaluate(given.get("configs"))
        known = isinstance(configs, list | tuple) and all(isinstance(c, Config) for c in configs)
        return Autotune(
            configs=tuple(_split(c, parameters) for c in configs) if known else None,
            key=self._strings(given.get("key")),
            restore_value=self._strings(given.get("restore_value")),
            reset_to_zero=self._strings(given.get("reset_to_zero")),
            range=self._index.range_of(call),
            others={k: ast.unparse(v) for k, v in given.items() if k not in _READ},
        )

    def heuristics(self, call: ast.Call) -> dict[str, ast.expr]:
        """The parameters that a heuristics decorator gives values to, and how."""
        values = call.args[0] if call.args else None
        for keyword in call.keywords:
            if keyword.arg == "values":
                values = keyword.value
        if isinstance(values, ast.Name):
            values = self._environment.constants.get(values.id)
        if isinstance(values, ast.Call) and self._names.resolve(values.func) == "dict":
            return {k.arg: k.value for k in values.keywords if k.arg is not None}
        if not isinstance(values, ast.Dict):
            return {}
        return {
            key.value: value
            for key, value in zip(values.keys, values.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        }

    def _evaluate(self, node: ast.expr | None) -> Any:
        if node is None:
            return None
        environment = self._environment
        evaluator = Evaluator(
            environment.constants,
            environment.functions,
            self._names,
            {CONFIG: self._make_config},
            environment.histories,
            node.lineno,
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
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            raise Undecidable
        values: dict[str, _Literal] = {}
        options: dict[str, _Literal] = {}
        positional = list(call.args)
        keywords = _keywords(call, evaluator, scope)
        table = positional.pop(0) if positional else keywords.get("kwargs")
        if isinstance(table, ast.expr):
            values.update(_table(table, evaluator, scope))
        for name, node in [*zip(_OPTION_POSITIONS, positional, strict=False), *keywords.items()]:
            if name not in _NOT_OPTIONS:
                is_known = not isinstance(node, ast.expr)
                options[name] = _plain(node) if is_known else _literal(node, evaluator, scope)
        hook = keywords.get("pre_hook")
        hooked = hook is not None and not (isinstance(hook, ast.Constant) and hook.value is None)
        return _Made(values, options, self._index.range_of(call), hooked)


def _keywords(call: ast.Call, evaluator: Evaluator, scope: dict[str, Any]) -> dict[str, Any]:
    """Keywords with their expressions; those of ``**options`` with their values."""
    found: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is not None:
            found[keyword.arg] = keyword.value
        else:
            spread = evaluator.value(keyword.value, scope)
            if not isinstance(spread, dict):
                raise Undecidable
            found.update(spread)
    return found


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
    # ``Config.all_kwargs`` writes its own over these, the defaults where none is given.
    lost = tuple(name for name in _DEFAULT_OPTIONS if extra.pop(name, config) is not config)
    return Config(values, {**extra, **config.options}, config.range, config.has_hook, lost)
