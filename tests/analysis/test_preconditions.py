"""Preconditions of patterns: each holds, does not hold, or is not known, and says why."""

import ast
import builtins
import re
from dataclasses import replace

import pytest

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.preconditions.match import Verdict, check, patterns_for
from tilewright.knowledge.base import all_patterns, taxonomy
from tilewright.knowledge.model import Parameter
from tilewright.knowledge.nki import nki_interface
from tilewright.knowledge.patterns import Pattern, Precondition
from tilewright.source import parse_module
from tilewright.source.model import Language, Module
from tilewright.targets.model import ArgumentFacts, LaunchFacts, Target

TL = "triton.language."
HEAD = "import triton\nimport triton.language as tl\n\n\n"
NKI_HEAD = (
    "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\n"
    "import neuronxcc.nki.language as nl\n\n\n"
)
PRODUCT = HEAD + (
    "@triton.jit\n"
    "def product(a_ptr, b_ptr, out_ptr, K, stride, BLOCK: tl.constexpr):\n"
    "    m, n = tl.program_id(0), tl.program_id(1)\n"
    "    i = tl.arange(0, BLOCK)\n"
    "    acc = tl.zeros((BLOCK, BLOCK), tl.float32)\n"
    "    for k in range(0, K, BLOCK):\n"
    "        a = tl.load(a_ptr + (m * BLOCK + i)[:, None] * stride + k + i[None, :])\n"
    "        b = tl.load(b_ptr + (k + i)[:, None] * stride + n * BLOCK + i[None, :])\n"
    "        acc = tl.dot(a, b, acc)\n"
    "    tl.store(out_ptr + i[:, None] * stride + i[None, :], acc)\n\n\n"
    "def run(a, b, out):\n"
    "    product[(8, 8)](a, b, out, 512, a.stride(0), BLOCK=64, num_warps=8)\n"
)
ADD = HEAD + (
    "from elsewhere import scaled\n\n"
    '@triton.autotune([triton.Config({"BLOCK": 256}, num_warps=4)], key=["n"])\n'
    "@triton.jit\n"
    "def add(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n"
    "    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    x = tl.load(x_ptr + offs, mask=offs < n)\n"
    "    tl.store(out_ptr + offs, scaled(x) + 1.0, mask=offs < n)\n\n\n"
    "class Layer:\n"
    "    def forward(self, out):\n"
    "        add[(4,)](self.weight, out, 1000)\n"
)
NKI = NKI_HEAD + (
    "@nki.jit\n"
    "def contract(lhs_t, rhs):\n"
    "    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)\n"
    "    total = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
    "    for k in nl.affine_range(64):\n"
    "        a = nl.load(lhs_t[nl.ds(k * 16, 16), 0:128], dtype=nl.bfloat16)\n"
    "        b = nl.load(rhs[nl.ds(k * 16, 16), 0:512], dtype=nl.bfloat16)\n"
    "        total += nisa.nc_matmul(a, b)\n"
    "    nl.store(out, nl.copy(total))\n"
    "    return out\n"
)


def _captured(pitch: int, kernel: str = "product", element: str = "*fp16") -> AnalysisContext:
    tensors = tuple(
        ArgumentFacts(name, "tensor", element, shape=(512, 512), strides=(pitch, 1))
        for name in ("a_ptr", "b_ptr", "out_ptr")
    )
    numbers = (
        ArgumentFacts("K", "int", "i32", 512),
        ArgumentFacts("stride", "int", "i32", pitch),
        ArgumentFacts("BLOCK", "constexpr", "constexpr", 64),
    )
    return AnalysisContext(launches=(LaunchFacts(kernel, (8, 8), tensors + numbers),))


def _ask(
    text: str, name: str, context: AnalysisContext | None = None, **parameters: Parameter
) -> Verdict:
    module = parse_module(text)
    question = Precondition(name, parameters)  # type: ignore[arg-type]
    return check(question, module, module.kernels[0], context or AnalysisContext())


@pytest.mark.parametrize(
    ("text", "name", "parameters", "holds"),
    [
        (PRODUCT, "calls", {"calls": (TL + "dot",)}, True),
        (PRODUCT, "calls", {"calls": (TL + "trans",)}, False),
        (ADD, "calls", {"calls": (TL + "exp",)}, None),
        (PRODUCT, "calls_in_loop", {"calls": (TL + "load",)}, True),
        (PRODUCT, "calls_in_loop", {"calls": (TL + "store",)}, False),
        (PRODUCT, "calls_none", {"calls": (TL + "atomic_add",)}, True),
        (PRODUCT, "calls_none", {"calls": (TL + "dot",)}, False),
        (ADD, "calls_none", {"calls": (TL + "atomic_add",)}, None),
        (PRODUCT, "has_loop", {}, True),
        (ADD, "has_loop", {}, False),
        (ADD, "is_tuned", {}, True),
        (PRODUCT, "is_tuned", {}, False),
        (PRODUCT, "not_tuned", {}, True),
        (ADD, "not_tuned", {}, False),
        (PRODUCT, "launched_here", {}, True),
        (PRODUCT.partition("def run")[0], "launched_here", {}, None),
        (PRODUCT, "option_unstated", {"option": "maxnreg"}, True),
        (PRODUCT, "option_unstated", {"option": "num_warps"}, False),
        (ADD, "option_unstated", {"option": "num_warps"}, False),
        (PRODUCT.partition("def run")[0], "option_unstated", {"option": "maxnreg"}, None),
        (ADD, "state_argument", {}, True),
        (PRODUCT, "state_argument", {}, None),
        (PRODUCT, "program_axes", {"axes": 2}, True),
        (PRODUCT, "program_axes", {"axes": 1}, False),
        (PRODUCT, "warps_at_most", {"maximum": 8}, True),
        (PRODUCT, "warps_at_most", {"maximum": 4}, False),
        (PRODUCT.replace(", num_warps=8", ", num_warps=W"), "warps_at_most", {"maximum": 4}, None),
        (PRODUCT, "tile_elements", {"least": 4096, "most": 4096}, True),
        (PRODUCT, "tile_elements", {"least": 8192, "most": 65536}, False),
        (PRODUCT.partition("def run")[0], "tile_elements", {"least": 1, "most": 9}, None),
        (PRODUCT, "operand_bits", {"bits": 16}, None),
        (ADD, "operand_bits", {"bits": 16}, False),
        (PRODUCT, "rows_contiguous", {}, True),
        (PRODUCT.replace("i[None, :])", "i[None, :] * 2)"), "rows_contiguous", {}, False),
        (PRODUCT.replace("i[None, :])", "i[None, :] * K)"), "rows_contiguous", {}, None),
        (ADD, "rows_contiguous", {}, None),
        (PRODUCT, "rows_aligned", {"bytes": 16}, None),
        (PRODUCT, "captured", {}, None),
        (PRODUCT, "loop_without_writes", {}, True),
        (ADD, "loop_without_writes", {}, False),
        (PRODUCT, "outputs_distinct", {}, None),
        (NKI, "package", {"package": "neuronxcc"}, True),
        (NKI, "package", {"package": "nki"}, False),
        (PRODUCT, "package", {"package": "nki"}, None),
        (NKI, "nki_complete", {}, True),
        (NKI.replace("nl.copy(total)", "helper(total)"), "nki_complete", {}, None),
        (NKI, "calls_in_loop", {"calls": ("nki.isa.nc_matmul",)}, True),
    ],
)
def test_what_the_text_tells(
    text: str, name: str, parameters: dict[str, Parameter], holds: bool | None
) -> None:
    verdict = _ask(text, name, **parameters)
    assert verdict.holds is holds, verdict.reason
    assert verdict.reason


MATMUL = "nki.isa.nc_matmul"


@pytest.mark.parametrize(
    ("name", "parameters", "holds"),
    [
        ("nki_side", {"operand": "moving", "axis": 0, "least": 1, "most": 64}, True),
        ("nki_side", {"operand": "moving", "axis": 1, "least": 1, "most": 63}, False),
        ("nki_dtype", {"operand": "moving", "dtypes": ("bfloat16",)}, True),
        ("nki_dtype", {"operand": "moving", "dtypes": ("float32",)}, False),
        ("nki_memory", {"operand": "moving", "memory": "SBUF"}, True),
        ("nki_memory", {"operand": "moving", "memory": "PSUM"}, False),
    ],
)
def test_what_instructions_are_given(
    name: str, parameters: dict[str, Parameter], holds: bool
) -> None:
    verdict = _ask(NKI, name, call=MATMUL, **parameters)
    assert verdict.holds is holds, verdict.reason


def test_sizes_that_are_not_stated_are_not_known() -> None:
    text = NKI.replace("nl.ds(k * 16, 16)", "nl.ds(k * rows, rows)").replace("rhs):", "rhs, rows):")
    side: dict[str, Parameter] = {"operand": "moving", "axis": 0, "least": 1, "most": 64}
    assert _ask(text, "nki_side", call=MATMUL, **side).holds is None


def test_a_captured_launch_tells_types_and_pitches() -> None:
    even, odd = _captured(512), _captured(1001)
    assert _ask(PRODUCT, "captured", even).holds is True
    assert _ask(PRODUCT, "operand_bits", even, bits=16).holds is True
    assert _ask(PRODUCT, "operand_bits", even, bits=32).holds is False
    assert _ask(PRODUCT, "rows_aligned", even, bytes=16).holds is True
    verdict = _ask(PRODUCT, "rows_aligned", odd, bytes=16)
    assert (verdict.holds, verdict.reason) == (False, "rows of a_ptr are 2002 bytes apart")


def test_fresh_outputs_are_other_memory() -> None:
    text = PRODUCT.replace("def run(a, b, out):\n", "def run(a, b):\n    out = torch.empty(9)\n")
    assert _ask("import torch\n" + text, "outputs_distinct").holds is True


def _of(issue: str, text: str, context: AnalysisContext) -> dict[str, bool | None]:
    module = parse_module(text)
    found = patterns_for(issue, module, module.kernels[0], context)
    return {each.pattern.id: each.holds for each in found}


def test_patterns_of_another_chip_are_left_out() -> None:
    on_amd = AnalysisContext(target=Target("hip", "gfx942"), triton_version=(3, 9))
    on_intel = AnalysisContext(target=Target("xpu", "pvc"), triton_version=(3, 9))
    text = PRODUCT.replace("BLOCK=64, num_warps=8", "BLOCK=128")
    assert set(_of("suboptimal_warps", text, on_amd)) == {
        "hip_waves_per_unit",
        "hip_count_waves_of_64",
    }
    assert _of("suboptimal_warps", text, on_intel) == {"xpu_many_warps": True}
    assert None in _of("suboptimal_warps", text, AnalysisContext()).values()


def test_the_version_of_triton_decides() -> None:
    new = AnalysisContext(target=Target("xpu", "pvc"), triton_version=(3, 6))
    old = AnalysisContext(target=Target("xpu", "pvc"), triton_version=(3, 5))
    text = PRODUCT.replace("BLOCK=64", "BLOCK=128")
    assert _of("missing_grf_mode", text, new) == {"xpu_large_registers": True}
    assert _of("missing_grf_mode", text, old) == {"xpu_large_registers_before_3_6": True}


def test_a_pattern_that_holds_stands_first_and_says_why() -> None:
    module = parse_module(PRODUCT)
    context = _captured(512)
    found = patterns_for("manual_pointer_arithmetic", module, module.kernels[0], context)
    assert found
    reasons = [verdict.reason for verdict in found[0].verdicts]
    assert "product calls dot in a loop (line 13)" in reasons
    holding = [each.holds for each in found]
    assert holding == sorted(holding, key=lambda holds: holds is None)


@pytest.mark.parametrize("pattern", list(all_patterns().values()), ids=lambda p: p.id)
def test_no_precondition_excludes_the_patterns_own_example(pattern: Pattern) -> None:
    """What an example shows before is a kernel that the pattern may be applied to."""
    module = _example(pattern)
    if not module.kernels:
        return
    for each in pattern.preconditions:
        verdict = check(each, module, module.kernels[0], AnalysisContext())
        assert verdict.holds is not False, verdict


@pytest.mark.parametrize("pattern", list(all_patterns().values()), ids=lambda p: p.id)
def test_what_an_example_leads_to_has_no_serious_issue(pattern: Pattern) -> None:
    """Nor one that the pattern answers. Fragments use names that they do not define."""
    version = (3, 9) if pattern.applies_to.covers_triton((3, 9)) else (3, 5)
    after = replace(pattern, example=replace(pattern.example, before=pattern.example.after))
    found = {i.id for i in analyze(_example(after), AnalysisContext(triton_version=version))}
    serious = {issue for issue in found if taxonomy()[issue].severity >= 4}
    assert not serious - {"undefined_name"}
    assert not found & set(pattern.issues)


def test_names_in_nki_examples_exist() -> None:
    known = nki_interface("neuronxcc").names | nki_interface("nki").names
    for pattern in all_patterns().values():
        text = pattern.example.before + pattern.example.after
        used = {f"nki.language.{name}" for name in re.findall(r"\bnl\.(\w+)", text)}
        used |= {f"nki.isa.{name}" for name in re.findall(r"\bnisa\.(\w+)", text)}
        assert used <= known, pattern.id


def _example(pattern: Pattern) -> Module:
    text = pattern.example.before
    if Language(pattern.applies_to.languages[0]) is Language.TRITON:
        return parse_module(HEAD + text)
    free = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
    set_here = {
        n.id
        for n in ast.walk(ast.parse(text))
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    given = sorted(free - set_here - {"nl", "nisa"} - set(dir(builtins)))
    body = "".join(f"    {line}\n" for line in text.splitlines())
    return parse_module(f"{NKI_HEAD}@nki.jit\ndef kernel({', '.join(given)}):\n{body}")
