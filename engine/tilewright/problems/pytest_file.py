"""A pytest file as a problem: ``problem: {pytest: FILE}`` or ``FILE::TEST`` in a spec.

What the tests call of the file under test is what it is run on; that they pass is asked as well.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from tilewright.errors import InputError
from tilewright.problems.model import PytestFile
from tilewright.problems.nodes import SpecNode, unreadable
from tilewright.textfile import python_text

_KEYS = frozenset({"pytest"})
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
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            found[node.name] = node.lineno
        if isinstance(node, ast.ClassDef) and _has_tests(node):
            inner = [one for one in node.body if isinstance(one, ast.FunctionDef)]
            methods = {
                f"{node.name}::{one.name}": one.lineno
                for one in inner
                if one.name.startswith("test")
            }
            found |= {node.name: node.lineno, **methods} if methods else {}
    return found


def _has_tests(node: ast.ClassDef) -> bool:
    """Whether pytest looks for tests in a class: one named so, or one of unittest's."""
    bases = (ast.unparse(base).rpartition(".")[2] for base in node.bases)
    return node.name.startswith("Test") or any(base.endswith("TestCase") for base in bases)


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
