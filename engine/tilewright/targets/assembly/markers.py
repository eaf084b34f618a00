"""A stage's text with a comment wherever the source line changes."""

from collections.abc import Iterator

from tilewright.targets.assembly.places import lines_of

_COMMENT = {"llir": ";", "amdgcn": ";", "spirv": ";"}


def with_markers(stage: str, text: str, source: str, source_text: str) -> str:
    """The text, marked with the user's lines that it comes from.

    Args:
        source: the user's file, named as in the text.
        source_text: what is in it.
    """
    return "\n".join(_marked(stage, text, source, source_text.splitlines())) + "\n"


def _marked(stage: str, text: str, source: str, of: list[str]) -> Iterator[str]:
    known = lines_of(stage, text, source)
    comment = _COMMENT.get(stage, "//")
    last: int | None = None
    for at, line in enumerate(text.splitlines(), 1):
        number = known.get(at)
        if number is not None and number != last:
            said = of[number - 1].strip() if number <= len(of) else ""
            yield f"{comment} {source}:{number}: {said}".rstrip()
            last = number
        yield line
