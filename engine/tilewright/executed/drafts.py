"""Calls drafted from what a text says of parameters: what is open is a choice with options.

Extents are symbols: axes that the text gives one name have one symbol. A draft decides every
choice, and sizes decide what its symbols are; together they are a call.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from tilewright.executed.parameters import Kind, Parameter
from tilewright.worker.messages.drafted import DraftedArgument, DraftedCall, RunError

Plain = int | float | bool | str | None
Axes = tuple[str | int, ...]
Option = Plain | Axes
_HIGHEST_RANK = 4
_FLOATS = ("float32", "float16", "bfloat16", "int32", "uint8", "int8", "bool", "float8_e4m3fn")
_INDICES = ("int32", "int64", "bool")
_OFFSETS = re.compile(r"(^|_)(cu|indptr|offsets?|starts?|boundaries|ptr)(_|$|\d)|cu_?seq")
_LENGTHS = re.compile(r"(^|_)(lens?|lengths?|seqlens?|sizes?|counts?|num)(_|$|\d)")
_FLAGS = re.compile(r"(^|_)(mask|keep|valid|active|is|has|use)(_|$|\d)")
_WEIGHTS = re.compile(
    r"^(w|weight|bias|b|g|gamma|beta|weights?|ln_w|norm_w)(_|$|\d)|(_weight|_bias|_w|_b)$"
)
_REALS = (0.5, 1.0, 2.0, 1e-5)
_EPSILON = re.compile(r"eps")
_NUMBERS = (4, 2, 16, 1, 32, 64, 128, 0, 3)


@dataclass(frozen=True)
class Choice:
    """Something that the text leaves open.

    Attributes:
        what: "shape", "same" (one extent is another one), "dtype", "contents" or "value".
        name: the parameter's, of "same" the symbol's.
        options: the likeliest first.
    """

    what: str
    name: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Draft:
    """A decision of every choice: the number of an option each."""

    chosen: tuple[int, ...]

    def changed(self, choice: int, option: int) -> "Draft":
        """The draft with another option of one choice."""
        return replace(self, chosen=(*self.chosen[:choice], option, *self.chosen[choice + 1 :]))


@dataclass(frozen=True)
class Space:
    """All drafts of a function's calls.

    Attributes:
        plain_functions: functions of the file that launch no kernel, with their parameters.
    """

    function: str
    parameters: tuple[Parameter, ...]
    choices: tuple[Choice, ...]
    lines: tuple[str, ...] = ()
    tiles: tuple[int, ...] = ()
    plain_functions: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def first(self) -> Draft:
        """The likeliest draft."""
        return Draft((0,) * len(self.choices))

    @property
    def is_alone(self) -> bool:
        """Whether a call has one tensor, of a stated number of axes: no relation to another one
        can be missed."""
        tensors = [p for p in self.parameters if ("shape", p.name) in self.decided(self.first)]
        return len(tensors) == 1 and tensors[0].rank is not None

    @property
    def is_stated(self) -> bool:
        """Whether the text states the number of axes of each tensor of a call."""
        given = (p for p in self.parameters if p.kind is Kind.TENSOR and not p.has_default)
        return all(p.rank is not None for p in given)

    @property
    def has_numbers(self) -> bool:
        """Whether a call gives whole numbers, which may be extents."""
        return any(p.kind is Kind.NUMBER and not p.has_default for p in self.parameters)

    def neighbours(self, draft: Draft) -> Iterator[tuple[Choice, Draft]]:
        """(the choice, the draft with another option of it), likelier options first."""
        most = max((len(c.options) for c in self.choices), default=0)
        used = set(self.symbols(draft))
        for option in range(most):
            for number, choice in enumerate(self.choices):
                if choice.what == "same" and not {choice.name, choice.options[-1]} & used:
                    continue
                if option < len(choice.options) and option != draft.chosen[number]:
                    yield choice, draft.changed(number, option)

    def decided(self, draft: Draft) -> dict[tuple[str, str], Option]:
        """What a draft decides, by what and of which name."""
        pairs = zip(self.choices, draft.chosen, strict=True)
        return {(choice.what, choice.name): choice.options[option] for choice, option in pairs}

    def symbols(self, draft: Draft) -> tuple[str, ...]:
        """The extents that a draft leaves to be sized, in the order of the parameters."""
        decided = self.decided(draft)
        found: dict[str, None] = {}
        for axes in self.shapes(decided).values():
            found |= dict.fromkeys(axis for axis in axes if isinstance(axis, str))
        return tuple(found)

    def leading(self, draft: Draft) -> frozenset[str]:
        """The symbols that no tensor has among its last two axes."""
        shapes = self.shapes(self.decided(draft)).values()
        last = {axis for axes in shapes for axis in axes[-2:]}
        return frozenset(str(a) for axes in shapes for a in axes if a not in last)

    def shapes(self, decided: Mapping[tuple[str, str], Option]) -> dict[str, Axes]:
        """The axes of each tensor, symbols that are one and the same by one name."""
        return {
            p.name: tuple(_same(axis, decided) for axis in _axes(decided["shape", p.name]))
            for p in self.parameters
            if ("shape", p.name) in decided
        }

    def layouts(self, draft: Draft) -> dict[str, tuple[int, int]]:
        """Two axes of each tensor of a stated rank whose strides the host reads: the last two of
        those."""
        shapes = self.shapes(self.decided(draft))
        found = {}
        for p in self.parameters:
            rank = len(shapes.get(p.name, ()))
            read = [at for at in range(rank) if _reads(p, rank, rank - at)]
            if p.rank == rank and len(read) > 1:
                found[p.name] = (read[-2], read[-1])
        return found

    def says(self, word: str) -> bool:
        """Whether the file has a word anywhere."""
        return any(word in line for line in self.lines)

    def line(self, error: RunError | None) -> str:
        """The host's line that an error ended on."""
        line = error["host_line"] if error is not None else None
        return self.lines[line - 1] if line is not None and line <= len(self.lines) else ""

    def call(
        self,
        draft: Draft,
        sizes: Mapping[str, int],
        *,
        contents: str = "",
        flags: bool = False,
    ) -> DraftedCall:
        """The call of a draft whose symbols have these sizes.

        Args:
            contents: of real tensors, where not the usual ones.
            flags: give those the other value that a call may leave out.
        """
        decided = self.decided(draft)
        shapes = self.shapes(decided)
        arguments: dict[str, DraftedArgument] = {}
        by_keyword = False
        for parameter in self.parameters:
            name = parameter.name
            key = f"={name}" if by_keyword else name
            if not any((what, name) in decided for what in ("shape", "value")):
                by_keyword = True
                if flags and parameter.kind is Kind.FLAG:
                    arguments[f"={name}"] = {"value": not parameter.default}
                continue
            if name not in shapes:
                arguments[key] = _value(decided["value", name], sizes, decided)
                continue
            made = arguments[key] = {
                "shape": [_extent(axis, sizes) for axis in shapes[name]],
                "dtype": str(decided["dtype", name]),
                "contents": _contents(str(decided["contents", name]), sizes, decided),
            }
            if contents and made["contents"] == "normal":
                made["contents"] = contents
        return {"function": self.function, "arguments": arguments}

    def stored(self, call: DraftedCall, layouts: Mapping[str, tuple[int, int]]) -> DraftedCall:
        """A call whose tensors have these axes in the other order in memory."""
        arguments: dict[str, DraftedArgument] = {
            key: {**one, "exchanged": [*layouts[name]]} if name in layouts else one
            for key, one in call["arguments"].items()
            if (name := key.removeprefix("="))
        }
        return {**call, "arguments": arguments}


def _reads(p: Parameter, rank: int, from_end: int) -> bool:
    """Whether the host reads the stride of an axis, by its number from the end."""
    return p.strides is None or bool(p.strides & {rank - from_end, -from_end})


def _axes(option: Option) -> Axes:
    assert isinstance(option, tuple)
    return option


def _same(axis: str | int, decided: Mapping[tuple[str, str], Option]) -> str | int:
    for _ in range(8):
        other = decided.get(("same", str(axis)))
        if other is None:
            return axis
        axis = str(other)
    return axis


def _extent(axis: str | int, sizes: Mapping[str, int]) -> int:
    return axis if isinstance(axis, int) else sizes[axis]


def _value(
    option: Option, sizes: Mapping[str, int], decided: Mapping[tuple[str, str], Option]
) -> DraftedArgument:
    if isinstance(option, str) and option.startswith("torch."):
        return {"dtype": option.removeprefix("torch.")}
    if isinstance(option, str) and option.startswith("="):
        axis = _same(option[1:], decided)
        return {"value": sizes.get(str(axis), 4)}
    assert not isinstance(option, tuple)
    return {"value": option}


def _contents(
    option: str, sizes: Mapping[str, int], decided: Mapping[tuple[str, str], Option]
) -> str:
    family, _, symbol = option.partition(":")
    if not symbol:
        return family
    least = min(sizes.values(), default=4)
    most = least if symbol == "*" else sizes.get(str(_same(symbol, decided)), least)
    return f"{family}:{most}"


def space_of(
    function: str,
    parameters: tuple[Parameter, ...],
    lines: tuple[str, ...] = (),
    tiles: tuple[int, ...] = (),
    plain_functions: tuple[tuple[str, tuple[str, ...]], ...] = (),
) -> Space:
    """What may be chosen for a call of a function; parameters with a default are left out.

    Args:
        lines: of the file.
        tiles: sizes that the function states and that may be those of tiles.
        plain_functions: of the file, that launch no kernel, with their parameters.
    """
    given = [p for p in parameters if not p.has_default]
    tensors = [p for p in given if p.kind is Kind.TENSOR]
    shapes = {p.name: _own_shapes(p) for p in tensors}
    shaped = [shapes[p.name][0] for p in tensors if p.is_shaped and shapes[p.name]]
    for p in tensors:
        if not p.is_shaped or not shapes[p.name]:
            shapes[p.name] = _open_shapes(p, shaped)
    known = dict.fromkeys(
        axis for p in tensors for axes in shapes[p.name][:1] for axis in axes if axis != 1
    )
    symbols = [str(axis) for axis in known]
    choices = [Choice("shape", p.name, shapes[p.name]) for p in tensors]
    choices += [Choice("dtype", p.name, _dtypes(p)) for p in tensors]
    choices += [Choice("contents", p.name, _families(p, symbols)) for p in tensors]
    choices += [
        Choice("value", p.name, _values(p, symbols)) for p in given if p.kind is not Kind.TENSOR
    ]
    choices += [
        Choice("same", symbol, (None, *(o for o in symbols[:at])))
        for at, symbol in enumerate(symbols) if at
    ]  # fmt: skip
    return Space(function, parameters, tuple(choices), lines, tiles, plain_functions)


def _own_shapes(p: Parameter) -> tuple[Axes, ...]:
    """Shapes of a tensor of which the text says something, or of a first one without that."""
    least = max(p.least_rank, 1)
    ranks = [p.rank] if p.rank is not None else [*range(least, _HIGHEST_RANK + 1)]
    if p.rank is None and p.least_rank <= 1 and not p.is_index and not p.strides:
        ranks = [2, 1, 3, 4]
    elif p.rank is None and p.strides and max(p.strides) == 0:
        ranks = [2, 3, 1]
    if p.rank is None and p.least_rank == 0 and p.is_index:
        ranks = [1, 2]
    return tuple(tuple(_axis(p, at, rank) for at in range(rank)) for rank in ranks)


def _axis(p: Parameter, at: int, rank: int) -> str:
    named = dict(p.axes)
    return named.get(at) or named.get(at - rank) or f"{p.name}.{at - rank}"


def _open_shapes(p: Parameter, shaped: list[Axes]) -> tuple[Axes, ...]:
    """Shapes of a tensor that the host asks nothing of: parts of the others' shapes, small first
    for what looks like a weight or an index, else the whole first."""
    found: dict[Axes, None] = {}
    parts = [axes for axes in shaped if axes]
    ends = [part for axes in parts for part in ((axes[-1],), (axes[0],))]
    whole = [axes for axes in parts if len(axes) > 1]
    heads = [axes[:-1] for axes in whole]
    small = _WEIGHTS.search(p.name.lower()) or p.is_index
    for group in (ends, heads, whole) if small else (whole, ends, heads):
        found |= dict.fromkeys(group)
    for one in ((f"{p.name}.-1",), (f"{p.name}.-2", f"{p.name}.-1"), (1,), ()):
        found.setdefault(one)
    for first, second in pairwise([axes[0] for axes in parts if axes]):
        found.setdefault((first, second))
    return tuple(found)


def _dtypes(p: Parameter) -> tuple[Option, ...]:
    usual = _INDICES if p.is_index else _FLOATS
    if _FLAGS.search(p.name.lower()):
        usual = ("bool", *usual)
    return tuple(dict.fromkeys((*p.dtypes, *usual)))


def _families(p: Parameter, symbols: list[str]) -> tuple[Option, ...]:
    if not p.is_index:
        return ("normal", "positive", "below:*")
    lower = p.name.lower()
    last = [f"offsets:{symbol}" for symbol in symbols]
    lengths = [f"lengths:{symbol}" for symbol in symbols]
    distinct = [f"distinct:{symbol}" for symbol in symbols]
    if _OFFSETS.search(lower):
        return (*last, "below:*", *lengths)
    if _LENGTHS.search(lower):
        return ("lengths:*", *lengths, *last)
    return ("below:*", *distinct, *lengths, *last)


def _values(p: Parameter, symbols: list[str]) -> tuple[Option, ...]:
    equal: list[Option] = [f"={symbol}" for symbol in symbols]
    match p.kind:
        case Kind.FLAG:
            return (False, True)
        case Kind.REAL:
            return (1e-5, *_REALS) if _EPSILON.search(p.name.lower()) else _REALS
        case Kind.DTYPE:
            return ("torch.float32", "torch.float16", "torch.int32")
        case Kind.WORD:
            return ("sum", "mean", "none")
    same = [s for s in symbols if s.lower() == p.name.lower()]
    if same:
        return (f"={same[0]}", *_NUMBERS)
    short = re.search(
        r"^(n|num|total|max|longest|m|k|h|d|size|width|rows|cols|length)", p.name.lower()
    )
    return (*_NUMBERS[:3], *equal, *_NUMBERS[3:]) if not short else (*equal, *_NUMBERS)
