"""Whole functions, or a whole file, put into a file.

What the code of an answer has in common with the file keeps the file's bytes, comments included.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence

from tilewright.agents.answers import AnswerError, line_end, lines_of
from tilewright.agents.prompt import PARENT_TOKENS, estimated
from tilewright.agents.protected import protected
from tilewright.agents.segments import UNPARSABLE, Segment, by_name, needed, paired, segments
from tilewright.evaluation.rules.view import is_script
from tilewright.problems.model import Entry

_MOST_NAMES = 8


def merged(text: str, code: str, entry: Entry | None) -> str:
    """The file with the definitions of ``code``; or ``code`` as the file, where it is a whole one.

    Raises:
        AnswerError: it does not parse, or it is not clear what of the file it replaces.
    """
    end = line_end(text)
    code = "".join(line.rstrip("\r\n") + end for line in lines_of(code))
    try:
        new, _ = segments(code)
    except UNPARSABLE as error:
        return _unparsed(text, code, error)
    if not new:
        raise AnswerError("the fence holds no code: give the functions that change")
    try:
        old, tail = segments(text)
    except UNPARSABLE:
        raise AnswerError(
            "the file is not valid Python, so functions cannot be placed in it: use SEARCH/REPLACE "
            "blocks"
        ) from None
    if _is_whole(text, old, new, entry):
        return _as_file(old, tail, new, end)
    return _into_file(old, tail, new, entry, end)


def _unparsed(text: str, code: str, error: Exception) -> str:
    """A whole file that is not Python is for the verifier to refuse; a part of one cannot be
    placed."""
    imports = [line.strip() for line in lines_of(text) if line.startswith(("import ", "from "))]
    lines = lines_of(code)
    if imports and {line.strip() for line in lines}.issuperset(imports):
        return code
    line = (error.lineno or 0) if isinstance(error, SyntaxError) else 0
    quoted = (
        f" (line {line} of the fence: `{lines[line - 1].strip()}`)" if _has(lines, line) else ""
    )
    reason = error.msg if isinstance(error, SyntaxError) else str(error)
    raise AnswerError(f"the code in the last fence is not valid Python: {reason}{quoted}")


def _has(lines: Sequence[str], line: int) -> bool:
    return 0 < line <= len(lines)


def _is_whole(
    text: str, old: Sequence[Segment], new: Sequence[Segment], entry: Entry | None
) -> bool:
    """Whether code is the whole file: it imports something, and has what the problem calls and all
    that may not change. Of a file that a prompt cannot show whole, no code is."""
    there = set(by_name(new))
    if estimated(f"```\n{text}\n```") > PARENT_TOKENS or not any(s.is_import for s in new):
        return False
    forms = {segment.form for segment in new}
    kept = (segment for segment, _ in protected(old, entry))
    if not all(segment.form in forms or there.intersection(segment.names) for segment in kept):
        return False
    return _anchors(old, entry) <= there


def _anchors(old: Sequence[Segment], entry: Entry | None) -> set[str]:
    """The names without which code is only a part: what the problem calls, or, where that is not
    known, every function and class that no other one uses."""
    named = by_name(old)
    if entry is not None and entry.path is None and entry.name_in(named) in named:
        return {entry.name_in(named)}
    definitions = [segment for segment in old if segment.definition is not None]
    used = {
        other.names
        for one in definitions
        for other in needed(one.names, definitions)
        if other.names != one.names
    }
    return {one.names[0] for one in definitions if one.names not in used}


def _as_file(old: Sequence[Segment], tail: str, new: Sequence[Segment], end: str) -> str:
    """``new`` in its order, with the file's bytes for what is the same."""
    same, named = paired(old, new), by_name(old)
    head = old[0].before if old else ""
    pieces = [head]
    for n, segment in enumerate(new):
        was = same.get(n) or _predecessor(segment, named)
        if old and was is old[0]:
            # What is above the file's first statement is the head of the file.
            before = "" if n == 0 else _blank(segment.before)
        elif was is not None and (n in same or was.before.strip()):
            before = was.before
        else:
            before = segment.before if n or not head.strip() else ""
        pieces += [before, same[n].text if n in same else segment.text]
    return _joined([*pieces, tail], end)


def _predecessor(segment: Segment, named: Mapping[str, list[Segment]]) -> Segment | None:
    return next((found[0] for name in segment.names if (found := named.get(name))), None)


def _blank(before: str) -> str:
    return "".join(line for line in lines_of(before) if not line.strip())


def _into_file(
    old: Sequence[Segment], tail: str, new: Sequence[Segment], entry: Entry | None, end: str
) -> str:
    """The file with segments of ``new`` in place of those that they name. What the file does not
    have is put before the next one that it has."""
    places, same = _places(old, new, entry), paired(old, new)
    known = {**places, **_unchanged(old, same)}
    texts = [segment.text for segment in old]
    above: list[list[str]] = [[] for _ in range(len(old) + 1)]
    for n, segment in enumerate(new):
        at = places.get(n)
        if at is not None:
            texts[at] = _ended_alike(segment.text, texts[at], end)
        elif segment.is_import and n not in same:
            above[_after_imports(old)].append(segment.text)
        elif n not in same and not _is_text(segment):
            above[_place_of_new(n, known, len(old))].append(_apart(segment, end))
    pieces = []
    for n, segment in enumerate(old):
        pieces += [*above[n], segment.before, texts[n]]
    return _joined([*pieces, *above[-1], tail], end)


def _unchanged(old: Sequence[Segment], same: Mapping[int, Segment]) -> dict[int, int]:
    """The positions in the file of what is the same in ``new``, imports aside."""
    index = {id(segment): n for n, segment in enumerate(old)}
    return {n: index[id(segment)] for n, segment in same.items() if not segment.is_import}


def _places(old: Sequence[Segment], new: Sequence[Segment], entry: Entry | None) -> dict[int, int]:
    """For positions in ``new``: the position in the file whose place it takes. What has the same
    form as in the file has none: it is left as it is."""
    index = {id(segment): n for n, segment in enumerate(old)}
    same, named = paired(old, new), by_name(old)
    scripts = [n for n, segment in enumerate(old) if is_script(segment.nodes[0])]
    places: dict[int, int] = {}
    for n, segment in enumerate(new):
        if n in same:
            continue
        found = {index[id(s)] for name in segment.names for s in named.get(name, ())}
        if is_script(segment.nodes[0]):
            found = set(scripts)
        if len(found) > 1:
            raise AnswerError(_ambiguous(segment, [old[at] for at in sorted(found)]))
        if found:
            places[n] = found.pop()
        elif inside := _inside(segment, old):
            raise AnswerError(inside)
    twice = [n for n in places if list(places.values()).count(places[n]) > 1]
    if twice:
        raise AnswerError(f"the fence has `{new[twice[0]].title}` twice: give it once")
    is_known = any(not segment.is_import for segment in same.values())
    if not places and not is_known and not _defines_entry(new, entry):
        raise AnswerError(_foreign(old, new))
    return places


def _ambiguous(segment: Segment, found: Sequence[Segment]) -> str:
    lines = ", ".join(str(one.line) for one in found)
    return (
        f"the fence has `{segment.title}`, which the file has in several places "
        f"(lines {lines}): use SEARCH/REPLACE blocks there"
    )


def _inside(segment: Segment, old: Sequence[Segment]) -> str:
    """Why a definition cannot be placed whose name the file has below its top level; or empty."""
    if segment.definition is None:
        return ""
    name = segment.definition.name
    for other in old:
        inner = [
            node
            for top in other.nodes
            for node in ast.walk(top)
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name
        ]
        for node in inner:
            if other.definition is not None and _first_argument(segment) == "self":
                return (
                    f"{name} is a method of {other.names[0]} (line {node.lineno}): give the whole "
                    "class, or SEARCH/REPLACE blocks"
                )
            if other.definition is None:
                return (
                    f"{name} is defined inside the statement at line {other.line}: use "
                    "SEARCH/REPLACE blocks there"
                )
    return ""


def _first_argument(segment: Segment) -> str:
    definition = segment.definition
    if isinstance(definition, ast.FunctionDef) and definition.args.args:
        return definition.args.args[0].arg
    return ""


def _defines_entry(new: Sequence[Segment], entry: Entry | None) -> bool:
    names = {entry.name, entry.preferred} if entry is not None else set()
    return any(names.intersection(segment.names) for segment in new)


def _foreign(old: Sequence[Segment], new: Sequence[Segment]) -> str:
    theirs = _listed(name for segment in new for name in segment.names)
    ours = _listed(s.definition.name for s in old if s.definition is not None)
    return (
        f"the fence defines {theirs or 'nothing'}, and the file has none of it: change the "
        f"functions of this file ({ours})"
    )


def _listed(names: Iterable[str]) -> str:
    found = list(dict.fromkeys(names))
    more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    return f"{', '.join(found[:_MOST_NAMES])}{more}"


def _after_imports(old: Sequence[Segment]) -> int:
    """Where a new import is put: below the imports at the top of the file."""
    definitions = (n for n, segment in enumerate(old) if segment.definition is not None)
    top = next(definitions, len(old))
    imports = [n for n, segment in enumerate(old[:top]) if segment.is_import]
    texts = [n for n, segment in enumerate(old[:1]) if _is_text(segment)]
    return max([*imports, *texts], default=-1) + 1


def _is_text(segment: Segment) -> bool:
    """Whether it is a string alone, such as the description of a module."""
    return all(
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for node in segment.nodes
    )


def _place_of_new(n: int, places: Mapping[int, int], size: int) -> int:
    following = [place for other, place in sorted(places.items()) if other > n]
    if following:
        return following[0]
    return max(places.values()) + 1 if places else size


def _apart(segment: Segment, end: str) -> str:
    """A new segment with the usual blank lines above it."""
    comments = "".join(line for line in lines_of(segment.before) if line.strip())
    blank = end * 2 if segment.definition is not None else end
    return f"{blank}{comments}{segment.text}"


def _ended_alike(text: str, was: str, end: str) -> str:
    return text if was.endswith(("\n", "\r")) else text.removesuffix(end)


def _joined(pieces: Iterable[str], end: str) -> str:
    """The pieces, each on lines of its own."""
    out = ""
    for piece in filter(None, pieces):
        out += piece if not out or out.endswith(("\n", "\r")) else end + piece
    return out
