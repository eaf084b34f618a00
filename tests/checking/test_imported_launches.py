"""Launches of kernels that another file of the project defines."""

from pathlib import Path

import pytest

from tilewright.analysis.model import AnalysisContext
from tilewright.checking import check_text
from tilewright.checking.checked import Checked
from tilewright.checking.configuration import Rules, default_configuration
from tilewright.checking.imported_launches import with_imported_launches

KERNELS = """
import triton
import triton.language as tl

WIDTHS = (128, 256)

def configs():
    return [triton.Config({"BLOCK": width}) for width in WIDTHS]

@triton.jit
def scaled(values, factor):
    return values * factor

@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(y_ptr + offs, scaled(tl.load(x_ptr + offs, mask=mask), 2), mask=mask)

@triton.autotune(configs=configs(), key=["n"])
@triton.jit
def tuned(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(y_ptr + offs, scaled(tl.load(x_ptr + offs, mask=mask), 2), mask=mask)
"""
RIGHT = """
from .kernels import scale, tuned

def host(x, y):
    scale[(x.numel() // 128,)](x, y, x.numel(), BLOCK=128)
    tuned[lambda meta: (x.numel() // meta["BLOCK"],)](x, y, x.numel())
"""


def _rules(path: Path) -> Rules:
    return default_configuration().rules_for(path)


def _checked(path: Path) -> Checked:
    return check_text(path.read_text(), str(path), _rules(path), AnalysisContext())


def _found(package: Path, host: str, kernels: str = KERNELS) -> list[tuple[str, int, str]]:
    """What the launches of a host file show, with a kernel file beside it."""
    for name, text in (("__init__", ""), ("kernels", kernels), ("host", host)):
        (package / f"{name}.py").write_text(text)
    alone = [_checked(package / f"{name}.py") for name in ("kernels", "host")]
    both = with_imported_launches(alone, _rules)
    assert both[0] == alone[0]
    before = {(issue.id, issue.range) for issue in alone[1].issues}
    return [
        (issue.id, issue.range.line, issue.message)
        for issue in both[1].issues
        if (issue.id, issue.range) not in before
    ]


def test_launches_that_fit_the_kernel_are_not_reported(tmp_path: Path) -> None:
    assert _found(tmp_path, RIGHT) == []


def test_an_argument_that_is_missing_is_reported_with_the_place_of_the_kernel(
    tmp_path: Path,
) -> None:
    ((issue, line, message),) = _found(tmp_path, RIGHT.replace("y, x.numel(), B", "x.numel(), B"))
    assert (issue, line) == ("launch_arguments", 5)
    assert message == (
        "The launch passes nothing for n of scale: the launch raises an error. "
        "scale is defined in kernels.py:15."
    )


def test_a_host_file_that_names_no_tile_language_keeps_its_text(tmp_path: Path) -> None:
    host = tmp_path / "host.py"
    (tmp_path / "kernels.py").write_text(KERNELS)
    host.write_text("from kernels import scale\nscale[(1,)](1)\n")
    (file,) = with_imported_launches([_checked(host)], _rules)
    assert file.module.text == host.read_text()
    assert [issue.id for issue in file.issues] == ["launch_arguments"]


def test_a_grid_for_the_largest_block_of_another_file_is_reported(tmp_path: Path) -> None:
    host = RIGHT.replace('lambda meta: (x.numel() // meta["BLOCK"],)', "(x.numel() // 256,)")
    ((issue, line, _),) = _found(tmp_path, host)
    assert (issue, line) == ("grid_ignores_tuned_block", 6)


def test_of_a_launch_that_raises_the_grid_is_not_reported(tmp_path: Path) -> None:
    host = RIGHT.replace('lambda meta: (x.numel() // meta["BLOCK"],)', "(x.numel() // 256,)")
    found = _found(tmp_path, host.replace("y, x.numel())", "y)"))
    assert [issue for issue, _, _ in found] == ["launch_arguments"]


def test_names_that_both_files_have_stay_those_of_their_files(tmp_path: Path) -> None:
    """The host's own ``configs`` and ``scaled`` are others than the kernel's."""
    own = "\nWIDTHS = ()\n\ndef configs():\n    return []\n\ndef scaled(a):\n    return a\n"
    assert _found(tmp_path, RIGHT + own) == []
    host = RIGHT.replace('lambda meta: (x.numel() // meta["BLOCK"],)', "(x.numel() // 256,)")
    assert [issue for issue, _, _ in _found(tmp_path, host + own)] == ["grid_ignores_tuned_block"]


def test_what_a_kernel_names_may_be_written_in_any_way(tmp_path: Path) -> None:
    """Names of the host are taken: every one of the kernel file is renamed where it stands."""
    deep = "+".join(["1"] * 300)
    kernels = KERNELS.replace(
        "import triton\n", "import triton\nfrom math import (\n    pi,\n)\n", 1
    )
    kernels = kernels.replace("WIDTHS = (128, 256)", f"\fWIDTHS = (128, 256)  # é\nDEEP = {deep}")
    kernels = kernels.replace("n, BLOCK: tl.constexpr):", "n, BLOCK: tl.constexpr = DEEP, é=pi):")
    taken = "\npi = DEEP = WIDTHS = scaled = configs = None\n"
    host = RIGHT.replace(", BLOCK=128", "").replace("scale[", "'é'; scale[")
    assert _found(tmp_path, host + taken, kernels) == []
    found = _found(tmp_path, host.replace("(x, y, x.numel())\n    t", "()\n    t") + taken, kernels)
    assert [(issue, line) for issue, line, _ in found] == [("launch_arguments", 5)]
    assert "nothing for x_ptr, y_ptr, n of scale" in found[0][2]


def test_a_kernel_by_another_name_is_followed(tmp_path: Path) -> None:
    host = "from .kernels import scale as twice\n\ndef host(x, y):\n    twice[(1,)](x, y)\n"
    ((issue, _, message),) = _found(tmp_path, host)
    assert issue == "launch_arguments"
    assert message.startswith("The launch passes nothing for n, BLOCK of twice")


@pytest.mark.parametrize(
    "kernels",
    [
        KERNELS + '\nscale = triton.autotune([triton.Config({"BLOCK": 64})], ["n"])(scale)\n',
        KERNELS.replace("@triton.jit\ndef scale(", "@project.wrapped\n@triton.jit\ndef scale("),
        KERNELS.replace("def scale(", "def other(") + "\nscale = other.make()\n",
        KERNELS + "\nif triton is None:\n    def scale(*arguments):\n        pass\n",
        KERNELS.replace("import triton\n", "import triton\ndef broken(:\n", 1),
        KERNELS.replace("@triton.jit\ndef scale(", "def scale("),
        KERNELS + f"\nDEEP = {'+'.join(['1'] * 3000)}\n",
    ],
    ids=["tuned later", "decorated", "made", "twice", "broken", "no kernel", "too deep"],
)
def test_where_the_kernel_is_not_certain_nothing_is_reported(tmp_path: Path, kernels: str) -> None:
    assert _found(tmp_path, RIGHT.replace(", BLOCK=128", ""), kernels) == []


@pytest.mark.parametrize(
    "host",
    [
        "def scale():\n    pass\n\nfrom .kernels import scale as s\nscale[(1,)](1)\n",
        "from .kernels import scale\nscale = None\n\ndef host(x):\n    scale[(1,)](x)\n",
        "from elsewhere import scale\n\ndef host(x):\n    scale[(1,)](x)\n",
        "from .kernels import scale\n\ndef host(scale, x):\n    scale[(1,)](x)\n",
        "from .kernels import scale\n\ndef host(x):\n    return scale[(1,)](x\n",
    ],
    ids=["own", "reassigned", "not found", "parameter", "broken"],
)
def test_where_the_launch_is_not_certain_nothing_is_reported(tmp_path: Path, host: str) -> None:
    assert _found(tmp_path, host) == []


def test_a_comment_suppresses_it_where_it_stands(tmp_path: Path) -> None:
    host = RIGHT.replace(", BLOCK=128)", ")  # tilewright: ignore[launch_arguments]")
    assert _found(tmp_path, host) == []
