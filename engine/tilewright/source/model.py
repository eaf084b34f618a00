"""What is known of a file from its text alone: kernels, launches, host functions.

Everything is immutable. A ``Module`` is made by ``tilewright.source.parse_module`` and
never fails: what does not parse is listed in ``Module.problems`` and the rest is there.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import Any, cast

from tilewright.source.called import called_names
from tilewright.source.host_reads import watch_fields
from tilewright.source.names import Names
from tilewright.source.text import LineIndex, Range


class Language(StrEnum):
    """The tile language a kernel is written in."""

    TRITON = "triton"
    NKI = "nki"


class NkiFlavour(StrEnum):
    """Which of the two NKI packages a file is written for: they differ in names and in calls."""

    NEURONXCC = "neuronxcc"
    NKI = "nki"


@dataclass(frozen=True)
class SyntaxProblem:
    """A part of the file that is not Python; the other parts are analysed all the same."""

    message: str
    range: Range


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel, in signature order."""

    name: str
    is_constexpr: bool
    default: str | None
    range: Range


@dataclass(frozen=True)
class Config:
    """One ``triton.Config``; a value is None where the source does not state a literal.

    ``values`` holds the kernel's constexprs, ``options`` num_warps, num_stages and other compiler
    options, whichever way they were written. ``overwritten`` names those that stand among the
    values, where Triton writes its own over them.
    """

    values: Mapping[str, int | float | bool | str | None]
    options: Mapping[str, int | float | bool | str | None]
    range: Range
    has_hook: bool = False
    overwritten: tuple[str, ...] = ()


@dataclass(frozen=True)
class Autotune:
    """A ``triton.autotune`` decorator; fields are None where the source is not literal.

    ``others`` are the remaining arguments as they are written: ``prune_configs_by``,
    ``warmup``, ``use_cuda_graph``, ...
    """

    configs: tuple[Config, ...] | None
    key: tuple[str, ...] | None
    restore_value: tuple[str, ...] | None
    reset_to_zero: tuple[str, ...] | None
    range: Range
    others: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kernel:
    """A jit function. ``range`` covers decorators and body; ``text`` is that source.

    Attributes:
        qualified_name: with the classes and functions it stands in.
        heuristic_values: the expressions that ``triton.heuristics`` gives parameters.
        do_not_specialize: as the jit decorator states it; None where that is no literal.
        other_decorators: those that are not the language's own, by dotted name: they may
            tune, wrap or launch the kernel in ways unknown here.
        aliases: other module-level names of it, as in ``fast = triton.jit(slow)``.
        tuned_as: the names that an autotuner has, where the kernel's own has none, as in
            ``tuned = triton.autotune(...)(plain)``.
    """

    name: str
    language: Language
    range: Range
    name_range: Range
    parameters: tuple[Parameter, ...]
    autotune: Autotune | None
    heuristics: tuple[str, ...]
    text: str
    content_hash: str
    node: ast.FunctionDef = field(compare=False, repr=False)
    qualified_name: str = ""
    heuristic_values: Mapping[str, ast.expr] = field(
        default_factory=dict, compare=False, repr=False
    )
    do_not_specialize: tuple[str, ...] | None = ()
    noinline: bool = False
    other_decorators: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    tuned_as: tuple[str, ...] = ()

    def parameter(self, name: str) -> Parameter | None:
        return next((p for p in self.parameters if p.name == name), None)

    @property
    def constexprs(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters if p.is_constexpr)


@dataclass(frozen=True)
class Launch:
    """``kernel[grid](...)``: expressions bound to kernel parameters and compiler options.

    ``arguments`` maps parameter names to argument expressions, positional ones bound by
    signature. ``options`` holds keywords that are not parameters (num_warps, ...).
    ``is_complete`` is False where ``*args`` or ``**kwargs`` hide some arguments. ``grid`` of
    a launch by ``kernel.run(..., grid=...)`` is that argument; ``is_warmup`` compiles only.
    ``is_certain`` is False where the launched name may be another kernel's as well.
    """

    kernel: str
    range: Range
    grid: ast.expr = field(compare=False, repr=False)
    arguments: Mapping[str, ast.expr] = field(compare=False, repr=False)
    options: Mapping[str, ast.expr] = field(compare=False, repr=False)
    host_function: str | None
    is_complete: bool
    node: ast.Call = field(compare=False, repr=False)
    is_warmup: bool = False
    is_certain: bool = True

    @property
    def option_names(self) -> Iterable[str]:
        return self.options


_OLD_NKI = ("neuronxcc", "torch_neuronx.nki_jit", "torch_neuronx.xla_impl.ops.nki_jit")


class Lookup:
    """Kernels and launches of a file by what they are asked for, told once for each file."""

    def __init__(self, module: "Module") -> None:
        self._text = module.text
        self._said: dict[str, bool] = {}
        self.kernels: dict[str, Kernel] = {}
        self.launches: dict[str, list[Launch]] = {}
        self.launches_in: dict[str, list[Launch]] = {}
        self.languages = frozenset(kernel.language for kernel in module.kernels)
        self.named: dict[str, list[Kernel]] = {}
        self._callers: dict[str, list[Kernel]] | None = None
        for kernel in module.kernels:
            self.named.setdefault(kernel.name, []).append(kernel)
            for name in (kernel.name, *kernel.aliases):
                self.kernels.setdefault(name, kernel)
        self.defined_in_several = frozenset(
            name for name, kernels in self.named.items() if len(kernels) > 1
        )
        self.launched = frozenset(launch.kernel for launch in module.launches)
        self._on_lines: dict[int, list[Launch]] = {}
        for launch in module.launches:
            self.launches.setdefault(launch.kernel, []).append(launch)
            self._on_lines.setdefault(launch.range.line, []).append(launch)
            if launch.host_function is not None:
                self.launches_in.setdefault(launch.host_function, []).append(launch)

    def launch_of(self, node: ast.AST) -> Launch | None:
        """The launch that a call is; of several the last."""
        there = self._on_lines.get(node.lineno, ()) if isinstance(node, ast.Call) else ()
        return next((launch for launch in reversed(there) if launch.node is node), None)

    @property
    def answers(self) -> Mapping[str, bool]:
        """The phrases that were asked for so far, and whether the text holds them."""
        return dict(self._said)

    def says(self, phrase: str) -> bool:
        """Whether the text holds a phrase anywhere. ``answers`` records what was asked."""
        if phrase not in self._said:
            self._said[phrase] = phrase in self._text
        return self._said[phrase]

    def callers(self, name: str) -> Sequence[Kernel]:
        """The kernels that call a name themselves, in order."""
        if self._callers is None:
            self._callers = {}
            for kernel in chain.from_iterable(self.named.values()):
                for called in called_names(kernel.node) & self.named.keys():
                    self._callers.setdefault(called, []).append(kernel)
        return sorted(self._callers.get(name, ()), key=lambda kernel: kernel.range)


@dataclass(frozen=True)
class Module:
    """A parsed file. ``tree`` holds the statements that parse, at their true places.

    ``focus`` is the one kernel that detectors look at, or the one host function, by its name in
    ``host_functions``; None means all of them. ``memo`` keeps what follows from the rest and is
    shared by copies with another focus. ``era`` is the same object in versions that differ only in
    bodies on which nothing outside them depends (see ``source/parse.py``).
    """

    path: str
    text: str
    content_hash: str
    tree: ast.Module = field(compare=False, repr=False)
    index: LineIndex = field(compare=False, repr=False)
    names: Names = field(compare=False, repr=False)
    kernels: tuple[Kernel, ...]
    launches: tuple[Launch, ...]
    host_functions: Mapping[str, ast.FunctionDef] = field(compare=False, repr=False)
    problems: tuple[SyntaxProblem, ...]
    focus: "Kernel | str | None" = field(default=None, compare=False, repr=False)
    memo: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)
    era: object = field(default=None, compare=False, repr=False)

    @property
    def named_statements(self) -> ast.Module:
        """``tree``, for those who look in it only for what names in a kernel stand for."""
        return cast("ast.Module", self.__dict__["tree"])

    @property
    def lookup(self) -> Lookup:
        """The file's kernels and launches by name; made once."""
        found = self.memo.get(Lookup)
        if found is None:
            found = self.memo[Lookup] = Lookup(self)
        return cast("Lookup", found)

    @property
    def focused(self) -> tuple[Kernel, ...]:
        """The kernels that detectors look at."""
        if self.focus is None:
            return self.kernels
        return () if isinstance(self.focus, str) else (self.focus,)

    @property
    def nki_flavour(self) -> NkiFlavour | None:
        """The NKI package that the file imports; None where it imports none, or both."""
        old = any(
            name in _OLD_NKI or name.startswith("neuronxcc.nki") for name in self.names.imports
        )
        new = any(name == "nki" or name.startswith("nki.") for name in self.names.imports)
        if old is new:
            return None
        return NkiFlavour.NEURONXCC if old else NkiFlavour.NKI

    def kernel(self, name: str) -> Kernel | None:
        return self.lookup.kernels.get(name)

    def launches_of(self, kernel: str) -> tuple[Launch, ...]:
        """The launches of a name; none where a file defines several kernels of that name.

        Which of them a launch means is then decided by scopes, tests and the order in which lines
        run, which are not followed.
        """
        if kernel in self.lookup.defined_in_several:
            return ()
        return tuple(self.lookup.launches.get(kernel, ()))

    def has_launches(self, kernel: str) -> bool:
        """Whether there are ``launches_of`` a name. No more of host code has a part in this."""
        return kernel in self.lookup.launched and kernel not in self.lookup.defined_in_several

    def kernel_at(self, line: int) -> Kernel | None:
        """The kernel whose text covers a 1-based line."""
        return next((k for k in self.kernels if k.range.line <= line <= k.range.end_line), None)

    def entry_kernels(self) -> Iterator[Kernel]:
        """Kernels that some launch names: what runs, as against helper jit functions."""
        launched = self.lookup.launches
        return (k for k in self.kernels if k.name in launched)

    def helpers_of(self, kernel: Kernel) -> tuple[Kernel, ...]:
        """The file's jit functions that a kernel calls itself."""
        called = called_names(kernel.node) & self.lookup.named.keys()
        found = (k for name in called for k in self.lookup.named[name] if k is not kernel)
        return tuple(sorted(found, key=lambda k: k.range))

    def callers_of(self, kernel: Kernel) -> tuple[Kernel, ...]:
        """The file's jit functions that call a kernel themselves."""
        return tuple(k for k in self.lookup.callers(kernel.name) if k is not kernel)

    def is_helper(self, kernel: Kernel) -> bool:
        """Whether a jit function is called from others and launched nowhere in the file."""
        return not self.launches_of(kernel.name) and bool(self.callers_of(kernel))


watch_fields(Module, ("text", "content_hash", "tree", "launches", "host_functions"))
watch_fields(Lookup, ("launches", "launches_in", "_on_lines"))
