"""A spec of a kernel, drafted from what its file says, with a mark in each place that it does not.

No size, type or value is made up: a draft with gaps is refused where specs are read, with the line.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tilewright.problems.gaps import GAP
from tilewright.signatures.host_inputs import (
    ExampleCall,
    HostInput,
    example_call,
    host_inputs,
    required,
)
from tilewright.source.callgraph import CallGraph, call_graph
from tilewright.source.model import Kernel, Module

_WIDTH = 100


@dataclass(frozen=True)
class SpecDraft:
    """A spec's text; ``gaps`` is how many places a person has to fill in."""

    text: str
    entry: str
    gaps: int


@dataclass(frozen=True)
class NoDraft:
    """Why none can be made, in a sentence."""

    reason: str


def spec_draft(module: Module, kernel: Kernel, file: str) -> SpecDraft | NoDraft:
    """The draft of a spec for what launches a kernel.

    Args:
        file: the name of the module's file, for the comments.
    """
    graph = call_graph(module)
    entry = _entry(module, graph, kernel)
    if entry is None:
        return NoDraft(
            f"no function of this file launches {kernel.name}, so there is nothing that a spec "
            "could call; capture launches instead"
        )
    qualified = graph.entry(entry) or entry
    function = module.host_functions[qualified]
    is_method = "." in qualified
    inputs = host_inputs(module, function, is_method=is_method)
    call = example_call(module, entry, tuple(one.name for one in inputs))
    lines = list(_lines(module, entry, function, inputs, call, file, is_method=is_method))
    text = "\n".join(lines) + "\n"
    gaps = sum(line.partition("#")[0].count(GAP) for line in lines)
    return SpecDraft(text, entry, gaps)


def _entry(module: Module, graph: CallGraph, kernel: Kernel) -> str | None:
    """The outermost function or model that comes to the kernel; public names first."""
    reaching = [name for name in _callable(module, graph) if _comes_to(graph, name, kernel.name)]
    called = {
        step.edge.callee
        for name in reaching
        for step in graph.reached(name)
        if step.edge.callee != graph.entry(name)
    }
    outer = [name for name in reaching if graph.entry(name) not in called] or reaching
    return min(outer, key=lambda name: name.startswith("_"), default=None)


def _callable(module: Module, graph: CallGraph) -> Iterator[str]:
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in module.host_functions:
            if not node.name.startswith("test"):
                yield node.name
        elif isinstance(node, ast.ClassDef) and _is_model(node) and graph.entry(node.name):
            yield node.name


def _is_model(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith("Module") for base in node.bases)


def _comes_to(graph: CallGraph, name: str, kernel: str) -> bool:
    return any(
        step.edge.launch and step.edge.launch.kernel == kernel for step in graph.reached(name)
    )


def _lines(
    module: Module,
    entry: str,
    function: ast.FunctionDef,
    inputs: list[HostInput],
    call: ExampleCall | None,
    file: str,
    *,
    is_method: bool,
) -> Iterator[str]:
    yield f"# What {entry} of {file} is run on: a draft, from what the file says."
    yield f"# {GAP} marks what it does not say; nothing is run with this spec while one is left."
    yield f"entry: {entry}"
    if is_method:
        yield from _constructor(module, entry)
    yield "inputs:"
    for one in inputs:
        yield from _input(one, call)
    omitted = [a.arg for a in function.args.args[-len(function.args.defaults) :]]
    if function.args.defaults:
        yield f"  # with their defaults: {', '.join(omitted)}"
    yield "default_variant: bench-gpu"
    names = ", ".join(one.name for one in inputs)
    dims = list(dict.fromkeys(name for one in inputs for name in _dims(one) if name))
    dtype = _variant_dtype(inputs, call)
    yield "ci:  # small sizes, whose results are compared"
    yield from _variant(names, dtype, [f"{name}: {GAP}" for name in dims])
    known = _sizes(inputs, call)
    where = f"as line {call.line} calls it" if call is not None else "the sizes that count"
    yield f"bench-gpu:  # what is timed: {where}"
    yield from _variant(names, dtype, [f"{name}: {known.get(name, GAP)}" for name in dims])


def _constructor(module: Module, entry: str) -> Iterator[str]:
    function = module.host_functions.get(f"{entry}.__init__")
    names = [one.arg for one in required(function, is_method=True)] if function else []
    if names:
        yield f"inits: [{', '.join([GAP] * len(names))}]  # the constructor's {', '.join(names)}"


def _input(one: HostInput, call: ExampleCall | None) -> Iterator[str]:
    if not one.is_tensor:
        value = call.values.get(one.name) if call is not None else None
        shown = GAP if value is None else _word(value)
        yield f"  {one.name}: {{value: {shown}}}"
        return
    dims = _dims(one, call)
    shape = ", ".join(name or GAP for name in dims)
    dtype = "int64" if one.is_index else "inherit"
    line = f"  {one.name}: {{shape: [{shape}], dtype: {dtype}}}"
    said = "; ".join(_remarks(one))
    if len(line) + len(said) + 4 <= _WIDTH:
        yield f"{line}  # {said}" if said else line
    else:
        yield f"  # {said}"
        yield line


def _word(value: int | float | bool | str) -> str:
    """A value as YAML reads it; without a point it reads ``1e-05`` as text."""
    if isinstance(value, str):
        return repr(value)
    return re.sub(r"^(-?\d+)e", r"\1.0e", str(value))


def _remarks(one: HostInput) -> Iterator[str]:
    if one.shape is None:
        yield "the file does not say how many axes it has"
    elif one.flattened:
        yield f"any number of axes, made into rows before line {one.line}"
    elif one.line is not None:
        yield f"line {one.line}"
    if one.is_index:
        yield "a kernel computes addresses with it: give it a `range: [0, SIZE]`"


def _dims(one: HostInput, call: ExampleCall | None = None) -> tuple[str, ...]:
    """Names of the axes; one axis that is a gap where their number is not stated."""
    if not one.is_tensor:
        return ()
    if one.shape is None:
        return ("",) if call is None or one.name not in call.shapes else _plain(one, call)
    return tuple(
        str(axis).upper() if axis is not None else f"{one.name.upper()}_{number}"
        for number, axis in enumerate(one.shape)
    )


def _plain(one: HostInput, call: ExampleCall) -> tuple[str, ...]:
    """The number of axes and their sizes of a call stand for what the function does not say."""
    return tuple(map(str, call.shapes[one.name]))


def _variant_dtype(inputs: Iterable[HostInput], call: ExampleCall | None) -> str:
    floats = [one for one in inputs if one.is_tensor and not one.is_index]
    stated = [one.dtypes[0] for one in floats if one.dtypes]
    given = [call.dtypes[one.name] for one in floats if one.name in call.dtypes] if call else []
    plain = call is not None and any(one.name in call.shapes for one in floats)
    return next(iter([*stated, *given, *(["float32"] if plain else [])]), GAP)


def _sizes(inputs: Iterable[HostInput], call: ExampleCall | None) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in inputs:
        shape = call.shapes.get(one.name, ()) if call is not None else ()
        names = _dims(one)
        if len(names) == len(shape):
            found |= {name: size for name, size in zip(names, shape, strict=True) if name}
    return found


def _variant(names: str, dtype: str, dims: list[str]) -> Iterator[str]:
    yield f"  - params: [{names}]"
    yield f"    dtype: {dtype}"
    yield f"    dims: {{{', '.join(dims)}}}"
