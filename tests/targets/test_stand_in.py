"""Importing files whose libraries are not here."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tilewright.worker.loading.stub_modules import Absent, load_module
from tilewright.worker.protocol import JobError

pytestmark = pytest.mark.triton

ANSWERS = {"nolib.__version__": "2.5.1", "nolib.gpu.count()": 0, "nolib.version.hip": None}


@pytest.fixture(autouse=True)
def _own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def load(folder: Path, text: str) -> tuple[Any, list[str]]:
    path = folder / "kernel.py"
    path.write_text(text)
    return load_module(str(path), ANSWERS)


def test_names_resolve_and_answers_are_given(tmp_path: Path) -> None:
    module, absent = load(
        tmp_path,
        "import nolib\nimport nolib.deep.deeper as d\nfrom nolib.ops import custom\n"
        "version = nolib.__version__\ncount = nolib.gpu.count()\nhip = nolib.version.hip\n"
        "table = {nolib.half: 1}[nolib.half] if False else d.thing(1, key=2)\n",
    )
    assert absent == ["nolib"]
    assert (module.version, module.count, module.hip) == ("2.5.1", 0, None)
    assert isinstance(module.custom, Absent)
    assert repr(module.table) == "<nolib.deep.deeper.thing(…), not installed here>"
    assert "nolib" not in sys.modules


def test_classes_can_be_derived_and_have_what_they_inherit(tmp_path: Path) -> None:
    module, _ = load(
        tmp_path,
        "import nolib\n"
        "class Layer(nolib.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.weight = nolib.empty(3)\n"
        "class Both(nolib.Function, nolib.Mixin): pass\n"
        "apply = Both.apply\nlayer = Layer()\n",
    )
    assert isinstance(module.apply, Absent)
    assert isinstance(module.layer.weight, Absent)


def test_an_import_that_is_guarded_fails_as_it_would(tmp_path: Path) -> None:
    module, absent = load(
        tmp_path, "try:\n    import nolib\nexcept ImportError:\n    nolib = None\n"
    )
    assert absent == []
    assert module.nolib is None


@pytest.mark.parametrize(
    "use",
    ["int(nolib.x)", "if nolib.x: pass", "[i for i in nolib.x]", "nolib.x < 2", "len(nolib.x)"],
)
def test_a_real_value_is_not_made_up(tmp_path: Path, use: str) -> None:
    with pytest.raises(
        JobError, match=r"value of nolib\.x is needed, .* has no nolib .* into a function"
    ):
        load(tmp_path, f"import nolib\n{use}\n")


def test_a_missing_part_of_triton_is_not_stood_in_for(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    with pytest.raises(ModuleNotFoundError, match=r"triton\.no_such_part"):
        load(tmp_path, "import triton.no_such_part\n")
