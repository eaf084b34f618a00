"""A pytest file as a problem: ``problem: {pytest: FILE}`` or ``FILE::TEST`` in a spec.

What the tests call of the file under test is what it is run on; that they pass is asked as well.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from tilewright.errors import InputError
from tilewright.problems.model import PytestFile
from tilewright.problems.nodes import SpecNode, unreadable
from tilewright.textfile import python_text

_KEYS = frozenset({"pytest"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_OUTERMOST = ("pyproject.toml", ".git", "setup.py", "setup.cfg", "pytest.ini", "tox.ini")
Fail = Callable[[str], NoReturn]


def named_in(root: SpecNode) -> PytestFile | None:
    """The tests that a spec names under ``problem``; raises ProblemError at what is wrong there."""
    node = root.fields("the spec").get("problem") if root.is_mapping else None
    if node is None:
        return None
    fields = node.fields("'problem'")
    unknown = next((key for key in fields if key not in _KEYS), None)
    if unknown is not None:
        fields[unknown].fail(f"unknown key '{unknown}' in 'problem'; known: pytest")
    if "pytest" not in fields:
        node.fail("'problem' needs 'pytest': a file of tests, or FILE::TEST")
    at = fields["pytest"]
    return pytest_file(at.word("'pytest'"), Path(root.path).parent, at.fail)


def pytest_file(named: str, folder: Path, fail: Fail) -> PytestFile:
    """What ``FILE`` or ``FILE::TEST`` names below a folder; ``fail`` raises what is wrong."""
    name, _, test = named.partition("::")
    path = (folder / name).absolute()
    if not path.is_file():
        fail(f"there is no file of tests {path}; the path is relative to the spec")
    text = _text(path)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        fail(f"{path}:{error.lineno} is not Python ({error.msg}), so it has no tests")
    known = _tests(tree)
    plain = test.partition("[")[0]
    if test and plain not in known:
        fail(f"{path} has no test '{plain}'; it has {', '.join(known) or 'none'}")
    if not known:
        fail(f"{path} has no test; a test is a function whose name begins with test")
    conftests = _conftests(path)
    texts = [_text(one) for one in conftests]
    line = known[plain] if test else 1
    return PytestFile(str(path), test, line, tuple(map(str, conftests)), "\0".join([text, *texts]))


def _text(path: Path) -> str:
    try:
        return python_text(path)
    except InputError as error:
        raise unreadable(error) from None


def _tests(tree: ast.Module) -> dict[str, int]:
    """Names of tests, of classes and of their methods, with their lines."""
    found: dict[str, int] = {}
    classes: dict[str, ast.ClassDef] = {}
    for node in _statements(tree.body):
        if isinstance(node, _FUNCTIONS) and node.name.startswith("test"):
            found[node.name] = node.lineno
        if isinstance(node, ast.ClassDef):
            classes[node.name] = node
    for node in classes.values():
        family = _family(node, classes)
        if node.name.startswith("Test") or any(map(_is_of_unittest, family)):
            methods = _methods(family)
            found |= {node.name: node.lineno} if methods else {}
            found |= {f"{node.name}::{name}": line for name, line in methods.items()}
    return found


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a file or class, those under ``if``, ``try`` and ``with`` included."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            handlers = node.handlers if isinstance(node, ast.Try) else []
            inner = (one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt))
            yield from _statements([*inner, *(one for each in handlers for one in each.body)])


def _family(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> list[ast.ClassDef]:
    """A class and those of the file that it inherits from, the nearest first."""
    found: list[ast.ClassDef] = []
    waiting = [node]
    while waiting:
        one = waiting.pop(0)
        if one not in found:
            found.append(one)
            names = (base.id for base in one.bases if isinstance(base, ast.Name))
            waiting += [classes[name] for name in names if name in classes]
    return found


def _methods(family: Sequence[ast.ClassDef]) -> dict[str, int]:
    """Tests of a class by name, those that it inherits included, with their lines."""
    found: dict[str, int] = {}
    for one in family:
        for method in _statements(one.body):
            if isinstance(method, _FUNCTIONS) and method.name.startswith("test"):
                found.setdefault(method.name, method.lineno)
    return found


def _is_of_unittest(node: ast.ClassDef) -> bool:
    """Whether pytest looks for tests in a class whatever its name."""
    return any(ast.unparse(base).endswith("TestCase") for base in node.bases)


def _conftests(path: Path) -> list[Path]:
    """Next to the tests and in the folders above, as far as the project goes."""
    found = []
    for folder in path.parents:
        conftest = folder / "conftest.py"
        if conftest.is_file():
            found.append(conftest)
        if any((folder / name).exists() for name in _OUTERMOST):
            return found[::-1]
    return [one for one in found if one.parent == path.parent]
