"""Finding the YAML of ``knowledge/`` and reading it against a schema.

In a wheel the files lie in ``tilewright/knowledge/data``, in a checkout in ``<repo>/knowledge``;
the environment variable ``TILEWRIGHT_KNOWLEDGE`` names another folder.
"""

import os
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from tilewright.errors import InputError
from tilewright.serialize import load

VARIABLE = "TILEWRIGHT_KNOWLEDGE"
T = TypeVar("T")
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class KnowledgeError(InputError):
    """A file of the knowledge base that cannot be used; names the file, the line and the field."""


@cache
def _shipped_root() -> Path:
    here = Path(__file__).resolve().parent
    places = (here / "data", here.parents[2] / "knowledge")
    for place in places:
        if (place / "taxonomy").is_dir():
            return place
    looked = " and ".join(str(place) for place in places)
    raise KnowledgeError(
        f"the knowledge base is missing (looked in {looked}); reinstall tilewright"
    )


def knowledge_root() -> Path:
    """The folder that holds ``taxonomy/``, ``constraints/`` and ``hardware/``."""
    override = os.environ.get(VARIABLE)
    if not override:
        return _shipped_root()
    root = Path(override)
    if not (root / "taxonomy").is_dir():
        raise KnowledgeError(f"{VARIABLE} names {root}, which has no 'taxonomy' folder; correct it")
    return root


def read_folder(root: Path, folder: str, kind: type[T]) -> tuple[T, ...]:
    """Every ``*.yaml`` of ``root/folder`` as ``kind``, in the order of their names."""
    paths = sorted((root / folder).glob("*.yaml"))
    if not paths:
        raise KnowledgeError(f"no .yaml file in {root / folder}; reinstall tilewright")
    return tuple(read_file(path, kind) for path in paths)


def read_file(path: Path, kind: type[T]) -> T:
    """One YAML file as ``kind``; raises KnowledgeError with the line of the first fault."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise KnowledgeError(f"it cannot be read: {problem}", str(path)) from None
    try:
        data = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else None
        raise KnowledgeError(f"this is not YAML: {problem.problem}", str(path), line) from None
    if not isinstance(data, dict):
        found = "it is empty" if data is None else f"it holds a {type(data).__name__}"
        raise KnowledgeError(f"{found}; fields are needed, such as 'name: value'", str(path), 1)
    try:
        value: T = load(kind, data)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        line = _line_of(text, first["loc"])
        raise KnowledgeError(f"{where}: {first['msg']}", str(path), line) from None
    return value


def _line_of(text: str, place: tuple[int | str, ...]) -> int | None:
    """The 1-based line of the innermost part of ``place`` that the document has."""
    node = yaml.compose(text, Loader=_Loader)
    for part in place:
        child = _child(node, part)
        if child is None:
            break
        node = child
    return None if node is None else node.start_mark.line + 1


def _child(node: yaml.Node | None, part: int | str) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part]  # type: ignore[no-any-return]
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == str(part)), None)
    return None
