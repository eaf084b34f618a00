"""Plausible specializations of a corpus's kernel, best first; the compiler says which hold."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import triton
import triton.language as tl
from loading import JitFunction
from refusals import REFUSALS
from specializing import CONSTEXPR, Argument, Specialization

from tilewright.signatures.names import FLAG, SIZE, TYPE
from tilewright.signatures.roles import Role, Roles, roles_of
from tilewright.source.constants import Evaluator, Undecidable
from tilewright.source.model import Kernel, Module
from tilewright.source.parse import module_constants


@dataclass(frozen=True)
class Style:
    """How the open questions are answered in one guess."""

    floats: str = "fp16"
    flags: bool = False
    size: int = 64
    config: int = 0
    scalars_are_float: bool = False
    indices: str = "i64"
    none_defaults: bool = False
    all_indices: bool = False
    launch: int = 0


# The first two are both wanted where they compile; the others stand in for them.
STYLES = (
    Style(),
    Style(floats="fp32", flags=True, config=-1, launch=-1),
    Style(floats="fp32"),
    Style(floats="fp16", flags=True),
    Style(floats="fp32", none_defaults=True),
    Style(floats="fp32", scalars_are_float=True),
    Style(floats="fp32", flags=True, scalars_are_float=True, size=32),
    Style(floats="fp32", size=16),
    Style(floats="bf16"),
    Style(floats="fp32", flags=True, none_defaults=True, size=128),
    Style(floats="fp32", all_indices=True),
    Style(floats="i32", all_indices=True, indices="i32"),
    Style(floats="fp32", indices="i32", flags=True),
    Style(floats="u8"),
    Style(floats="i1"),
)


def guesses(
    module: Module, kernel: Kernel, jit: JitFunction, *, tiles: bool = False
) -> Iterator[Specialization]:
    """Different specializations to try, in order.

    With ``tiles``, what is no pointer is taken for a tile of floats first and of integers later.
    """
    roles = roles_of(module, kernel)
    seen: set[str] = set()
    for style in STYLES:
        guess = _Guess(module, kernel, jit, roles, style, tiles).make()
        if str(guess) not in seen:
            seen.add(str(guess))
            yield guess


class _Guess:
    """One guess of one kernel."""

    def __init__(
        self,
        module: Module,
        kernel: Kernel,
        jit: JitFunction,
        roles: Roles,
        style: Style,
        tiles: bool,
    ) -> None:
        self._tiles = tiles
        self._kernel, self._jit, self._roles, self._style = kernel, jit, roles, style
        config = jit.configs[style.config] if jit.configs else None
        self._config: Mapping[str, Any] = config.kwargs if config is not None else {}
        self._pre_hook = getattr(config, "pre_hook", None)
        self._launched = _launched(module, kernel, style.launch)

    def make(self) -> Specialization:
        arguments = {p.name: self._argument(p) for p in self._jit.function.params}
        self._apply_heuristics(arguments)
        self._shape_descriptors(arguments)
        return Specialization(tuple(arguments.values()))

    def _argument(self, param: Any) -> Argument:
        if param.is_constexpr:
            return Argument(param.name, CONSTEXPR, self._constant(param))
        if param.has_default and param.default is None and self._style.none_defaults:
            return Argument(param.name, CONSTEXPR, None)
        if self._launched.get(param.name, 0) is None and self._style.none_defaults:
            return Argument(param.name, CONSTEXPR, None)
        return Argument(param.name, param.annotation_type or self._type(param.name))

    def _type(self, name: str) -> str:
        style, role = self._style, self._roles.parameters.get(name)
        if role == Role.POINTER:
            return f"*{style.indices if style.all_indices else style.floats}"
        if role == Role.INDEX_POINTER:
            return f"*{style.indices}"
        if role == Role.FLAG_POINTER:
            return "*i1"
        if self._tiles:
            return style.indices if style.all_indices else style.floats
        if role == Role.FLOAT:
            return "fp32"
        addressed = "stride" in name.lower() or name in self._roles.sizes
        return "fp32" if style.scalars_are_float and not addressed and name.islower() else "i32"

    def _constant(self, param: Any) -> Any:
        for known in (self._config, self._launched):
            if param.name in known:
                return known[param.name]
        if param.has_default and not isinstance(param.default, bool):
            if isinstance(param.default, tl.constexpr):
                return param.default.value
            return param.default
        return self._named(param.name)

    def _named(self, name: str) -> Any:
        style, roles = self._style, self._roles
        if name in roles.types or (TYPE.search(name) and name not in roles.sizes):
            return tl.float32
        if name in roles.sizes:
            return style.size
        if name in roles.compared:
            given = roles.compared[name]
            return given[-1] if style.flags else given[0]
        if name in roles.tests or FLAG.search(name):
            return style.flags
        return style.size if SIZE.search(name) or name.isupper() else 4

    def _apply_heuristics(self, arguments: dict[str, Argument]) -> None:
        given = {a.name: _stand_in(a) for a in arguments.values()}
        for name, heuristic in self._jit.heuristics.items():
            if name not in arguments:
                continue
            try:
                value = heuristic(given)
            except REFUSALS:
                continue
            if name in self._roles.sizes and isinstance(value, int):
                # It was made for other extents than these, or for a compiler that takes any.
                value = triton.next_power_of_2(value)
            arguments[name] = Argument(name, CONSTEXPR, value)
            given[name] = value

    def _shape_descriptors(self, arguments: dict[str, Argument]) -> None:
        """A tuner's hook states the blocks of the descriptors that the host passes."""
        names = [n for n, role in self._roles.parameters.items() if role == Role.DESCRIPTOR]
        if self._pre_hook is None or not names:
            return
        given = {a.name: _stand_in(a) for a in arguments.values()}
        given |= {name: SimpleNamespace(block_shape=None) for name in names}
        try:
            self._pre_hook(given)
        except REFUSALS:
            return
        for name in names:
            if given[name].block_shape:
                block = list(given[name].block_shape)
                arguments[name] = Argument(name, f"tensordesc<{self._style.floats}{block}>")


def _stand_in(argument: Argument) -> Any:
    """Something a heuristic can calculate with: a shape of 64, a stride of 1."""
    return argument.constant if argument.type == CONSTEXPR else 64


def _launched(module: Module, kernel: Kernel, which: int) -> Mapping[str, Any]:
    """Constants that a launch of the file gives."""
    launches = module.launches_of(kernel.name)
    if not launches:
        return {}
    functions = {n.name: n for n in module.tree.body if isinstance(n, ast.FunctionDef)}
    evaluator = Evaluator(module_constants(module.tree), functions, module.names)
    found: dict[str, Any] = {}
    for name, expression in launches[which].arguments.items():
        try:
            value = evaluator.value(expression)
        except Undecidable:
            continue
        if value is None or isinstance(value, bool | int | float | str):
            found[name] = value
    return found
