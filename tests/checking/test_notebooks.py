"""Notebooks: every format says the cell and the line in it."""

import json
from pathlib import Path

import pytest

from tilewright.analysis import AnalysisContext
from tilewright.checking import check_text
from tilewright.checking.annotations import annotations
from tilewright.checking.configuration import default_configuration
from tilewright.checking.present import as_json, as_lines
from tilewright.checking.sarif import sarif
from tilewright.errors import InputError
from tilewright.source.notebook import in_cells

KERNEL = """\
%%time
@triton.jit
def fill(x_ptr):
    tl.store(x_ptr + tl.arange(0, 48), 0)
"""
CELLS = [
    ("markdown", "# Kernels"),
    ("code", "!pip install triton\nimport triton\nimport triton.language as tl\n"),
    ("code", KERNEL),
    ("code", "broken = ("),
]
RULES = default_configuration().rules


def notebook() -> str:
    cells = [
        {"cell_type": kind, "source": text.splitlines(keepends=True), "metadata": {}}
        for kind, text in CELLS
    ]
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})


def test_places_are_those_of_cells() -> None:
    checked = check_text(notebook(), "a.ipynb", RULES, AnalysisContext())
    (issue,) = as_json(checked)["issues"]
    assert (issue["id"], issue["cell"], issue["line"]) == ("non_power_of_two_arange", 3, 4)
    lines = list(as_lines(checked))
    assert lines[0].startswith("a.ipynb:cell 4:1:")
    assert lines[1].startswith("a.ipynb:cell 3:4:22: error: non_power_of_two_arange")
    assert any("::cell 3, line 4: " in line for line in annotations(checked))
    (run,) = sarif([checked], Path.cwd())["runs"]
    assert run["results"][0]["message"]["text"].startswith("cell 3, line 4: ")
    assert "region" not in run["results"][0]["locations"][0]["physicalLocation"]


def test_lines_that_a_message_names_are_those_of_cells() -> None:
    def said(message: str) -> str:
        return in_cells(message, 12, (1, 10, 20))

    assert said("The load on line 11 masks 64 of 100.") == "The load on line 2 masks 64 of 100."
    assert said("lines 12 to 14, and this") == "lines 3 to 5, and this"
    assert said("line 9, and line 21") == "line 9 of an earlier cell, and line 2 of a later cell"
    assert said("an outline 12 lines long") == "an outline 12 lines long"


def test_what_is_no_notebook_is_said() -> None:
    with pytest.raises(InputError, match=r"a\.ipynb:1: this notebook is not JSON"):
        check_text("nonsense", "a.ipynb", RULES, AnalysisContext())
