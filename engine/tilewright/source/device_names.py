"""Which vendors' devices a file's host code and launch options name, and where."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tilewright.python_syntax import descendants
from tilewright.source.model import Language, Module
from tilewright.source.node_memo import per_text, text_memo_of

_WORDS = (
    *("cuda", "xpu", "hip", "rocm", "gfx", "intel_ext", "backends", "extra", "_eu", "kpack"),
    *("nonkdim", "grf", "native_code"),
)
"""A text without any of these names no device."""
_DEVICE = re.compile(r"(cuda|xpu|hip|rocm)(:\d+)?")
_AMD_CHIP = re.compile(r"gfx[0-9a-f]{3,4}")
_BACKENDS = {"cuda": "cuda", "xpu": "xpu", "hip": "hip", "rocm": "hip"}
_NAMESPACES = {
    "torch.cuda": "cuda", "torch.xpu": "xpu", "torch.hip": "hip", "torch.version.cuda": "cuda",
    "torch.version.hip": "hip", "torch.version.xpu": "xpu", "intel_extension_for_pytorch": "xpu",
    "triton.language.extra.cuda": "cuda", "triton.language.extra.hip": "hip",
    "triton.language.extra.intel": "xpu", "triton.backends.nvidia": "cuda",
    "triton.backends.amd": "hip", "triton.backends.intel": "xpu",
}  # fmt: skip
_METHODS = {"cuda": "cuda", "xpu": "xpu", "is_cuda": "cuda", "is_xpu": "xpu"}
_QUESTIONS = ("is_available", "hasattr", "device_count")
VENDOR_OF_OPTION = {
    "grf_mode": "xpu", "generate_native_code": "xpu", "waves_per_eu": "hip",
    "matrix_instr_nonkdim": "hip", "kpack": "hip",
}  # fmt: skip
"""Options of a launch that one backend alone knows."""


@dataclass(frozen=True)
class DeviceName:
    """One place where a file names a vendor's device.

    Attributes:
        backend: whose it is: "cuda", "hip", "xpu", "neuron".
        words: as it is written there: ``torch.xpu``, ``"cuda"``, ``grf_mode``.
        line: 1-based.
        is_option: it is an option of a launch, not host code.
        arch: the chip that it names, as ``gfx942``; None where it names a vendor alone.
        asks: the code asks there which device it has, or does something for one of several: the
            file runs elsewhere too. An assertion, or a condition that raises, demands a device.
    """

    backend: str
    words: str
    line: int
    arch: str | None = None
    asks: bool = False
    is_option: bool = False


def device_names(module: Module) -> tuple[DeviceName, ...]:
    """Every place in the file's host code, imports and launch options, in the order of lines.

    Kernels in NKI run on NeuronCores alone: where a file has no others, that is its only name.
    """
    if module.lookup.languages == {Language.NKI}:
        return (DeviceName("neuron", "NKI kernels", module.kernels[0].range.line),)
    kernels = {id(kernel.node) for kernel in module.kernels}
    is_flat = kernels <= {id(statement) for statement in module.tree.body}
    aliases = [name for name, to in module.names.origins.items() if _says_any(to)]
    walk = _Walk(module, kernels)
    found: list[DeviceName] = []
    for statement in module.tree.body:
        if id(statement) in kernels:
            continue
        memo = text_memo_of(statement) if is_flat else {}
        named = memo.get(_may_name)
        if named is None or named[0] != aliases:
            named = memo[_may_name] = aliases, _may_name(module, statement, aliases)
        if not named[1]:
            continue
        origins = _origins_in(module, statement)
        known = memo.get(DeviceName)
        if known is None or known[0] != origins:
            within = tuple(walk.names_below(statement, asks=False))
            below = tuple(replace(name, line=name.line - statement.lineno) for name in within)
            known = memo[DeviceName] = origins, below
        found += (replace(name, line=name.line + statement.lineno) for name in known[1])
    found += _options(module)
    return tuple(
        sorted(dict.fromkeys(found), key=lambda x: (x.line, not x.words.startswith("torch")))
    )


def _may_name(module: Module, statement: ast.stmt, aliases: Iterable[str]) -> bool:
    """Whether a text may name a device, itself or by what an import calls it."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    text = "\n".join(module.index.lines[first - 1 : statement.end_lineno])
    return _says_any(text) or any(alias in text for alias in aliases)


def _says_any(text: str) -> bool:
    return any(word in text for word in _WORDS)


def _origins_in(module: Module, statement: ast.stmt) -> tuple[tuple[str, str], ...]:
    """What imports say of the names in a statement."""
    origins = module.names.origins
    return tuple((name, origins[name]) for name in _names_in(statement) if name in origins)


@per_text
def _names_in(statement: ast.stmt) -> tuple[str, ...]:
    return tuple(sorted({n.id for n in descendants(statement) if isinstance(n, ast.Name)}))


def _options(module: Module) -> Iterator[DeviceName]:
    """Options of launches and configurations that only one backend has."""
    given = [(option, x.range.line) for x in module.launches for option in x.option_names]
    for kernel in module.kernels:
        for config in (kernel.autotune.configs or ()) if kernel.autotune else ():
            named = {*config.values, *config.options} - {p.name for p in kernel.parameters}
            given += [(option, config.range.line) for option in named]
    for option, line in given:
        if option in VENDOR_OF_OPTION:
            yield DeviceName(VENDOR_OF_OPTION[option], option, line, is_option=True)


class _Walk:
    """Goes through host code, and keeps in mind whether it is in a branch for some device."""

    def __init__(self, module: Module, kernels: set[int]) -> None:
        self._names = module.names
        self._kernels = kernels

    def names_below(self, node: ast.AST, *, asks: bool) -> Iterator[DeviceName]:
        """The names in a node and below it."""
        if id(node) in self._kernels or _is_text(node):
            return
        name = self._named(node)
        if name is not None:
            yield replace(name, asks=asks)
        elif isinstance(node, ast.If | ast.IfExp):
            yield from self._branches(node, asks=asks)
        else:
            within = asks or self._is_question(node)
            for child in ast.iter_child_nodes(node):
                # What an assertion compares is a demand.
                plain = isinstance(node, ast.Assert) and child is node.test
                yield from self._demanded(child) if plain else self.names_below(child, asks=within)

    def _demanded(self, test: ast.AST) -> Iterator[DeviceName]:
        return (replace(name, asks=False) for name in self.names_below(test, asks=False))

    def _branches(self, node: ast.If | ast.IfExp, *, asks: bool) -> Iterator[DeviceName]:
        """A condition on a device makes what hangs on it one of several ways, unless it raises."""
        raises = isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise)
        tested = tuple(self._demanded(node.test))
        yield from (replace(name, asks=asks or not raises) for name in tested)
        within = asks or (bool(tested) and not raises)
        for child in ast.iter_child_nodes(node):
            if child is not node.test:
                yield from self.names_below(child, asks=within)

    def _is_question(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            return (self._names.resolve(node.func) or "").rpartition(".")[2] in _QUESTIONS
        return isinstance(node, ast.Compare)

    def _named(self, node: ast.AST) -> DeviceName | None:
        """What a node by itself names."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return _in_text(node.value, node.lineno)
        if isinstance(node, ast.Attribute):
            return self._in_attribute(node)
        if isinstance(node, ast.ImportFrom):
            return _in_dotted([f"{node.module}.{a.name}" for a in node.names], node.lineno)
        if isinstance(node, ast.Import):
            return _in_dotted([alias.name for alias in node.names], node.lineno)
        return None

    def _in_attribute(self, node: ast.Attribute) -> DeviceName | None:
        dotted = self._names.resolve(node) or ""
        if dotted.startswith(("torch.", "triton.", "intel_")):
            return _in_dotted([dotted], node.lineno)
        if node.attr in _METHODS:
            return DeviceName(_METHODS[node.attr], f".{node.attr}", node.lineno)
        return None


def _is_text(node: ast.AST) -> bool:
    """A docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _in_text(text: str, line: int) -> DeviceName | None:
    device = _DEVICE.fullmatch(text)
    if device is not None:
        return DeviceName(_BACKENDS[device[1]], f'"{text}"', line)
    if _AMD_CHIP.fullmatch(text):
        return DeviceName("hip", f'"{text}"', line, arch=text)
    return None


def _in_dotted(names: list[str], line: int) -> DeviceName | None:
    for name in names:
        for namespace, backend in _NAMESPACES.items():
            if name == namespace or name.startswith(f"{namespace}."):
                return DeviceName(backend, namespace, line)
    return None
