"""A file that takes its process along, or that does not import, is a result beside the others."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("triton")

from agreement import FileReport
from loading import without_device
from processes import report_files
from triton.runtime.driver import driver

pytestmark = pytest.mark.triton

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + places, tl.load(x_ptr + places, mask=places < n), mask=places < n)
"""
FILES = {
    "whole": KERNEL,
    "leaves": f"{KERNEL}\nimport os\nos._exit(3)\n",
    "lacks": f"import a_library_of_a_vendor\n{KERNEL}\nconfigs = a_library_of_a_vendor.configs()\n",
    "wrong": KERNEL.replace("tl.load", "tl.no_such_thing"),
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FileReport]:
    root = tmp_path_factory.mktemp("corpus")
    package = root / "some_kernels"
    package.mkdir()
    for name, text in FILES.items():
        (package / f"{name}.py").write_text(text)
    home = tmp_path_factory.mktemp("home")
    with without_device(root, home):
        paths = sorted(package.glob("*.py"))
        return {Path(r.file).stem: r for r in report_files(root, paths, workers=1)}


def test_a_kernel_is_built_in_two_specializations(reports: dict[str, FileReport]) -> None:
    whole = reports["whole"]
    assert (whole.kernels, whole.specializations, whole.failed) == (1, 2, [])
    assert whole.tallies.kernels.equal("shape") == 1
    assert whole.tallies.kernels.count("shape") > 10


def test_a_process_that_ends_is_a_result(reports: dict[str, FileReport]) -> None:
    assert [f.reason for f in reports["leaves"].failed] == ["the process ended with 3"]


def test_what_a_file_lacks_does_not_keep_its_kernels_from_being_built(
    reports: dict[str, FileReport],
) -> None:
    assert reports["lacks"].kernels == 1


def test_what_the_compiler_refuses_is_told(reports: dict[str, FileReport]) -> None:
    (failed,) = reports["wrong"].failed
    assert failed.kernel == "copy"
    assert "no_such_thing" in failed.reason


def test_what_is_pretended_is_taken_back(reports: dict[str, FileReport]) -> None:
    assert "GEMS_VENDOR" not in os.environ
    assert not isinstance(driver._active, SimpleNamespace)
