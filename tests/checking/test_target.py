"""Which chip a file is for: what was asked for, the file, the settings, the machine, in turn."""

from dataclasses import replace
from typing import Any

import pytest

from tilewright.analysis.model import AnalysisContext
from tilewright.checking import check_text
from tilewright.checking.configuration import Rules
from tilewright.checking.target import Around, Origin, chosen_target
from tilewright.problems.model import Case, Entry, EntryKind, Problem
from tilewright.problems.spec import parse_spec
from tilewright.source import parse_module
from tilewright.source.device_names import device_names
from tilewright.targets.model import Target
from tilewright.targets.registry import parse_target

INTEL = "import torch\ndef f(x):\n    assert torch.xpu.is_available()\n    return x\n"
CUDA = "import torch\ndef f(x):\n    return torch.empty(4, device='cuda')\n"
BOTH = INTEL + CUDA
ANY = "import torch\nD = 'xpu' if torch.xpu.is_available() else 'cuda'\n"
HIP = CUDA + "AMD = torch.version.hip\n"
NONE = "def f(x):\n    return x\n"

H200, A100, MI300 = (parse_target(t) for t in ("cuda:90", "cuda:80", "hip:gfx942"))
PVC = parse_target("xpu:pvc")


def around(*settings: Target, machine: Target | None = None, **more: Any) -> Around:
    named = tuple((target, "the setting") for target in settings)
    return replace(Around(settings=named, machine=machine), **more)


def problem(*categories: str, target: Target | None = None) -> Problem:
    cases = {name: (Case(name, 0, {}, None, ()),) for name in categories}
    entry = Entry(EntryKind.FUNCTION, "f")
    return Problem("p.yaml", "0", entry, None, cases, categories[0], target=target)


@pytest.mark.parametrize(
    ("text", "beside", "said"),
    [
        (INTEL, around(), "xpu:bmg-g31: the file's host code names torch.xpu, line 3"),
        (INTEL, around(H200), "xpu:bmg-g31: the file's host code names torch.xpu, line 3; the "
         "setting is cuda:90"),
        (INTEL, around(machine=H200), "xpu:bmg-g31: the file's host code names torch.xpu, line 3; "
         "this machine's GPU is cuda:90"),
        (INTEL, around(PVC), "xpu:pvc: the file's host code names torch.xpu, line 3; the chip is "
         "the one of the setting"),
        (INTEL, around(captured=(PVC,)), "xpu:pvc: the file's host code names torch.xpu, line 3; "
         "the chip is the one that its launches were captured on"),
        (INTEL, around(problem=problem("ci", target=H200)),
         "cuda:90: the problem's spec names it"),
        (CUDA, around(), 'cuda:90: the file\'s host code names "cuda", line 3'),
        (CUDA, around(machine=A100), 'cuda:80: the file\'s host code names "cuda", line 3; the '
         "chip is the one of this machine"),
        (CUDA, around(MI300), 'hip:gfx942: the file\'s host code names "cuda", line 3; the chip '
         "is the one of the setting"),
        (HIP, around(), 'hip:gfx942: the file\'s host code names torch.version.hip, line 4'),
        (BOTH, around(PVC), "xpu:pvc: the setting; the file names devices of several vendors: "
         'torch.xpu, line 3 and "cuda", line 7'),
        (ANY, around(machine=H200), "cuda:90: this machine's GPU; the file names devices of "
         'several vendors: torch.xpu, line 2 and "cuda", line 2'),
        (NONE, around(H200, machine=PVC), "cuda:90: the setting"),
        (NONE, around(machine=PVC), "xpu:pvc: this machine's GPU"),
        (NONE, around(problem=problem("ci", "bench-xpu")),
         "xpu:bmg-g31: the problem's spec has the variant bench-xpu"),
        (NONE, around(captured=(A100,)), "cuda:80: its launches were captured on it"),
        (NONE, around(problem=problem("ci", "bench-gpu")),
         "no setting and no GPU here; the file names no device"),
        (NONE, around(default=H200),
         "cuda:90: no setting and no GPU here; the file names no device"),
    ],
)  # fmt: skip
def test_who_decides_and_why(text: str, beside: Around, said: str) -> None:
    assert str(chosen_target(device_names(parse_module(text, "m.py")), beside)) == said


def test_what_was_asked_for_goes_before_all_else() -> None:
    names = device_names(parse_module(INTEL, "m.py"))
    chosen = chosen_target(names, around(PVC, machine=A100), (MI300, "--target"))
    assert (str(chosen), chosen.origin) == ("hip:gfx942: --target", Origin.ASKED)


def test_findings_are_about_the_files_own_chip() -> None:
    rules = Rules(frozenset())
    found = check_text("import triton\n" + INTEL, "m.py", rules, AnalysisContext())
    assert found.context.target == Target("xpu", "bmg-g31")
    asked = AnalysisContext(target=H200)
    assert check_text("import triton\n" + INTEL, "m.py", rules, asked).context.target == H200


SPEC = "target: {target}\ninputs: {{X: {{shape: [4], dtype: float32}}}}\nci:\n- params: [X]\n"


def test_a_spec_names_a_chip_that_there_is() -> None:
    assert parse_spec(SPEC.format(target="xpu:pvc"), "m.yaml").target == PVC
    with pytest.raises(Exception, match=r"m\.yaml:1: unknown target 'xpu:b60'; did you mean"):
        parse_spec(SPEC.format(target="xpu:b60"), "m.yaml")
