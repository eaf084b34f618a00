"""Real compilers for Intel GPUs, with no such GPU: SPIR-V, and native code where ocloc is."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.devices.client import WorkerClient, WorkerDevice
from tilewright.devices.discovery import close_all
from tilewright.devices.model import DeviceInfo
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import find_problem
from tilewright.targets.cache import ReportCache
from tilewright.targets.compilation import compile_launch
from tilewright.targets.model import CompileReport, LaunchFacts, Target
from tilewright.targets.toolchains import NoToolchainError, XpuToolchain, xpu_toolchain
from tilewright.targets.xpu import TRAITS

pytestmark = pytest.mark.triton

EXAMPLES = Path(__file__).parents[2] / "examples"
B70 = Target("xpu", "bmg-g31")
Compile = Callable[..., CompileReport]


@pytest.fixture(scope="module")
def toolchain() -> XpuToolchain:
    try:
        return xpu_toolchain()
    except NoToolchainError as error:
        pytest.skip(str(error))


@pytest.fixture
def ocloc(toolchain: XpuToolchain) -> None:
    if toolchain.ocloc is None:
        pytest.skip("needs ocloc: on PATH, or named by TILEWRIGHT_OCLOC")
    if B70.arch not in toolchain.ocloc.devices:
        pytest.skip(f"ocloc {toolchain.ocloc.version} does not know {B70.arch}: a newer one does")


@pytest.fixture(scope="module")
def device(toolchain: XpuToolchain) -> Iterator[WorkerDevice]:
    with WorkerClient(sys.executable) as client:
        hello = client.hello
        yield WorkerDevice(
            client, DeviceInfo("interpreter", "", None, False, hello["torch"], hello["triton"], "")
        )
    close_all()


@pytest.fixture(scope="module")
def bench(device: WorkerDevice, tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    path = EXAMPLES / "matmul.py"
    problem = find_problem(path)
    assert problem is not None
    return Workbench(device, problem, path, tmp_path_factory.mktemp("scratch"), 0)


@pytest.fixture(scope="module")
def compiled(bench: Workbench, tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles matmul's launch from a text, with other constexprs and options."""
    cache = ReportCache(tmp_path_factory.mktemp("reports"))
    case = bench.problem.measured_cases()[0]
    original = bench.source_path.read_text()
    (launch,) = bench.capture(original, case).launches

    def compile_text(
        text: str = original, target: Target = B70, tile: tuple[int, int, int] | None = None,
        **options: int | str,
    ) -> CompileReport:  # fmt: skip
        wanted = replace(launch, options={**launch.options, **options})
        if tile is not None:
            wanted = tiled(wanted, dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), tile, strict=True)))
        return compile_launch(bench.device, str(bench.place(text)), wanted, target, cache=cache)

    return compile_text


def tiled(launch: LaunchFacts, sizes: dict[str, int]) -> LaunchFacts:
    arguments = (replace(a, value=sizes.get(a.name, a.value)) for a in launch.arguments)
    return replace(launch, arguments=tuple(arguments))


def in_halves(text: str) -> str:
    return text.replace("a.to(tl.float32), b.to(tl.float32)", "a, b")


def test_a_product_becomes_matrix_instructions(compiled: Compile, ocloc: None) -> None:
    report = compiled()
    assert report.ok, report.messages
    assert report.toolchain.startswith("triton-xpu ")
    assert ", ocloc " in report.toolchain
    assert (report.registers, report.spill_bytes) == (128, 0)
    assert report.shared_bytes == 8192  # two operands of 32x32 floats
    assert report.details["dpas"] == 8  # 32x32x32 in tf32, over four sub-groups
    assert report.details["sub_group_size"] == 16
    assert report.code_bytes is not None
    assert compiled().cached


def test_halves_take_half_the_matrix_instructions(compiled: Compile, ocloc: None) -> None:
    text = in_halves((EXAMPLES / "matmul.py").read_text())
    assert compiled(text).details["dpas"] == compiled().details["dpas"] // 2


def test_softmax_compiles(device: WorkerDevice, ocloc: None, tmp_path: Path) -> None:
    path = EXAMPLES / "softmax.py"
    problem = find_problem(path)
    assert problem is not None
    bench = Workbench(device, problem, path, tmp_path, 0)
    text = path.read_text()
    (launch,) = bench.capture(text, problem.measured_cases()[0]).launches
    report = compile_launch(
        device, str(bench.place(text)), launch, B70, cache=ReportCache(tmp_path / "reports")
    )
    assert report.ok, report.messages
    assert report.spill_bytes == 0
    assert report.details["barrier"] > 0
    assert "dpas" not in report.details


@pytest.mark.parametrize("arch", sorted(TRAITS))
def test_every_architecture_compiles(
    compiled: Compile, toolchain: XpuToolchain, ocloc: None, arch: str
) -> None:
    text = in_halves((EXAMPLES / "matmul.py").read_text())
    report = compiled(text, target=Target("xpu", arch))
    assert report.ok, report.messages
    assert toolchain.ocloc is not None
    if TRAITS[arch].device in toolchain.ocloc.devices:
        assert report.registers in (128, 160, 256)  # Xe3 has modes between
        assert any(name.startswith("global_load") for name in report.details)
        # Triton for Intel multiplies without the matrix instructions of eight lanes.
        assert ("dpas" in report.details) == (arch != "dg2")
    else:
        assert "does not know" in str(report.details["native"])


def test_few_warps_spill_and_many_with_large_registers_do_not(
    compiled: Compile, ocloc: None
) -> None:
    text = in_halves((EXAMPLES / "matmul.py").read_text())
    tile = (128, 128, 32)
    few = compiled(text, tile=tile, num_warps=4, grf_mode="128")
    assert few.ok
    assert few.registers == 128
    assert few.spill_bytes is not None
    assert few.spill_bytes > 10_000
    assert "hardware thread" in str(few.details["spill_unit"])
    assert few.details["spilled_registers"] == few.spill_bytes // 64
    assert few.details["spill_load"] > few.details["dpas"]
    assert "spilled around" in str(few.details["spill_message"])
    many = compiled(text, tile=tile, num_warps=32, grf_mode="256")
    assert (many.registers, many.spill_bytes) == (256, 0)
    assert "spill_unit" not in many.details
    # Left to itself, the driver compiles again with more registers when it sees spills.
    default = compiled(text, tile=tile, num_warps=4)
    assert default.registers == 256
    assert default.details["register_mode"] == "default, compiled again with 256"


def test_more_sub_groups_than_a_program_may_have(compiled: Compile) -> None:
    large = compiled(num_warps=64, grf_mode="256")
    assert not large.ok
    assert "num_warps > 32" in large.messages[0].text
    many = compiled(num_warps=128)
    assert not many.ok
    assert any("at most 64 sub-groups" in message.text for message in many.messages)


def test_an_error_stands_on_its_line(compiled: Compile) -> None:
    text = (EXAMPLES / "matmul.py").read_text()
    broken = text.replace("c_mask = (offs_m", "c_mask = (offs_q")
    report = compiled(broken)
    assert not report.ok
    (message,) = report.messages
    assert "offs_q is not defined" in message.text
    assert message.line is not None
    assert "offs_q" in broken.splitlines()[message.line - 1]
    assert message.column == broken.splitlines()[message.line - 1].index("offs_q")


def test_without_ocloc_it_ends_at_spirv_and_says_so(
    compiled: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_OCLOC", "/nowhere/ocloc")
    report = compiled()
    assert report.ok
    assert not report.cached
    assert (report.registers, report.spill_bytes, report.code_bytes) == (None, None, None)
    assert report.shared_bytes == 8192
    assert report.details["native"] == "not compiled: no ocloc"
    assert "ocloc" not in report.toolchain


HOST_CODE = """
from torch import nn
import torch.nn.functional as F
from einops import rearrange

torch.backends.cuda.matmul.allow_tf32 = True
HALF: "torch.dtype | None" = {torch.float16: "half"}.get(torch.float16)
ON_HIP = torch.version.hip is not None
if torch.cuda.is_available():
    raise RuntimeError("this is no CUDA device")
DEVICE = triton.runtime.driver.active.get_active_torch_device()
CORES = triton.runtime.driver.active.utils.get_device_properties(0)["multiprocessor_count"] * 2

class Layer(nn.Module):
    def __init__(self):
        super().__init__()

class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

function = Function.apply

@torch.library.custom_op("tilewright::op", mutates_args=())
def op(x: torch.Tensor) -> torch.Tensor:
    return x

@op.register_fake
@torch.no_grad()
def _(x: torch.Tensor | None):
    return x
"""


def test_host_code_is_imported_without_its_libraries(compiled: Compile) -> None:
    report = compiled((EXAMPLES / "matmul.py").read_text() + HOST_CODE)
    assert report.ok, report.messages
    assert report.details["host_code_without"] == "einops"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ROWS = int(torch.ones(3).sum())", "move it into a function"),
        ("assert HALF == 2", "NameError"),
        ("from triton.nowhere import thing", "No module named 'triton.nowhere'"),
    ],
)
def test_a_line_that_fails_there_and_that_the_kernel_does_not_use_is_left_out_and_told(
    compiled: Compile, line: str, reason: str
) -> None:
    text = (EXAMPLES / "matmul.py").read_text() + f"\n{line}\n"
    report = compiled(text)
    assert report.ok, report.messages
    told = str(report.details["imported"])
    assert f"without line {len(text.splitlines())}," in told
    assert reason in told


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("SCALE = tl.constexpr(int(torch.ones(3).sum()))", "SCALE"),
        ("from triton.nowhere import SCALE", "SCALE"),
    ],
)
def test_a_kernel_that_uses_what_fails_there_is_not_judged(
    compiled: Compile, line: str, name: str
) -> None:
    text = (EXAMPLES / "matmul.py").read_text()
    using = text.replace("acc.to(c_ptr", f"(acc * {name}).to(c_ptr")
    with pytest.raises(NoToolchainError, match=f"not compiled for xpu.*{name}"):
        compiled(f"{using}\n{line}\n")


def test_a_kernel_that_calls_into_an_absent_library_is_not_judged(compiled: Compile) -> None:
    text = (EXAMPLES / "matmul.py").read_text()
    calling = text.replace("acc.to(c_ptr", "helpers.scaled(acc).to(c_ptr")
    with pytest.raises(NoToolchainError, match="no kernel_helpers; compiler message without it"):
        compiled(
            calling.replace("import torch\n", "import torch\nimport kernel_helpers as helpers\n")
        )


def test_what_this_triton_is_too_old_for_is_not_judged(compiled: Compile) -> None:
    text = (EXAMPLES / "matmul.py").read_text()
    newer = text.replace("acc = tl.zeros(", "acc = tl.zeros_of_a_later_version(")
    with pytest.raises(NoToolchainError, match="zeros_of_a_later_version"):
        compiled(newer)
