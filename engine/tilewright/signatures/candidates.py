"""Signatures of a kernel inferred from its file, the likeliest first."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.python_syntax import parameter_defaults
from tilewright.signatures.host import Stated, host_code
from tilewright.signatures.model import Assumption, Guess
from tilewright.signatures.names import AXIS, DEPTH, FACTOR, FLAG, SIZE, STRIDE, TYPE
from tilewright.signatures.roles import POINTERS, Literal, Role, Roles, roles_of
from tilewright.source.constants import Evaluator, Undecidable
from tilewright.source.model import Config, Kernel, Module, Parameter
from tilewright.source.parse import module_constants
from tilewright.targets.model import ArgumentFacts, LaunchFacts, as_written

LONG = 1024
SHORT = 64
SHALLOW = 32
FEW = 4
NO_SOURCE = "nothing in the file states it"
_FLOAT_TYPE = "triton.dtype:fp32"


@dataclass(frozen=True)
class Style:
    """How the questions that the text leaves open are answered in one guess.

    Attributes:
        floats: element type of tensors; None: fp16 for what is multiplied as matrices, else fp32.
        indices: element type of tensors of indices.
        flags: conditions that nothing states.
        size: extents of tiles that nothing states; None: 1024 for the only one, else 64.
        config: which autotune configuration; negative from the end.
        launch: which of the file's launches; negative from the end.
        none_defaults: pass None where the launch or a default says None.
        scalars_are_float: numbers that address nothing.
        all_indices: every tensor is one of indices.
        tiles: what is no pointer is a tile, as for functions that kernels call.
    """

    floats: str | None = None
    indices: str = "i64"
    flags: bool = False
    size: int | None = None
    config: int = 0
    launch: int = 0
    none_defaults: bool = False
    scalars_are_float: bool = False
    all_indices: bool = False
    tiles: bool = False


STYLES = (
    Style(),
    Style(floats="fp16"),
    Style(floats="fp32"),
    Style(floats="fp32", flags=True, config=-1, launch=-1),
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


def guesses(module: Module, kernel: Kernel, styles: Sequence[Style] = STYLES) -> Iterator[Guess]:
    """Different launches that the file's text allows; which of them hold, a compiler says."""
    roles = roles_of(module, kernel)
    seen: set[str] = set()
    for style in styles:
        guess = _Guesser(module, kernel, roles, style).guess()
        key = repr((guess.launch, guess.config))
        if key not in seen:
            seen.add(key)
            yield guess


class _Guesser:
    """One guess of one kernel."""

    def __init__(self, module: Module, kernel: Kernel, roles: Roles, style: Style) -> None:
        self._module, self._kernel, self._roles, self._style = module, kernel, roles, style
        self._config = _config(kernel, style.config)
        self._extent = style.size or LONG
        self._host = host_code(module, kernel.name, style.launch, self._extent)
        if style.size is None and self._open_sizes() > 1:
            self._extent = SHORT
            self._host = host_code(module, kernel.name, style.launch, SHORT)
        self._defaulted: set[str] = set()

    def guess(self) -> Guess:
        made = [self._argument(parameter) for parameter in self._kernel.parameters]
        options = {k: v for k, v in self._config.options.items() if v is not None}
        launch = LaunchFacts(
            self._kernel.name, (), tuple(a for a, _ in made), {**self._host.options, **options}
        )
        assumed = tuple(assumption for _, assumption in made if assumption is not None)
        return Guess(launch, assumed, frozenset(self._defaulted), self._style.config)

    def _open_sizes(self) -> int:
        """Extents of tiles that are neither stated nor configured."""
        wanted = [p.name for p in self._kernel.parameters if p.is_constexpr]
        return sum(
            name in self._roles.sizes
            and name not in self._config.values
            and (not (stated := self._stated(name)).has_value or stated.is_assumed)
            for name in wanted
        )

    def _stated(self, name: str) -> Stated:
        return self._host.arguments.get(name, Stated())

    def _argument(self, parameter: Parameter) -> tuple[ArgumentFacts, Assumption | None]:
        stated = self._stated(parameter.name)
        if parameter.is_constexpr:
            return self._constant(parameter, stated)
        is_none = stated.has_value and stated.value is None
        if self._style.none_defaults and (is_none or parameter.default == "None"):
            facts = ArgumentFacts(parameter.name, "none", "constexpr")
            return facts, Assumption(parameter.name, "None", "as the host may leave it out")
        role = self._roles.parameters.get(parameter.name, Role.INTEGER)
        if role is Role.DESCRIPTOR:
            return self._descriptor(parameter.name, stated)
        if role in POINTERS and not isinstance(self._default(parameter), int | float):
            return self._pointer(parameter.name, role, stated)
        return self._number(parameter, role, stated)

    def _pointer(self, name: str, role: Role, stated: Stated) -> tuple[ArgumentFacts, Assumption]:
        dtype, why = self._element(name, role, stated)
        facts = ArgumentFacts(name, "tensor", f"*{dtype}", divisible_by_16=True)
        line = self._host.line if stated.dtype == dtype and not self._forced(role) else None
        return facts, Assumption(name, f"{dtype} tensor", why, line)

    def _forced(self, role: Role) -> bool:
        return self._style.all_indices and role is Role.POINTER

    def _element(self, name: str, role: Role, stated: Stated) -> tuple[str, str]:
        style = self._style
        if style.all_indices and role is Role.POINTER:
            return style.indices, "assumed: other types do not compile"
        if stated.dtype is not None and (style.floats is None or role is not Role.POINTER):
            return stated.dtype, "as the host code of the launch makes it"
        if role is Role.INDEX_POINTER:
            return style.indices, "assumed: the kernel computes addresses with it, or its name"
        if role is Role.BITS_POINTER:
            return "i32", "assumed: the kernel takes their bits apart"
        if role is Role.FLAG_POINTER:
            return "i1", "assumed: the kernel masks with it"
        if style.floats is not None:
            return style.floats, f"assumed: {NO_SOURCE}"
        if name in self._roles.multiplied:
            return "fp16", "assumed: an operand of tl.dot of unstated type"
        return "fp32", f"assumed: {NO_SOURCE}"

    def _descriptor(self, name: str, stated: Stated) -> tuple[ArgumentFacts, Assumption]:
        dtype = self._style.floats or stated.dtype or "fp16"
        block = stated.block or (SHORT, SHORT)
        why = "block as at the launch" if stated.block else "block assumed"
        facts = ArgumentFacts(name, "tensor", f"tensordesc<{dtype}{list(block)}>")
        return facts, Assumption(name, f"descriptor of {dtype} {list(block)}", why)

    def _number(
        self, parameter: Parameter, role: Role, stated: Stated
    ) -> tuple[ArgumentFacts, Assumption]:
        name, style = parameter.name, self._style
        if style.tiles:
            kind = style.indices if style.all_indices else style.floats or "fp32"
            return ArgumentFacts(name, "float", kind), Assumption(name, kind, "a tile of them")
        if stated.is_inner:
            facts = ArgumentFacts(name, "int", "i32", 1)
            why = "assumed: innermost strides of the tensors at the launch"
            return facts, Assumption(name, "1", why, self._host.line)
        value = stated.value if stated.has_value else self._default(parameter)
        if isinstance(value, bool):
            return ArgumentFacts(name, "bool", "u1", value), Assumption(name, f"{value}", "bool")
        if isinstance(value, float) or self._is_float(name, role, value):
            facts = ArgumentFacts(name, "float", "fp32", value if isinstance(value, float) else 1.0)
            return facts, Assumption(name, "fp32", "a float by its name or value")
        number = value if isinstance(value, int) else self._extent
        facts = ArgumentFacts(
            name, "int", _integer_type(number), number, divisible_by_16=number % 16 == 0
        )
        return facts, self._integer(name, number, stated)

    def _integer(self, name: str, number: int, stated: Stated) -> Assumption:
        if stated.has_value and not stated.is_assumed:
            return Assumption(name, f"{number}", "as the launch states", self._host.line)
        known = f"{_integer_type(number)}{' divisible by 16' if number % 16 == 0 else ''}"
        return Assumption(name, f"{known}, {number}", "assumed: a run-time size")

    def _is_float(self, name: str, role: Role, value: Literal | None) -> bool:
        if value is not None:
            return False
        addressed = STRIDE.search(name) or name in self._roles.sizes
        guessed = self._style.scalars_are_float and not addressed and name.islower()
        return role is Role.FLOAT or guessed

    def _constant(
        self, parameter: Parameter, stated: Stated
    ) -> tuple[ArgumentFacts, Assumption | None]:
        name = parameter.name
        configured = self._config.values.get(name)
        if configured is not None:
            return _constexpr(name, configured), None
        if stated.has_value and not (stated.is_assumed and name in self._roles.unrolled):
            return _constexpr(name, stated.value), self._launched(name, stated)
        if parameter.default is not None and parameter.default not in ("True", "False"):
            return self._by_default(parameter)
        value, why = by_name(name, self._kernel, self._roles, self._style, self._extent)
        return _constexpr(name, value), Assumption(name, _literal_text(value), why)

    def _launched(self, name: str, stated: Stated) -> Assumption:
        why = "as the launch states"
        if stated.is_assumed:
            why = f"as the launch computes it from sizes assumed to be {self._extent}"
        return Assumption(name, _literal_text(stated.value), why, self._host.line)

    def _by_default(self, parameter: Parameter) -> tuple[ArgumentFacts, Assumption]:
        value = self._default(parameter)
        if value is None and parameter.default != "None":
            self._defaulted.add(parameter.name)
        taken = parameter.default or ""
        return _constexpr(parameter.name, value), Assumption(parameter.name, taken, "its default")

    def _default(self, parameter: Parameter) -> Literal | None:
        node = self._default_node(parameter.name)
        if node is None:
            return None
        evaluator = Evaluator(module_constants(self._module.tree), {}, self._module.names)
        try:
            value = evaluator.value(node)
        except Undecidable:
            return None
        return value if isinstance(value, int | float | bool | str) else None

    def _default_node(self, name: str) -> ast.expr | None:
        pairs = parameter_defaults(self._kernel.node.args)
        return next((default for argument, default in pairs if argument.arg == name), None)


def _config(kernel: Kernel, which: int) -> Config:
    """The configuration of an autotuner whose configurations the text states."""
    tuned = kernel.autotune
    if tuned is None or not tuned.configs:
        return Config({}, {}, kernel.range)
    return tuned.configs[which]


def _integer_type(value: int) -> str:
    """As Triton's JIT takes a Python integer."""
    if -(2**31) <= value < 2**31:
        return "i32"
    return "i64" if value < 2**63 else "u64"


def _constexpr(name: str, value: Literal | None) -> ArgumentFacts:
    if value is None:
        return ArgumentFacts(name, "none", "constexpr")
    return ArgumentFacts(name, "constexpr", "constexpr", value)


def _literal_text(value: Literal | None) -> str:
    if isinstance(value, str) and value.startswith("triton.dtype:"):
        return f"tl {as_written(value)}"
    if isinstance(value, str) and value.startswith("triton."):
        return as_written(value)
    return repr(value)


def by_name(
    name: str, kernel: Kernel, roles: Roles, style: Style, extent: int
) -> tuple[Literal, str]:
    """A constant by what it is used for, else by its name; and why.

    Args:
        extent: of tiles, where nothing states one.
    """
    if name in roles.unrolled:
        return FEW, f"assumed: it counts an unrolled loop; {NO_SOURCE}"
    if name in roles.types:
        return _FLOAT_TYPE, "assumed: an element type"
    if name in roles.sizes:
        return _size(name, style, extent), f"assumed: an extent of tiles; {NO_SOURCE}"
    if name in roles.compared:
        given = roles.compared[name]
        return given[-1 if style.flags else 0], "assumed: the kernel compares it with this"
    if TYPE.search(name):
        return _FLOAT_TYPE, "assumed: an element type"
    if name in roles.tests or FLAG.search(name):
        return style.flags, f"assumed: a condition; {NO_SOURCE}"
    return _by_spelling(name, kernel, style, extent)


def _by_spelling(name: str, kernel: Kernel, style: Style, extent: int) -> tuple[Literal, str]:
    if AXIS.search(name):
        return 0, f"assumed: an axis of a tile; {NO_SOURCE}"
    if STRIDE.search(name):
        value = 1 if _is_last_stride(name, kernel) else extent
        return value, f"assumed: a stride; {NO_SOURCE}"
    if FACTOR.search(name):
        return (1e-6 if "eps" in name.lower() else 1.0), "assumed: a float by its name"
    if SIZE.search(name) or name.isupper():
        return _size(name, style, extent), f"assumed by its name; {NO_SOURCE}"
    return FEW, f"assumed; {NO_SOURCE}"


def _is_last_stride(name: str, kernel: Kernel) -> bool:
    """Whether it is the last of the strides that share its name but for the last letters."""
    prefix = name.rstrip(name.rpartition("_")[2]) if name.count("_") > 1 else name[:-1]
    alike = [p.name for p in kernel.parameters if p.name.startswith(prefix)]
    return alike[-1] == name


def _size(name: str, style: Style, extent: int) -> int:
    if style.size is None and DEPTH.search(name):
        return SHALLOW
    return extent
