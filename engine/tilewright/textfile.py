"""Texts of files: read without ever waiting, decoded as Python decodes its own sources.

Where ``TILEWRIGHT_ROOTS`` names folders, files of these folders alone are read.
"""

import codecs
import json
import os
import re
import stat
from pathlib import Path

from tilewright.errors import InputError

LARGEST = 64 * 1024 * 1024
"""Bytes of the largest file that is read at all."""

ROOTS = "TILEWRIGHT_ROOTS"
"""The variable with the only folders to read from, real paths as a JSON list; unset: any."""

_KINDS = (
    (stat.S_ISDIR, "is a folder; name a file"),
    (stat.S_ISFIFO, "is a pipe (FIFO) and no file"),
    (stat.S_ISSOCK, "is a socket and no file"),
    (stat.S_ISCHR, "is a device and no file"),
    (stat.S_ISBLK, "is a device and no file"),
)
# PEP 263: in a comment of the first or second line; the second only below a comment or a blank.
_DECLARATION = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_EMPTY = re.compile(rb"[ \t\f]*(?:#.*)?\Z", re.DOTALL)
_LINE_END = re.compile(rb"\r\n|\r|\n")
_FIRST_LINES = 64 * 1024
_SAMPLE = 4096
_UTF8 = "utf-8"
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
# They decode anything into something else, or take time that grows faster than the text.
_NO_SOURCES = frozenset(("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"))
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class UnreadableError(InputError):
    """A file that is there and has no text that could be read."""


class MissingError(InputError):
    """Nothing is there."""


def in_roots(path: Path) -> bool:
    """Whether a path leads, with all links followed, into a folder that may be read."""
    named = os.environ.get(ROOTS)
    if named is None:
        return True
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):  # a name that no system call takes
        return False
    return any(os.path.commonpath((real, root)) == root for root in json.loads(named))


def read_bytes(path: Path, largest: int = LARGEST) -> bytes:
    """What a regular file holds; never waits for a pipe or a device, never reads without end.

    Raises:
        UnreadableError: it is no regular file, may not be read, or is larger than ``largest``.
        MissingError: nothing is there.
    """
    # Before anything else: not even whether it exists is said of a file outside.
    if not in_roots(path):
        raise UnreadableError("is outside the folders that may be read here", str(path))
    try:
        _check_kind(path.stat(), path)
        # What is there may have been replaced since: opening a pipe must not wait either.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(path, flags), "rb") as file:  # noqa: PTH123  no Path.open takes flags
            _check_kind(os.fstat(file.fileno()), path)
            data = file.read(largest + 1)
    except FileNotFoundError:
        if path.is_symlink():
            raise UnreadableError("is a link to a file that is not there", str(path)) from None
        raise MissingError("no such file; check the path", str(path)) from None
    except (OSError, ValueError) as error:
        # ValueError: a name that no system call takes, such as one with a null byte.
        why = (isinstance(error, OSError) and error.strerror) or str(error)
        raise UnreadableError(f"cannot be read: {why}", str(path)) from None
    if len(data) > largest:
        raise UnreadableError(f"is larger than {_size(largest)}, and is not read", str(path))
    return data


def _check_kind(state: os.stat_result, path: Path) -> None:
    for is_kind, why in _KINDS:
        if is_kind(state.st_mode):
            raise UnreadableError(why, str(path))


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def utf8_text(path: Path, largest: int = LARGEST) -> str:
    """The text of a file that has to be UTF-8, with or without a mark; raises as ``read_bytes``."""
    return decoded(read_bytes(path, largest), str(path), _UTF8)


def utf8_text_or_none(path: Path, largest: int = LARGEST) -> str | None:
    """``utf8_text``, or None where there is no such text."""
    try:
        return utf8_text(path, largest)
    except InputError:
        return None


def python_text(path: Path, largest: int = LARGEST) -> str:
    """The text of a Python file, in the encoding it declares; raises as ``read_bytes``."""
    return decoded_python(read_bytes(path, largest), str(path))


def decoded_python(data: bytes, path: str) -> str:
    """The text of a Python source by its byte order mark and its declaration (PEP 263).

    Raises:
        UnreadableError: it is not in the encoding it declares, or in UTF-8 if it declares none.
    """
    return decoded(data, path, _declared(data, path))


def decoded(data: bytes, path: str, encoding: str) -> str:
    """The text of bytes, without a byte order mark.

    Raises:
        UnreadableError: they are no text in this encoding; the message says on which line.
    """
    if data.startswith(_WIDE_MARKS):
        raise UnreadableError("not UTF-8 text but UTF-16 or UTF-32; save it as UTF-8", path)
    if data.count(0, 0, _SAMPLE) * 4 > min(len(data), _SAMPLE):
        why = "not UTF-8 text (null bytes: UTF-16, or a damaged file); save it as UTF-8"
        raise UnreadableError(why, path)
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode(encoding)
    except UnicodeDecodeError as error:
        offset = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
        start = error.start + offset
        line = len(_LINE_END.findall(data, 0, start)) + 1
        raise UnreadableError(_undecodable(encoding, start, path), path, line) from None
    except (LookupError, UnicodeError):
        raise UnreadableError(_unknown(encoding), path) from None


def _undecodable(encoding: str, start: int, path: str) -> str:
    if encoding != _UTF8:
        return f"not {encoding} text (byte {start}), the declared encoding; declare the real one"
    if not path.endswith(".py"):
        return f"not UTF-8 text (byte {start}); save it as UTF-8"
    way_out = "save it as UTF-8, or declare its encoding: # -*- coding: latin-1 -*-"
    return f"not UTF-8 text (byte {start}); {way_out}"


def _unknown(encoding: str) -> str:
    return f"declares the encoding {encoding}, in which no Python source can be; save it as UTF-8"


def _declared(data: bytes, path: str) -> str:
    name = declared_encoding(data)
    if name in _NO_SOURCES:
        raise UnreadableError(_unknown(name), path)
    if data.startswith(codecs.BOM_UTF8) and name != _UTF8:
        why = f"has the byte order mark of UTF-8 and declares {name}; remove one of them"
        raise UnreadableError(why, path)
    return name


def declared_encoding(data: bytes) -> str:
    """The name of the encoding that a Python source declares; UTF-8 if it declares none."""
    start = data[:_FIRST_LINES].removeprefix(codecs.BOM_UTF8)
    for line in _LINE_END.split(start, 2)[:2]:
        found = _DECLARATION.match(line)
        if found is not None:
            return _plain_name(found[1].decode())
        if not _EMPTY.match(line):
            break
    return _UTF8


def _plain_name(name: str) -> str:
    """As Python reads it: ``utf-8-unix`` and ``Latin_1`` are ``utf-8`` and ``latin-1``."""
    plain = name[:12].lower().replace("_", "-")
    for known in (_UTF8, "latin-1", "iso-8859-1", "iso-latin-1"):
        if plain == known or plain.startswith(f"{known}-"):
            return known
    return name.lower().replace("-", "_") if plain.replace("-", "_") in _NO_SOURCES else name


def encoded_python(text: str, path: str) -> bytes:
    """The bytes of a Python source, in the encoding that it declares.

    Raises:
        UnreadableError: the encoding is unknown, or lacks one of the characters.
    """
    name = _declared(text[:_FIRST_LINES].encode(errors="replace"), path)
    try:
        return text.encode(name)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        why = f"it declares {name}, which has no {text[error.start]!a}; declare utf-8 instead"
        raise UnreadableError(why, path, line) from None
    except LookupError:
        raise UnreadableError(_unknown(name), path) from None


def one_line(text: str) -> str:
    r"""A text as one line that any terminal and any reader of UTF-8 takes.

    Control characters and bytes of file names that are no UTF-8 become ``\n``, ``\x1b``, ``\xff``.
    """
    return _CONTROL.sub(_escape, text)


def printable(text: str) -> str:
    r"""A text that changes nothing in a terminal but what it shows; its lines stay lines."""
    return "\n".join(map(one_line, text.replace("\r\n", "\n").split("\n")))


def encodable(text: str) -> str:
    r"""A text with what UTF-8 cannot hold escaped: bytes of a file name as ``\xff``."""
    return _SURROGATE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return found[0].encode("unicode_escape").decode()
