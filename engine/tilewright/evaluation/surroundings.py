"""What a run's verdict depends on outside its file: the problem, captured launches, imported files.

Each with a hash of what it says. A run has them on record, and the editor puts a result into a text
only while all of it is as it was when the run began. Seen are the modules that the verified
statements name, and what those import in turn; not what lies in the interpreter's own packages, nor
imports by names made at run time.
"""

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tilewright.errors import InputError
from tilewright.python_syntax import parse
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.textfile import utf8_text

_MOST_FILES = 200
_LARGEST = 4 * 1024 * 1024
_Import = ast.Import | ast.ImportFrom


def surroundings(text: str, path: str) -> Mapping[str, str]:
    """Hashes by path; reads files, so it is called off the event loop."""
    source = Path(path)
    module = parse_module(text, path)
    return {**_problem(source), **_captured(module, source), **_imported(module, source)}


def changed_around(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the files that say something else now, are gone or are new."""
    names = dict.fromkeys((*before, *now))
    return tuple(Path(name).name for name in names if before.get(name) != now.get(name))


def problem_changed(before: str, path: str) -> str | None:
    """The name of the spec next to a file where it is no longer that of a hash; reads files."""
    from tilewright.problems.loading import problem_or_flaw

    problem, flaw = problem_or_flaw(Path(path))
    if problem is not None and flaw is None and problem.content_hash == before:
        return None
    place = flaw.path if flaw is not None else problem.path if problem is not None else None
    return Path(place).name if place else "the spec"


def roots_of(module: Module, entry: str | None = None) -> tuple[str, ...]:
    """What a run's verdict begins from: the problem's entry point, the kernels and what launches
    them."""
    kernels = [kernel.name for kernel in module.kernels]
    lines = [launch.range.line for launch in module.launches]
    hosts = [
        name
        for name, node in module.host_functions.items()
        if any(node.lineno <= line <= (node.end_lineno or node.lineno) for line in lines)
    ]
    return tuple(dict.fromkeys([*([entry] if entry else []), *kernels, *hosts]))


def wide_roots_of(module: Module) -> tuple[str, ...]:
    """Where the entry point is not known: also all host code that comes to a launch by calls."""
    found = dict.fromkeys(name.partition(".")[0] for name in roots_of(module))
    uses = [
        (name.partition(".")[0], {n.id for n in ast.walk(node) if isinstance(n, ast.Name)})
        for name, node in module.host_functions.items()
    ]
    while more := [name for name, used in uses if name not in found and used & found.keys()]:
        found.update(dict.fromkeys(more))
    return tuple(found)


def _problem(source: Path) -> Mapping[str, str]:
    """The spec with what it names; a problem within the file is compared with the file."""
    from tilewright.problems.loading import problem_or_flaw

    problem, flaw = problem_or_flaw(source)
    if flaw is not None:
        return {flaw.path or str(source): f"cannot be used: {flaw.message}"}
    if problem is None or Path(problem.path) == source:
        return {}
    return {problem.path: problem.content_hash}


def _captured(module: Module, source: Path) -> Mapping[str, str]:
    from tilewright.captures.problem import project_captures

    folder = project_captures(source)
    if folder is None:
        return {}
    plain = {re.sub(r"\W+", "_", kernel.name) for kernel in module.kernels}
    places = {place for name in plain for place in folder.glob(f"{name}-*.json")}
    return {str(place): _hash(place.read_bytes()) for place in sorted(places)}


def _imported(module: Module, source: Path) -> Mapping[str, str]:
    found: dict[str, str] = {}
    waiting = list(_named(_used_imports(module), source))
    while waiting and len(found) < _MOST_FILES:
        place = waiting.pop()
        if str(place) in found or place == source:
            continue
        try:
            text = utf8_text(place, _LARGEST)
        except InputError as error:
            found[str(place)] = f"cannot be read: {error.message}"
            continue
        found[str(place)] = _hash(text.encode(errors="replace"))
        if place.name != "__init__.py":  # a package brings all of its modules, used or not
            waiting += _named(_imports(text), place)
    return found


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _used_imports(module: Module) -> Iterator[_Import]:
    """The imports whose names stand in what is verified; those without names count as well."""
    from tilewright.certificates.parts import reached

    ranges = [one.range for one in reached(module, wide_roots_of(module)).parts]
    statements = [
        node
        for node in module.tree.body
        if any(place.line <= node.lineno <= place.end_line for place in ranges)
    ]
    used = {n.id for one in statements for n in ast.walk(one) if isinstance(n, ast.Name)}
    for node in module.tree.body:
        if isinstance(node, _Import):
            names = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            if names & {*used, "*"}:
                yield node
    for one in statements:
        yield from (node for node in ast.walk(one) if isinstance(node, _Import))


def _imports(text: str) -> Iterator[_Import]:
    try:
        tree = parse(text)
    except (SyntaxError, ValueError):
        return
    yield from (node for node in ast.walk(tree) if isinstance(node, _Import))


def _named(imports: Iterable[_Import], source: Path) -> Iterator[Path]:
    """The files that imports stand for, of those below the folders that a file imports from."""
    for node in imports:
        if isinstance(node, ast.Import):
            names, level = [alias.name for alias in node.names], 0
        else:
            origin, level = node.module or "", node.level
            names = [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
        for folder in _folders(source, level):
            for name in names:
                yield from _files(folder, name.strip("."))


def _folders(source: Path, level: int) -> tuple[Path, ...]:
    if level:
        return tuple(source.parents[level - 1 : level])
    root = source.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    return tuple(dict.fromkeys((source.parent, root)))


def _files(folder: Path, name: str) -> Iterator[Path]:
    if not name:
        return
    place = folder.joinpath(*name.split("."))
    for found in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
        if found.is_file():
            yield found
