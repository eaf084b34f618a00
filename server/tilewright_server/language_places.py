"""Which name of a language, option or constant stands at a place, read from the text alone."""

import ast
import re
from dataclasses import dataclass

from tilewright.knowledge.language_notes import launch_options
from tilewright.source.cursor import Cursor, OpenCall, cursor_at, definition_around
from tilewright.source.model import Kernel, Module
from tilewright.source.text import Range

CONFIG = "triton.Config"
AUTOTUNE = "triton.autotune"
JIT = "triton.jit"
_LAUNCHERS = (".run", ".warmup")
_NKI = ("nki.language.", "nki.isa.")
_WORD = re.compile(r"\w*")


@dataclass(frozen=True)
class LanguagePlace:
    """A name of a tile language: its public dotted name, as it is written, and where."""

    dotted: str
    written: str
    range: Range


@dataclass(frozen=True)
class SettingPlace:
    """A constexpr or an option of a launch, a configuration or a kernel's parameters.

    Attributes:
        kernel: that it is a setting of; None where the text does not say.
        is_constant: whether it is a constexpr of the kernel.
    """

    name: str
    kernel: Kernel | None
    is_constant: bool
    range: Range


@dataclass(frozen=True)
class ArgumentPlace:
    """A parameter of a function of the language: its keyword, or a name in the list it is given."""

    dotted: str
    name: str
    range: Range


def dotted_name(module: Module, written: str) -> str | None:
    """The public name of a dotted name as it is written in a file."""
    if not written:
        return None
    try:
        return module.names.resolve(ast.parse(written, mode="eval").body)
    except (SyntaxError, ValueError):
        return None


Place = LanguagePlace | SettingPlace | ArgumentPlace


def place_at(module: Module, line: int, column: int) -> Place | None:
    """What stands at a place, if it is something with a card of its own."""
    lines = module.index.lines
    if line > len(lines):
        return None  # a text without kernels is not read
    content = lines[line - 1]
    end = column + len(_WORD.match(content, column)[0])  # type: ignore[index]
    cursor = cursor_at(lines, line, end)
    if cursor.in_comment or not cursor.word:
        return None
    where = Range(line, end - len(cursor.word), line, end)
    if cursor.in_text:
        if _is_key(module, cursor):
            return _setting(module, cursor, where, cursor.word)
        return _listed(module, cursor, where)
    if cursor.owner or content[end : end + 1] != ".":
        written = f"{cursor.owner}.{cursor.word}" if cursor.owner else cursor.word
        dotted = dotted_name(module, written)
        if dotted is not None and _is_imported(module, written) and _is_language(dotted):
            start = end - len(written)
            return LanguagePlace(dotted, written, Range(line, start, line, end))
    if cursor.owner:
        return None
    if re.match(r"\s*=(?!=)", content[end:]):
        found: Place | None = _setting(module, cursor, where, cursor.word)
        found = found or _argument(module, cursor, cursor.word, where)
        if found is not None:
            return found
    return _constant(module, cursor.word, where)


def _is_imported(module: Module, written: str) -> bool:
    return written.partition(".")[0] in module.names.origins


def _argument(module: Module, cursor: Cursor, name: str, where: Range) -> ArgumentPlace | None:
    """A parameter of the innermost open call, where there is more to say of it than its name."""
    from tilewright.knowledge.language_notes import language_note

    call = cursor.call
    dotted = dotted_name(module, call.callee) if call is not None else None
    note = language_note(dotted) if dotted is not None else None
    if dotted is None or note is None or name not in note.meanings:
        return None
    return ArgumentPlace(dotted, name, where)


def _listed(module: Module, cursor: Cursor, where: Range) -> ArgumentPlace | None:
    """A string in the list that a parameter of ``triton.autotune`` is given."""
    call = cursor.call
    inner = cursor.calls[-1] if cursor.calls else None
    if call is None or inner is None or inner.bracket not in "[(" or inner is call:
        return None
    second = "key" if call.position == 1 else None
    name = call.keyword or second
    is_tuned = dotted_name(module, call.callee) == AUTOTUNE
    return _argument(module, cursor, name, where) if is_tuned and name is not None else None


def _is_language(dotted: str) -> bool:
    from tilewright.knowledge.language_notes import language_note

    return language_note(dotted) is not None or dotted.startswith(_NKI)


def _is_key(module: Module, cursor: Cursor) -> bool:
    """Whether a string is a key in the dict of a configuration."""
    inner = cursor.calls[-1] if cursor.calls else None
    if inner is None or inner.bracket != "{" or inner.key is not None:
        return False
    return config_call(module, cursor) is not None


def config_call(module: Module, cursor: Cursor) -> OpenCall | None:
    """The ``triton.Config`` that is open around a cursor."""
    call = cursor.call
    return call if call is not None and dotted_name(module, call.callee) == CONFIG else None


def launched_kernel(module: Module, call: OpenCall | None) -> Kernel | None:
    """The kernel that an open call launches: ``kernel[grid](`` or ``kernel.run(``."""
    if call is None or call.bracket != "(":
        return None
    if call.subscripted:
        return module.kernel(call.callee)
    for launcher in _LAUNCHERS:
        if call.callee.endswith(launcher):
            return module.kernel(call.callee.removesuffix(launcher))
    return None


def tuned_kernel(module: Module, line: int) -> Kernel | None:
    """The kernel that a decorator on a line belongs to."""
    found = module.kernel_at(line)
    if found is not None:
        return found
    definition = definition_around(module.index.lines, line)
    if definition is not None and definition.is_jitted:
        return module.kernel(definition.name)
    return None


def _setting(module: Module, cursor: Cursor, where: Range, name: str) -> SettingPlace | None:
    if config_call(module, cursor) is not None:
        kernel = tuned_kernel(module, where.line)
    else:
        kernel = launched_kernel(module, cursor.call)
        if kernel is None:
            return None
    is_constant = kernel is not None and name in kernel.constexprs
    if not is_constant and name not in launch_options():
        return None
    return SettingPlace(name, kernel, is_constant, where)


def _constant(module: Module, name: str, where: Range) -> SettingPlace | None:
    """A constexpr of the kernel around, by its name alone."""
    kernel = module.kernel_at(where.line)
    if kernel is None or name not in kernel.constexprs:
        return None
    return SettingPlace(name, kernel, is_constant=True, range=where)
