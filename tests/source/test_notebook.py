"""Kernels in notebooks, and places in their cells."""

import json

import pytest
from each import examples
from hypothesis import given
from hypothesis import strategies as st

from tilewright.errors import InputError
from tilewright.source.notebook import notebook_module, python_of_cell

KERNEL = """\
@triton.jit
def scale(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, 2.0, mask=offs < n)"""


def notebook(*cells: str | tuple[str, str]) -> str:
    """A notebook as Jupyter writes it; a pair is a cell of another type."""
    written = []
    for cell in cells:
        kind, source = ("code", cell) if isinstance(cell, str) else cell
        lines = source.splitlines(keepends=True)
        written.append({"cell_type": kind, "metadata": {}, "source": lines, "outputs": []})
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": written})


def test_kernels_and_launches_across_cells() -> None:
    text = notebook(
        ("markdown", "# Scaling"),
        "%load_ext autoreload\nimport torch, triton\nimport triton.language as tl",
        KERNEL,
        ("markdown", "Launch it:"),
        "x = torch.ones(8)\nscale[(1,)](x, 8, BLOCK=8)",
    )
    module, cells = notebook_module(text, "scale.ipynb")
    assert module.problems == ()
    (kernel,) = module.kernels
    assert kernel.text == KERNEL
    assert cells.place(kernel.range.line) == (2, 1)
    assert cells.place(kernel.range.end_line) == (2, 4)
    (launch,) = module.launches
    assert cells.place(launch.range.line) == (4, 2)
    assert cells.line(4, 2) == launch.range.line


def test_a_broken_cell_hides_no_other() -> None:
    text = notebook(
        "import triton\nimport triton.language as tl",
        "def broken(:\n    return (",
        KERNEL,
        'print("""not closed',
        "scale[(1,)](x, 8, BLOCK=8)",
    )
    module, cells = notebook_module(text, "broken.ipynb")
    assert [kernel.name for kernel in module.kernels] == ["scale"]
    assert len(module.launches) == 1
    broken = {place[0] for p in module.problems if (place := cells.place(p.range.line))}
    assert broken == {1, 3}


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("!pip install triton\nx = 1", "pass\nx = 1"),
        ("%matplotlib inline", "pass"),
        ("files = !ls -l\ny = 2", "pass\ny = 2"),
        ("out = %timeit -o f()", "pass"),
        ("scale?\nz = 1", "pass\nz = 1"),
        ("if fast:\n    !nvidia-smi\nz = 1", "if fast:\n    pass\nz = 1"),
        ("%%time\nscale[(1,)](x)", "\nscale[(1,)](x)"),
        ("%%bash\nfor f in *; do\n  echo $f\ndone", "\n\n\n"),
        ("\n%%html\n<b>", "\n\n"),
        ("x = (a\n  %b)\ns = '''\n!text\n'''", "x = (a\n  %b)\ns = '''\n!text\n'''"),
        ("", ""),
    ],
)
def test_what_only_ipython_understands(cell: str, python: str) -> None:
    assert python_of_cell(cell) == python


def test_older_notebooks() -> None:
    cell = {"cell_type": "code", "input": ["import triton\n", "@triton.jit\n", "def k(x): pass"]}
    text = json.dumps({"nbformat": 3, "worksheets": [{"cells": [cell]}]})
    module, cells = notebook_module(text, "old.ipynb")
    assert [kernel.name for kernel in module.kernels] == ["k"]
    assert cells.place(3) == (0, 3)
    assert cells.place(4) is None
    assert cells.line(0, 4) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"cells": [', "nb.ipynb:1: this notebook is not JSON"),
        ("[]", "nb.ipynb: this JSON has no cells"),
        ('{"cells": 3}', "nb.ipynb: this JSON has no cells"),
        ('{"cells": [{"cell_type": "code", "source": 3}]}', "the source of cell 0 is no text"),
        ("[" * 100_000, "nb.ipynb"),
    ],
)
def test_what_is_no_notebook_is_said_with_a_way_out(text: str, says: str) -> None:
    with pytest.raises(InputError, match=r"jupyter nbconvert") as raised:
        notebook_module(text, "nb.ipynb")
    assert says in str(raised.value)


@examples(60)
@given(st.lists(st.text(alphabet="ab(:\n\r'\"%! é\0=", max_size=30), max_size=5))
def test_every_line_of_every_cell_has_a_place(sources: list[str]) -> None:
    cells = [{"cell_type": "code", "source": source} for source in sources]
    module, places = notebook_module(json.dumps({"cells": cells}), "any.ipynb")
    back = [places.place(line) for line in range(1, len(module.index.lines) + 1)]
    if sources:
        assert None not in back
    for line, place in enumerate(back, 1):
        assert place is None or places.line(*place) == line
