"""Where a candidate's text is put: it finds what the user's file finds."""

from pathlib import Path

from tilewright.evaluation.workbench import place_source


def test_a_member_of_a_package_stands_in_that_package(tmp_path: Path) -> None:
    ops = tmp_path / "root" / "mine" / "ops"
    ops.mkdir(parents=True)
    (tmp_path / "root" / "unrelated.py").write_text("")
    for init in (ops, ops.parent):
        (init / "__init__.py").write_text("")
    (ops.parent / "consts.py").write_text("FACTOR = 2\n")
    (ops / "helpers.py").write_text("")
    (ops / "kernel.py").write_text("old")

    placed = place_source(ops / "kernel.py", "new", tmp_path / "placed")

    assert placed == tmp_path / "placed" / "mine" / "ops" / "kernel.py"
    assert placed.read_text() == "new"
    assert (placed.parent.parent / "consts.py").read_text() == "FACTOR = 2\n"
    assert {p.name for p in placed.parent.iterdir()} == {"__init__.py", "helpers.py", "kernel.py"}
    assert not (tmp_path / "placed" / "unrelated.py").exists()
    assert (ops / "kernel.py").read_text() == "old"


def test_a_file_in_no_package_has_its_neighbours(tmp_path: Path) -> None:
    user = tmp_path / "user"
    user.mkdir()
    (user / "helpers.py").write_text("")
    (user / "notes.txt").write_text("")
    (user / "kernel.py").write_text("old")
    placed = place_source(user / "kernel.py", "new", tmp_path / "placed")
    assert placed == tmp_path / "placed" / "kernel.py"
    assert {p.name for p in placed.parent.iterdir()} == {"helpers.py", "kernel.py"}
