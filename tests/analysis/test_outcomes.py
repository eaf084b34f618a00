"""What came of launches before stands for launches alike, and for no others."""

from itertools import count

import pytest

from tilewright.analysis.instances import Faults, faults_of, outcomes
from tilewright.analysis.instances.kernel import KernelPrograms
from tilewright.analysis.instances.record import Record
from tilewright.lru import LruDict
from tilewright.source import parse_module

_NUMBERS = count()  # a file of its own for each text: none is found parsed
_TEXT = """import torch
import triton
import triton.language as tl

STEP = 1

@triton.jit
def moved(o):
    return o + STEP

@triton.jit
def difference(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    one = tl.load(x + o, mask=o < n)
    two = tl.load(x + moved(o), mask=o < n)
    tl.store(y + o, two - one, mask=o < n - 1)

def differences(x):
    n = x.numel()
    y = torch.empty(n, device=x.device)
    difference[(triton.cdiv(n, 256),)](x, y, n, B=256)
    return y
"""


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each launch whose programs are run."""
    seen: list[str] = []
    run_all = KernelPrograms.run_all

    def counted(programs: KernelPrograms) -> Record:
        seen.append(repr(programs.grid))
        return run_all(programs)

    monkeypatch.setattr(KernelPrograms, "run_all", counted)
    monkeypatch.setattr(outcomes, "_OUTCOMES", LruDict(64))
    return seen


def _faults(text: str) -> tuple[Faults, ...]:
    module = parse_module(text, f"version_{next(_NUMBERS)}.py")
    return faults_of(module, module.lookup.kernels["difference"])


def _said(faults: tuple[Faults, ...]) -> object:
    return [
        (
            one.sizes,
            [(o.node.lineno, o.kind, o.storage.name, o.program, o.element) for o in one.outside],
            [(u.node.lineno, u.element, u.count) for u in one.unwritten],
            [(s.node.lineno, s.other.lineno, s.where) for s in one.shared],
        )
        for one in faults
    ]


def _fresh(text: str, monkeypatch: pytest.MonkeyPatch) -> object:
    with monkeypatch.context() as patch:
        patch.setattr(outcomes, "_OUTCOMES", LruDict(64))
        return _said(_faults(text))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def differences(x):", "# above\n\ndef differences(x):\n    unused = 3\n"),
        ("    n = x.numel()\n", "    n = x.numel()\n    print(n)\n\n"),
        ("    one = tl.load", "\n    # first\n    one = tl.load"),
        ("STEP = 1", "OTHER = 7\nSTEP = 1"),
    ],
)
def test_a_launch_alike_is_not_run_again(
    before: str, after: str, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _faults(_TEXT)
    ran = len(runs)
    text = _TEXT.replace(before, after)
    found = _said(_faults(text))
    assert text != _TEXT
    assert len(runs) == ran > 0
    assert found == _fresh(text, monkeypatch)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("STEP = 1", "STEP = 0"),
        ("return o + STEP", "return o"),
        ("mask=o < n)\n    tl.store", "mask=o < n - 1)\n    tl.store"),
        ("torch.empty(n,", "torch.empty(n - 1,"),
        ("n, B=256", "n - 1, B=256"),
    ],
)
def test_a_launch_of_something_else_is_run(
    before: str, after: str, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _said(_faults(_TEXT))
    ran = len(runs)
    text = _TEXT.replace(before, after)
    found = _said(_faults(text))
    assert text != _TEXT
    assert len(runs) > ran
    assert found == _fresh(text, monkeypatch) != first


def test_a_launch_of_a_tuned_kernel_is_run_once(runs: list[str]) -> None:
    tuned = "@triton.autotune([triton.Config({'B': 256})], key=['n'])\n@triton.jit\ndef difference"
    text = _TEXT.replace("@triton.jit\ndef difference", tuned).replace("n, B=256)", "n)")
    assert _faults(text)
    ran = len(runs)
    assert _faults(f"{text}\nLATER = 1\n")
    assert len(runs) == ran > 0


def test_an_empty_line_in_a_text_of_several_lines_counts(runs: list[str]) -> None:
    said = _TEXT.replace("    one = ", '    """A.\n    B."""\n    one = ')
    assert _faults(said)
    ran = len(runs)
    assert _faults(said.replace("A.\n", "A.\n\n"))
    assert len(runs) > ran
