"""What is said of kernels that compilers refuse: the line, why, and what to do."""

from pathlib import Path

import pytest

from tilewright.devices.client import WorkerDevice
from tilewright.devices.opening import open_device
from tilewright.targets.cache import ReportCache
from tilewright.targets.compilation import compile_launch
from tilewright.targets.error_hints import placed, with_way_out
from tilewright.targets.model import ArgumentFacts, CompileMessage, LaunchFacts
from tilewright.targets.registry import parse_target

HEAD = "import triton\nimport triton.language as tl\n\n\n"
HELPER = """
@triton.jit
def uneven(x):
    y = x + 1
    return y + tl.arange(0, 48)
"""
PLAIN = "\ndef plus_one(x):\n    return x + 1\n"


def kernel(body: str, before: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{HEAD}{before}\n\n@triton.jit\ndef kernel(x, n):\n{lines}"


@pytest.fixture(scope="module")
def device() -> WorkerDevice:
    return open_device("interpreter")


def told(device: WorkerDevice, folder: Path, text: str, target: str) -> CompileMessage:
    path = folder / "kernel.py"
    path.write_text(text)
    arguments = (
        ArgumentFacts("x", "tensor", "*fp32", None, (64, 64), (64, 1), True),
        ArgumentFacts("n", "int", "i32", 64, divisible_by_16=True),
    )
    report = compile_launch(
        device, str(path), LaunchFacts("kernel", (1,), arguments), parse_target(target),
        cache=ReportCache(folder / "cache"),
    )  # fmt: skip
    assert not report.ok
    return report.messages[0]


SQUARE = "i = tl.arange(0, {n})\nt = tl.load(x + i[:, None] * 32 + i[None, :])\n"
REFUSED = [
    ("i = tl.arange(0, 48)\ntl.store(x + i, i)", "", "cuda:90", "tl.arange", "power of 2"),
    ("i = tl.arange(0, n)\ntl.store(x + i, i)", "", "cuda:90", "tl.arange", "tl.constexpr param"),
    (SQUARE.format(n=4) + "tl.store(x, tl.sum(tl.dot(t, t)))", "", "cuda:90", "tl.dot",
     "tiles of at least 1 x 8"),
    (SQUARE.format(n=32) + "u = t.to(tl.float8e4nv)", "", "cuda:80", "float8e4nv", "fp16 or bf16"),
    (SQUARE.format(n=32) + "u = tl.dot(t.to(tl.float16), t.to(tl.bfloat16))", "", "cuda:90",
     "tl.dot", "convert one of them with .to()"),
    ("p = tl.make_block_ptr(x, (64, 64), (64, 1), (0, 0), (32, 32), (1, 0))", "", "cuda:90",
     "make_block_ptr", "tl.make_tensor_descriptor"),
    ("a = 0\nfor k in range(n):\n    a = a + tl.load(x + k)\ntl.store(x, a)", "", "cuda:90",
     "for k", "set a before the loop"),
    ("i = tl.arange(0, 32)\ntl.store(x + i, tl.load(x + i) + tl.arange(0, 64))", "", "hip:gfx942",
     "tl.store", "[:, None]"),
    ("for k in range(n):\n    if k > 3:\n        break\n    tl.store(x + k, k)", "", "cuda:90",
     "break", "neither break nor continue"),
    ("m = tl.float32(0.0)\ntl.store(x, m)", "", "cuda:90", "tl.float32(0.0)",
     "make a value with tl.full((), value, dtype)"),
    ("tl.store(x, plus_one(n))", PLAIN, "cuda:90", "plus_one(n)", "decorate plus_one with"),
    ("i = tl.arange(0, 32)\ntl.store(x + i, tl.extra.cuda.libdevice.tanh(tl.load(x + i)))", "",
     "hip:gfx942", "libdevice.tanh", "triton.language.extra, which is there for every target"),
]  # fmt: skip
ASSEMBLY = (
    "i = tl.arange(0, 32)\ny = tl.inline_asm_elementwise('frobnicate.f32 $0, $1;', '=r,r', "
    "[tl.load(x + i)], dtype=tl.float32, is_pure=True, pack=1)\ntl.store(x + i, y)"
)


@pytest.mark.triton
@pytest.mark.parametrize(("body", "before", "target", "where", "way_out"), REFUSED)
def test_a_refusal_names_the_line_and_the_way_out(
    device: WorkerDevice, tmp_path: Path, body: str, before: str, target: str, where: str,
    way_out: str,
) -> None:  # fmt: skip
    text = kernel(body, before)
    message = told(device, tmp_path, text, target)
    assert message.line is not None
    assert where in text.splitlines()[message.line - 1]
    assert way_out in message.text


@pytest.mark.triton
@pytest.mark.parametrize(
    ("target", "words"),
    [("cuda:90", "knows no instruction frobnicate"), ("hip:gfx942", "inline assembly is of one")],
)
def test_an_assembler_s_refusal_is_on_the_line_of_the_assembly(
    device: WorkerDevice, tmp_path: Path, target: str, words: str
) -> None:
    text = kernel(ASSEMBLY)
    message = told(device, tmp_path, text, target)
    assert message.line is not None
    assert "inline_asm" in text.splitlines()[message.line - 1]
    assert words in message.text


@pytest.mark.triton
def test_an_error_in_a_helper_names_both_lines(device: WorkerDevice, tmp_path: Path) -> None:
    text = kernel("i = tl.arange(0, 32)\ntl.store(x + i, uneven(i))", HELPER)
    message = told(device, tmp_path, text, "cuda:90")
    lines = text.splitlines()
    assert message.line is not None
    assert "arange(0, 48)" in lines[message.line - 1]
    call = next(at for at, line in enumerate(lines, 1) if "uneven(i)" in line)
    assert f"(called from line {call})" in message.text


@pytest.mark.triton
def test_an_error_in_another_file_is_on_the_call_and_names_the_file(
    device: WorkerDevice, tmp_path: Path
) -> None:
    (tmp_path / "parts.py").write_text(HEAD + HELPER)
    text = kernel("tl.store(x, tl.sum(uneven(n)))", "from parts import uneven\n")
    message = told(device, tmp_path, text, "cuda:90")
    assert message.line is not None
    assert "uneven(n)" in text.splitlines()[message.line - 1]
    at = next(n for n, line in enumerate((HEAD + HELPER).splitlines(), 1) if "48" in line)
    assert f"(in line {at} of parts.py)" in message.text


@pytest.mark.parametrize(
    ("words", "way_out"),
    [
        ("needs 1024 columns of tensor memory, cuda:100 has 512", "a smaller accumulator"),
        ("the compiler did not finish within 120 s and was stopped", "smaller tiles"),
        ("LLVM ERROR: Cannot select: t1: f8", "worth reporting"),
        ("num_warps=64: xpu:bmg-g31 has at most 32 sub-groups a program", "smaller num_warps"),
        ("ptxas: Feature 'x' requires .target sm_90a or higher", "leave the target out"),
    ],
)
def test_what_is_rarely_seen_has_a_way_out_too(words: str, way_out: str) -> None:
    said = with_way_out(CompileMessage(words)).text
    assert way_out in said
    assert words in said  # the compiler's own words are kept


def test_words_that_no_rule_knows_are_left_alone() -> None:
    message = CompileMessage("B must be a multiple of three", 3, 4)
    assert with_way_out(message) is message


def test_a_crash_is_on_the_last_line_that_the_compiler_named() -> None:
    said = 'loc("/lib/kernel_lib.py":9:1): x\n"/home/me/kernel.py":12:5: error: y\nAborted'
    assert placed(CompileMessage("LLVM ERROR: z"), said, "kernel.py").line == 12
    assert placed(CompileMessage("LLVM ERROR: z", 3), said, "kernel.py").line == 3
    assert placed(CompileMessage("LLVM ERROR: z"), "nothing", "kernel.py").line is None
