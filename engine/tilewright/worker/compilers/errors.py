"""Why a compiler refused a kernel, and on which of the user's lines."""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from triton.compiler.errors import CompilationError
from triton.runtime.jit import JITFunction

from ..loading import entry_point

if TYPE_CHECKING:
    from ..messages.jobs import Message

_DIAGNOSTIC = re.compile(r'(?:loc\(")?([^\s":]+\.py)"?:(\d+):(\d+)\)?: error: (.*)')
_PTX_ERROR = re.compile(r"\.ptx, line (\d+); error\s*: (.*)")
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*\binlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?')
# What names a function that the kernel calls, where the compiler gives no line.
_NAMING = re.compile(r"<function (\w+) at |CUDA __nv_(\w+?)f? device function")
_ASSEMBLY = re.compile(r"assembler rejected|inline assembly")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+(?=>)")
_TRITON_ITSELF = f"{os.sep}triton{os.sep}"
_MOST_LINES = 8
_MOST_CHARACTERS = 2000


class _Place(NamedTuple):
    """A line, counted from 1, and a column, counted from 0, of a file."""

    file: str
    line: int
    column: int


def message(text: str, line: int | None = None, column: int | None = None) -> Message:
    """A ``CompileMessage`` as JSON."""
    return {"text": text, "line": line, "column": column}


def first_lines(text: str) -> str:
    """As much of a compiler's words as one reads."""
    return "\n".join(text.strip().splitlines()[:_MOST_LINES])[:_MOST_CHARACTERS]


def located(error: CompilationError, module: Any, kernel: Any) -> Message:
    """The compiler's own words, on the innermost line that is the user's."""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    told = [link for link in chain if isinstance(link, CompilationError)]
    words = next((link.error_message for link in reversed(told) if link.error_message), None)
    text = _plain(words or str(chain[-1]) or type(chain[-1]).__name__)
    functions = list(_reachable(module, kernel))
    places = [place for link in told if (place := _place(link, functions)) is not None]
    return _located_message(text, places, str(module.__file__))


def _located_message(text: str, places: list[_Place], file: str) -> Message:
    """A message on the innermost place of the file; other places of the chain are in the text."""
    own = [place for place in places if _same(place.file, file)]
    if not own:
        return message(text)
    here, inner = own[-1], places[-1]
    if not _same(inner.file, file) and _TRITON_ITSELF not in inner.file:
        text += f" (in line {inner.line} of {os.path.basename(inner.file)})"  # noqa: PTH119
    if own[0].line != here.line:
        text += f" (called from line {own[0].line})"
    return message(text, here.line, here.column)


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _reachable(module: Any, kernel: Any) -> Iterator[Any]:
    """Triton functions that the kernel may call: of its module, and of those they come from."""
    waiting, seen = [vars(module), kernel.fn.__globals__], set()
    while waiting:
        names = waiting.pop()
        if id(names) in seen:
            continue
        seen.add(id(names))
        for value in list(names.values()):
            function = entry_point.unwrap(value)
            if isinstance(function, JITFunction) and id(function) not in seen:
                seen.add(id(function))
                waiting.append(function.fn.__globals__)
                yield function
            elif inspect.ismodule(value) and _is_beside(value, module):
                waiting.append(vars(value))


def _is_beside(value: Any, module: Any) -> bool:
    file = getattr(value, "__file__", None)
    return bool(file) and os.path.dirname(str(file)) == os.path.dirname(str(module.__file__))  # noqa: PTH120


def _place(error: CompilationError, functions: list[Any]) -> _Place | None:
    line = getattr(error.node, "lineno", None)
    if line is None or error.src is None:
        return None
    for function in functions:
        if function.src != error.src:
            continue
        lines, first = inspect.getsourcelines(function.fn)
        offset = next(at for at, text in enumerate(lines) if text.lstrip().startswith("def "))
        indent = len(lines[offset]) - len(lines[offset].lstrip())
        file = inspect.getsourcefile(function.fn) or ""
        return _Place(file, first + offset + line - 1, error.node.col_offset + indent)
    return None


def _plain(text: str) -> str:
    """Without the exception's name that ``repr`` puts around a message."""
    match = re.fullmatch(r"\w+\((['\"])(.*)\1,?\)", text.strip(), re.DOTALL)
    return first_lines(match[2].replace("\\n", "\n") if match else text)


def unlocated(text: str, said: str, module: Any, kernel: Any, ptx: str) -> list[Message]:
    """What failed behind the front end, on the lines that native code or the assembler named.

    Args:
        text: of the exception.
        said: what native code printed.
        ptx: what NVIDIA's assembler refused, if it did.
    """
    if found := _native(said, str(module.__file__)):
        return found
    if ptx and (found := list(_of_ptx(text, ptx, str(module.__file__)))):
        return found
    named = _named(text, kernel, str(module.__file__))
    return [message(_ADDRESS.sub("", first_lines(text)), *named)]


def _native(text: str, path: str) -> list[Message]:
    """What the compiler's C++ side printed about lines of the user's file."""
    found = [
        message(match[4], int(match[2]), max(0, int(match[3]) - 1))
        for match in _DIAGNOSTIC.finditer(text)
        if os.path.basename(match[1]) == os.path.basename(path)  # noqa: PTH119
    ]
    return list({(m["text"], m["line"]): m for m in found}.values())


def _of_ptx(text: str, ptx: str, path: str) -> Iterator[Message]:
    """The assembler's errors, on the source lines that its lines come from."""
    places = _places_of_ptx(ptx, path)
    told = set()
    for number, words in _PTX_ERROR.findall(text):
        place = places.get(int(number))
        if (place, words) not in told:
            told.add((place, words))
            yield message(f"ptxas: {words}", *(place or (None, None)))


def _places_of_ptx(ptx: str, path: str) -> Mapping[int, tuple[int, int]]:
    lines = ptx.splitlines()
    own = {m[1] for line in lines if (m := _FILE.match(line)) and _names(m, path)}
    places: dict[int, tuple[int, int]] = {}
    current: tuple[int, int] | None = None
    for at, line in enumerate(lines, 1):
        if mark := _LOC.match(line):
            steps = [mark.groups()[:3], mark.groups()[3:]]
            current = next(
                ((int(n), max(0, int(c) - 1)) for file, n, c in steps if file in own), None
            )
        elif current:
            places[at] = current
    return places


def _names(file: re.Match[str], path: str) -> bool:
    return _same(os.path.join(*filter(None, file.groups()[1:])), path)  # noqa: PTH118


def _named(text: str, kernel: Any, path: str) -> tuple[int, int] | tuple[None, None]:
    """Where the kernel calls the function that a message names."""
    match = _NAMING.search(text)
    name = match and (match[1] or match[2])
    if _ASSEMBLY.search(text):
        name = "inline_asm_elementwise"
    if not name or not _same(inspect.getsourcefile(kernel.fn) or "", path):
        return None, None
    lines, first = inspect.getsourcelines(kernel.fn)
    indent = len(lines[0]) - len(lines[0].lstrip())
    tree = ast.parse("".join(line[indent:] or "\n" for line in lines))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _callee_name(node.func) == name:
            return first + node.lineno - 1, node.col_offset + indent
    return None, None


def _callee_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
