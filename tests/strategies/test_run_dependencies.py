"""A run has on record what its verdicts depend on outside the file."""

from pathlib import Path

from tilewright.evaluation.surroundings import surroundings
from tilewright.store.store import Store
from tilewright.strategies.observer import Silent
from tilewright.strategies.optimize import OptimizeRequest, optimize
from tilewright.strategies.recorded import recorded_texts

TEXT = """\
from helper import SIZE
import triton
import triton.language as tl

@triton.jit
def fill_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, 1.0, mask=offs < n)

def fill(x):
    fill_kernel[(1,)](x, x.numel(), BLOCK=SIZE)
"""


def test_the_files_that_a_text_imports_are_on_record(tmp_path: Path) -> None:
    helper, source = tmp_path / "helper.py", tmp_path / "fill.py"
    helper.write_text("SIZE = 64\n")
    source.write_text(TEXT)
    store = Store(tmp_path / "runs.sqlite")
    optimize(OptimizeRequest(source, TEXT, None, None, 1), None, store, Silent())
    records = store.records
    (record,) = records.runs()
    around = recorded_texts(records, record)["around"]
    store.close()
    assert list(around) == [str(helper)]
    assert around == surroundings(TEXT, str(source))
    helper.write_text("SIZE = 32\n")
    assert around != surroundings(TEXT, str(source))
