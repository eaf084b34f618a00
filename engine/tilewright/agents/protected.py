"""The parts of a file that state the problem, test or time it: an answer may not change them.

What a candidate may do in the parts that it may change, the verifier judges
(``tilewright.evaluation.cascade``).
"""

import ast
import re
from collections.abc import Iterator, Sequence

from tilewright.agents.segments import UNPARSABLE, Segment, by_name, needed, segments
from tilewright.evaluation.rules.view import is_script
from tilewright.problems.model import Entry, EntryKind
from tilewright.problems.pyfile import KERNELBENCH_FUNCTIONS

_TESTING = re.compile(r"(test|bench|benchmark)(_|$)|Test[A-Z]")
_TIMED = re.compile(r"\bperf_report\b|\bpytest\b")
_REFERENCE = re.compile(r"(.+_)?(ref|reference)(_.+)?$", re.IGNORECASE)
_ON_IMPORT = frozenset(("set_allocator",))
_QUIET = (
    ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign,
    ast.AnnAssign, ast.Pass,
)  # fmt: skip
_MOST_CHARACTERS = 60

PROBLEM = "states the problem"
REFERENCE = "is the reference that results are compared with"
TESTING = "tests or times the kernel"
SCRIPT = "runs as a script"


def protected(found: Sequence[Segment], entry: Entry | None) -> tuple[tuple[Segment, str], ...]:
    """The segments that an answer may not change, each with the reason."""
    problem = {id(segment) for segment in _inputs(found)}
    work = {id(segment) for segment in _work(found, entry)}
    marked = []
    for segment in found:
        if id(segment) in problem:
            marked.append((segment, PROBLEM))
        elif id(segment) not in work and (why := _why(segment, found, entry)):
            marked.append((segment, why))
    return tuple(marked)


def _inputs(found: Sequence[Segment]) -> Iterator[Segment]:
    """What makes a module's inputs, with the constants and helpers that it reads."""
    for segment in needed(KERNELBENCH_FUNCTIONS & set(by_name(found)), found):
        if not _is_kernel(segment):
            yield segment


def _work(found: Sequence[Segment], entry: Entry | None) -> tuple[Segment, ...]:
    """What the entry point comes to."""
    if entry is None or entry.path is not None:
        return ()
    named = by_name(found)
    return needed([entry.name_in(named)], found)


def _why(segment: Segment, found: Sequence[Segment], entry: Entry | None) -> str | None:
    node = segment.nodes[0]
    if is_script(node):
        return SCRIPT
    definition = segment.definition
    if definition is None or _is_kernel(segment):
        return None
    decorators = " ".join(ast.unparse(one) for one in definition.decorator_list)
    if _TESTING.match(definition.name) or _TIMED.search(decorators):
        return TESTING
    if _REFERENCE.match(definition.name) or _is_replaced(definition.name, found, entry):
        return REFERENCE
    return None


def _is_replaced(name: str, found: Sequence[Segment], entry: Entry | None) -> bool:
    """Whether a class is the model that another class of the file stands in for."""
    named = by_name(found)
    if entry is None:
        return name == "Model" and "ModelNew" in named
    return entry.kind is EntryKind.MODEL and name == entry.name and entry.name_in(named) != name


def _is_kernel(segment: Segment) -> bool:
    definition = segment.definition
    return definition is not None and any(
        "jit" in ast.unparse(one).rpartition(".")[2] for one in definition.decorator_list
    )


def forbidden(before: str, after: str, entry: Entry | None) -> tuple[str, ...]:
    """What a new text changes and may not, as predicates: "changes the function get_inputs ...".

    Empty where one of the texts does not parse: the verifier refuses such a text by itself.
    """
    try:
        (old, _), (new, _) = segments(before), segments(after)
    except UNPARSABLE:
        return ()
    return (*_changed(old, new, entry), *_on_import(old, new))


def _changed(old: Sequence[Segment], new: Sequence[Segment], entry: Entry | None) -> Iterator[str]:
    texts = [segment.text.rstrip() for segment in new]
    names = by_name(new)
    before = by_name(old)
    for segment, why in protected(old, entry):
        what = f"{_segment_title(segment)} (line {segment.line}), which {why}"
        if segment.text.rstrip() not in texts:
            there = any(name in names for name in segment.names)
            yield f"{'changes' if there or not segment.names else 'removes'} {what}"
            continue
        again = [n for n in segment.names if len(names[n]) > len(before[n])]
        if again:
            yield f"binds {again[0]} again (line {names[again[0]][-1].line}), which {why}"


def _on_import(old: Sequence[Segment], new: Sequence[Segment]) -> Iterator[str]:
    known = {segment.form for segment in old}
    for segment in new:
        if segment.form in known or is_script(segment.nodes[0]):
            continue
        for node in segment.nodes:
            loud = next(_loud(node), None)
            if loud is not None:
                text = " ".join(ast.unparse(loud).split())
                text = text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."
                yield (
                    f"adds `{text}` (line {loud.lineno}), which runs when the file is imported; "
                    "such work belongs in the entry point"
                )


def _loud(node: ast.stmt) -> Iterator[ast.stmt]:
    """Statements that do more on import than define, bind or import."""
    match node:
        case ast.If(body=body, orelse=other):
            inner: list[ast.stmt] = [*body, *other]
        case ast.Try(body=body, handlers=handlers, orelse=other, finalbody=final):
            inner = [*body, *other, *final, *(one for h in handlers for one in h.body)]
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name))) if (
            name in _ON_IMPORT
        ):
            return
        case _:
            if not isinstance(node, _QUIET):
                yield node
            return
    for one in inner:
        yield from _loud(one)


def _segment_title(segment: Segment) -> str:
    definition = segment.definition
    if definition is not None:
        kind = "class" if isinstance(definition, ast.ClassDef) else "function"
        return f"the {kind} {definition.name}"
    if segment.names:
        return f"the value of {', '.join(segment.names)}"
    return f"the block `{segment.text.splitlines()[0].strip()}`"
