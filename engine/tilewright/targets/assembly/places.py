"""Which source line each line of a stage's text comes from, for every stage."""

import re
from collections.abc import Callable, Iterator, Mapping

from tilewright.targets.assembly.listing import CODE, listing_of, user_line
from tilewright.targets.assembly.model import Place

_MLIR_DEFINED = re.compile(r"^(#loc\d*) = (loc\(.*\))\s*$", re.MULTILINE)
_MLIR_USED = re.compile(r"\bloc\((#loc\d*)\)\s*(?:\{|$)")
_MLIR_PLACE = re.compile(r'"([^"]+)":(\d+):\d+|(#loc\d*)')
_LLVM_DEFINED = re.compile(r"^(!\d+) = (?:distinct )?!(DI\w+)\((.*)\)", re.MULTILINE)
_LLVM_USED = re.compile(r"!dbg (!\d+)")
_LLVM_FIELD = re.compile(r'(\w+): (?:"([^"]*)"|(!?\w+))')
_SPIRV_LINE = re.compile(r"OpLine (%\S+) (\d+) \d+")
_SPIRV_NO_LINE = re.compile(r"^\s*Op(?:NoLine|FunctionEnd)\b")
_SPIRV_STRING = re.compile(r'(%\S+) = OpString "([^"]*)"')
_SPIRV_CODE = re.compile(r"^\s*(?:%\S+ = )?Op\w+")
_DEEPEST = 64

LineOf = dict[int, int]


def lines_of(stage: str, text: str, source: str) -> LineOf:
    """The user's line, by 1-based line of the text; lines of the text that have none are absent."""
    if stage in CODE:
        listing = listing_of(stage, text, source)
        return {one.at: one.line for one in listing.instructions if one.line is not None}
    return dict(_READERS[stage](text, source))


def _mlir(text: str, source: str) -> Iterator[tuple[int, int]]:
    defined = dict(_MLIR_DEFINED.findall(text))

    def places(name: str, depth: int = 0) -> Iterator[Place]:
        if depth < _DEEPEST:
            for file, line, other in _MLIR_PLACE.findall(defined.get(name, "")):
                if other:
                    yield from places(other, depth + 1)
                else:
                    yield Place(file, int(line))

    for at, line in enumerate(text.splitlines(), 1):
        if not line.startswith("#") and (used := _MLIR_USED.search(line)):
            found = user_line(tuple(places(used[1])), source)
            if found is not None:
                yield at, found


def _llvm(text: str, source: str) -> Iterator[tuple[int, int]]:
    fields = {
        name: {key: word or other for key, word, other in _LLVM_FIELD.findall(body)}
        for name, _, body in _LLVM_DEFINED.findall(text)
    }

    def file_of(scope: str, depth: int = 0) -> str:
        one = fields.get(scope, {})
        if "filename" in one or depth > _DEEPEST:
            folder, name = one.get("directory", ""), one.get("filename", "")
            return name if folder in ("", ".") else f"{folder}/{name}"
        return file_of(one["file"], depth + 1) if "file" in one else ""

    def places(name: str) -> Iterator[Place]:
        for _ in range(_DEEPEST):
            one = fields.get(name)
            if one is None or "line" not in one:
                return
            yield Place(file_of(one.get("scope", "")), int(one["line"]))
            name = one.get("inlinedAt", "")

    for at, line in enumerate(text.splitlines(), 1):
        if line.startswith(" ") and (used := _LLVM_USED.search(line)):
            found = user_line(tuple(places(used[1])), source)
            if found is not None:
                yield at, found


def _spirv(text: str, source: str) -> Iterator[tuple[int, int]]:
    files = dict(_SPIRV_STRING.findall(text))
    current: int | None = None
    for at, line in enumerate(text.splitlines(), 1):
        if mark := _SPIRV_LINE.search(line):
            same = files.get(mark[1]) == source
            current = int(mark[2]) if same else None
        elif _SPIRV_NO_LINE.match(line):
            current = None
        elif current and _SPIRV_CODE.match(line):
            yield at, current


_READERS: Mapping[str, Callable[[str, str], Iterator[tuple[int, int]]]] = {
    "ttir": _mlir,
    "ttgir": _mlir,
    "llir": _llvm,
    "spirv": _spirv,
}
