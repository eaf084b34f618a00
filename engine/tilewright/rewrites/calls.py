"""Adding and removing arguments of calls and signatures, in the layout they have."""

import ast
import re
from collections.abc import Container

from tilewright.rewrites.edit import Patch, call_parts
from tilewright.source.model import Module

_CLOSING = re.compile(r"(?:\s*\))*")
_REST_OF_LINE = re.compile(r"[ \t]*,?[ \t]*(?:#[^\r\n]*)?(?:\r\n|\n|\r)")
_COMMA_LINE = re.compile(r"[ \t]*,[ \t]*(?:#[^\r\n]*)?(?:\r\n|\n|\r)")


def append_keywords(patch: Patch, call: ast.Call, texts: list[str]) -> None:
    """Add keyword arguments at the end of a call."""
    last = next(reversed(call_parts(call)), None)
    close = patch.span(call)[1] - 1
    if last is None:
        patch.splice(close, close, ", ".join(texts))
    else:
        add_after(patch, last, close, texts)


def append_parameter(patch: Patch, function: ast.FunctionDef, text: str) -> bool:
    """Add a parameter at the end of a signature; False where there is no plain place for it."""
    a = function.args
    if a.vararg or a.kwarg or a.kwonlyargs or not a.args:
        return False
    last: ast.expr | ast.arg = a.args[-1]
    if a.defaults:
        last = a.defaults[-1]
    start = patch.span(last)[1]
    before_body = patch.span(function.body[0])[0]
    add_after(patch, a.args[-1], before_body, [text], start)
    return True


def add_after(
    patch: Patch,
    last: ast.expr | ast.keyword | ast.arg,
    close: int,
    texts: list[str],
    end: int | None = None,
) -> None:
    """Add items after one item of a bracketed list that closes at ``close``.

    An item with a line of its own gets lines after it; ``end`` is set where a default follows.
    """
    if not texts:
        return
    end = patch.span(last)[1] if end is None else end
    # A node's span leaves out the parentheses around it.
    closing = _CLOSING.match(patch.text[end:close]) if isinstance(last, ast.expr) else None
    end += closing.end() if closing else 0
    lead = patch.text[patch.line_start(last.lineno) : patch.span(last)[0]]
    comma = _COMMA_LINE.match(patch.text[end:close])
    if not lead.strip() and comma:
        place = end + comma.end()
        patch.splice(place, place, "".join(f"{lead}{text},{patch.newline}" for text in texts))
    elif not lead.strip() and re.match(r"[ \t]*[\r\n]", patch.text[end:close]):
        glue = f",{patch.newline}{lead}"
        patch.splice(end, end, "".join(f"{glue}{text}" for text in texts))
    else:
        patch.splice(end, end, "".join(f", {text}" for text in texts))


def remove_keywords(patch: Patch, call: ast.Call, names: Container[str]) -> None:
    """Remove keyword arguments, their commas included."""
    parts = call_parts(call)
    gone = [isinstance(p, ast.keyword) and p.arg is not None and p.arg in names for p in parts]
    _remove_runs(patch, [patch.span(p) for p in parts], gone)


def remove_dict_keys(patch: Patch, node: ast.Dict, names: Container[str]) -> None:
    """Remove entries of a dict literal, their commas included."""
    spans: list[tuple[int, int]] = []
    gone: list[bool] = []
    for key, value in zip(node.keys, node.values, strict=True):
        spans.append((patch.span(key or value)[0], patch.span(value)[1]))
        gone.append(isinstance(key, ast.Constant) and key.value in names)
    _remove_runs(patch, spans, gone)


def _remove_runs(patch: Patch, spans: list[tuple[int, int]], gone: list[bool]) -> None:
    place = 0
    while place < len(spans):
        if not gone[place]:
            place += 1
            continue
        end = place
        while end + 1 < len(spans) and gone[end + 1]:
            end += 1
        lines = _own_lines(patch, spans[place][0], spans[end][1])
        if lines is not None and len(spans) > end + 1 - place:
            patch.splice(*lines, "")
        elif end + 1 < len(spans):
            patch.splice(spans[place][0], spans[end + 1][0], "")
        elif place > 0:
            patch.splice(spans[place - 1][1], spans[end][1], "")
        else:
            patch.splice(spans[0][0], spans[end][1], "")
        place = end + 1


def _own_lines(patch: Patch, start: int, end: int) -> tuple[int, int] | None:
    """The whole lines that a stretch fills, but for commas and a comment behind it."""
    first = max(patch.text.rfind("\n", 0, start), patch.text.rfind("\r", 0, start)) + 1
    tail = _REST_OF_LINE.match(patch.text, end)
    if patch.text[first:start].strip() or tail is None or first == 0:
        return None
    return first, tail.end()


def literal(value: int | float | bool | str) -> str:
    """How a value is written: strings in double quotes."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def local_name(module: Module, dotted: str) -> str:
    """How the file can spell a dotted name: ``triton.Config``, or ``Config`` if imported so.

    ``triton.language.where`` becomes ``tl.where`` where ``tl`` stands for ``triton.language``.
    """
    packages = sorted(module.names.origins.items(), key=lambda item: -len(item[1]))
    for local, origin in packages:
        if origin == dotted:
            return local
    for local, origin in packages:
        if dotted.startswith(origin + "."):
            return f"{local}.{dotted[len(origin) + 1 :]}"
    return dotted


def imports(module: Module, package: str) -> bool:
    """Whether the file has a name for a package."""
    return package in module.names.origins.values()


def fresh_name(taken: set[str], wanted: str) -> str:
    """``wanted``, with underscores at its end until nothing else has that name."""
    while wanted in taken:
        wanted += "_"
    return wanted
