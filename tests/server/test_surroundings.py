"""What a verdict depends on outside its file is known by hashes of what it says."""

from pathlib import Path

from conversation import KERNEL

from tilewright.evaluation.surroundings import changed_around, surroundings

SPEC = """\
entry: dot
inputs:
  a: {shape: [N, N], dtype: float32}
  b: {shape: [N, N], dtype: float32}
  c: {shape: [N, N], dtype: float32}
ci:
  - params: [a, b, c]
    dims: {N: 64}
"""
TEXT = "import os\nfrom helper import SIZE\nimport unused\n" + KERNEL.format(
    engine="improve"
).replace(", 64,", ", SIZE,")


def _project(folder: Path) -> Path:
    source = folder / "kernel.py"
    source.write_text(TEXT)
    (folder / "kernel.yaml").write_text(SPEC)
    (folder / "helper.py").write_text("from deeper import SIZE\n")
    (folder / "deeper.py").write_text("SIZE = 64\n")
    (folder / "unused.py").write_text("X = 1\n")
    return source


def _changed(folder: Path, name: str, text: str) -> tuple[str, ...]:
    source = _project(folder)
    before = surroundings(TEXT, str(source))
    (folder / name).write_text(text)
    return changed_around(before, surroundings(TEXT, str(source)))


def test_the_spec_and_what_the_kernel_imports_count(tmp_path: Path) -> None:
    assert _changed(tmp_path, "kernel.yaml", SPEC.replace("64", "32")) == ("kernel.yaml",)
    assert _changed(tmp_path, "helper.py", "SIZE = 32\n") == ("helper.py", "deeper.py")
    assert _changed(tmp_path, "deeper.py", "SIZE = 32\n") == ("deeper.py",)


def test_what_nothing_of_the_kernel_uses_does_not_count(tmp_path: Path) -> None:
    assert _changed(tmp_path, "unused.py", "X = 2\n") == ()
    assert _changed(tmp_path, "other.py", "Y = 2\n") == ()


def test_a_spec_that_can_no_longer_be_used_has_changed(tmp_path: Path) -> None:
    assert _changed(tmp_path, "kernel.yaml", "inputs: {}\nci: 3\n") == ("kernel.yaml",)


def test_imports_relative_to_a_package_are_found(tmp_path: Path) -> None:
    package = tmp_path / "ops"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "sizes.py").write_text("SIZE = 1\n")
    text = TEXT.replace("from helper import SIZE", "from .sizes import SIZE")
    found = surroundings(text, str(package / "kernel.py"))
    assert [Path(place).name for place in found] == ["sizes.py"]
