"""Texts that users read are plain technical English: no private words, no personification."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from house_modules import ROOT, SourceModule, all_modules

# Each with the plain words that replace it in CONTRIBUTING.md.
_WORDS = (
    r"told|mend(s|ed|ing)?|heard|hears|beside|besides|nobody|somebody|anybody|whoever|nowhere"
    r"|held against|hold(s|ing)? (it|them|that|this) against|need not|as far as"
    r"|makes? of (it|them|what)|stands? (there|here|in between|beside)|as (it|they) stands?"
    r"|(no machine|nothing|cannot|only \w+) tells?|tells? nothing|says? nothing|what stands"
    r"|performers?|zygotes?|(the|a) judge|verify anew|made? anew|make room"
    r"|(each|every|another|last) turn|turns? of (the|a|one) loop|come to nothing"
    r"|(handed|hands) (on|over)|taken up|held side by side|way out"
)
DIALECT = re.compile(rf"\b({_WORDS})\b", re.IGNORECASE)
# Tables of results: written from recorded messages and the texts of kernels.
_GENERATED = {"compile-table.md", "honesty.md", "recall.md", "precision.md"}
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "vscode-extension/README.md")),
    ROOT / "benchmarks" / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in _GENERATED),
    *sorted((ROOT / "engine" / "tilewright" / "agents" / "templates").glob("*.j2")),
]
KNOWLEDGE = sorted((ROOT / "knowledge").rglob("*.yaml"))


def dialect(text: str) -> list[str]:
    """The words of a text that the house does not use."""
    return [found[0] for found in DIALECT.finditer(text)]


def messages(module: SourceModule) -> Iterator[tuple[int, str]]:
    """The string literals of a module that hold a sentence, with their lines; no docstrings."""
    alone = {id(node.value) for node in module.nodes if isinstance(node, ast.Expr)}
    for node in module.nodes:
        if not isinstance(node, ast.Constant) or id(node) in alone:
            continue
        if isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


@pytest.mark.parametrize(
    "text", ["nobody has run it", "it was held against one chip", "Mend it", "the judge's clock"]
)
def test_the_private_words_are_found(text: str) -> None:
    assert dialect(text)


def test_plain_text_is_left_alone() -> None:
    assert dialect("The kernel differs from the reference; amend the spec or recommend one.") == []


def test_messages_of_engine_and_server() -> None:
    found = [
        f"{module.place}:{line}: {word}"
        for module in all_modules()
        for line, text in messages(module)
        for word in dialect(text)
    ]
    assert found == []


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


def test_the_knowledge_base() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {word} in {text[:60]!r}"
        for path in KNOWLEDGE
        for text in _texts(yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader))
        for word in dialect(text)
    ]
    assert found == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [f"{n}: {word}" for n, line in enumerate(lines, 1) for word in dialect(line)]
    assert found == []


def test_what_the_extension_shows() -> None:
    extension = ROOT / "vscode-extension"
    shown = [extension / "package.json", *sorted((extension / "src").rglob("*.ts"))]
    found = []
    for path in shown:
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.lstrip().startswith(("//", "*", "/*")):
                code = re.sub(r"\$\{[^}]*\}", "", line)
                quoted = re.findall(r"\"[^\"]*\"|`[^`]*`|'[^']*'", code)
                found += [f"{path.name}:{n}: {word}" for text in quoted for word in dialect(text)]
    assert found == []


def test_what_modules_say_of_themselves() -> None:
    """The first line of a module's docstring names what the module holds."""
    found = []
    for module in all_modules():
        first, *_ = (ast.get_docstring(module.tree) or "").split("\n")
        found += [f"{module.place}: {word}" for word in dialect(first)]
    assert found == []
