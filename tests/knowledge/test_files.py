"""Where the knowledge base is found, and what is said of a file that cannot be used."""

import shutil
from pathlib import Path

import pytest

from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.files import KnowledgeError, knowledge_root

ENTRY = """\
issues:
  - id: house_rule
    stage: fusion
    severity: 2
    title: A rule of the house
    summary: This breaks a rule of the house.
    why: So it is.
    fix: Do not.
    numerics: exact
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A knowledge base of one's own, named by the environment."""
    root = tmp_path / "knowledge"
    shutil.copytree(knowledge_root(), root)
    monkeypatch.setenv("TILEWRIGHT_KNOWLEDGE", str(root))
    return root


def test_an_entry_is_added_without_touching_python(own: Path) -> None:
    (own / "taxonomy" / "house.yaml").write_text(ENTRY)
    assert taxonomy()["house_rule"].severity == 2


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (ENTRY.replace("severity: 2", "severity: 9"), 4, "issues.0.severity"),
        (ENTRY.replace("stage: fusion", "stage: fusing"), 3, "issues.0.stage"),
        (ENTRY + "    colour: red\n", 10, "issues.0.colour"),
        (ENTRY.replace("    title: A rule of the house\n", ""), 2, "issues.0.title"),
        (ENTRY.replace("house_rule", "House Rule"), 2, "issues.0.id"),
        (ENTRY + "    applies_to: {triton: new}\n", 10, "applies_to.triton"),
        ("issues: [\n", 2, "this is not YAML"),
        ("- a\n", 1, ""),
    ],
)
def test_a_fault_names_file_line_and_field(own: Path, text: str, line: int, said: str) -> None:
    path = own / "taxonomy" / "house.yaml"
    path.write_text(text)
    with pytest.raises(KnowledgeError) as caught:
        taxonomy()
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert said in caught.value.message


def test_an_id_used_twice(own: Path) -> None:
    (own / "taxonomy" / "house.yaml").write_text(ENTRY.replace("house_rule", "open_ended"))
    with pytest.raises(KnowledgeError, match="'open_ended' is used twice"):
        taxonomy()


def test_a_folder_that_is_no_knowledge_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_KNOWLEDGE", str(tmp_path))
    with pytest.raises(KnowledgeError, match="no 'taxonomy' folder"):
        taxonomy()
