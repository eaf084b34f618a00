"""Host code of a device that is not here: what it is told, and where its tensors lie."""

import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from worker_bench import KERNELS, Bench, case_of, tensor

pytestmark = pytest.mark.triton
MODEL = {"kind": "model", "name": "Model"}
Run = Callable[[str], dict[str, Any]]


@pytest.fixture
def placed() -> Iterator[Run]:
    """Runs a text as host code for Intel, with its tensors on the CPU; gives its names."""
    from tilewright.worker.host import absent_device, tensor_placement

    def run(text: str) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": "somebodys_file"}
        exec(compile(text, "somebodys_file.py", "exec"), names)
        return names

    with absent_device.no_driver("xpu"), tensor_placement.elsewhere("xpu", "cpu"):
        yield run


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("import torch\nx = torch.empty(4, device='xpu:0')\n", "xpu"),
        ("import torch\ntorch.cuda.synchronize()\n", "cuda"),
        ("import intel_extension_for_pytorch as ipex\n", "xpu"),
        ("def f(x):\n    assert x.is_cuda\n", "cuda"),
        ("# for cuda, once\nimport torch\nassert torch.xpu.is_available()\n", "xpu"),
        ("a = ['xpu', 'cuda', 'cuda']\n", "cuda"),
        ("import torch\n", None),
        ("def broken(:\n", None),
    ],
)
def test_a_file_names_the_device_it_is_written_for(
    tmp_path: Path, text: str, kind: str | None
) -> None:
    from tilewright.worker.host import device_api

    path = tmp_path / "kernel.py"
    path.write_text(text)
    assert device_api.written_for(str(path)) == kind


def test_tensors_lie_here_and_say_what_their_host_code_expects(placed: Run) -> None:
    names = placed(
        "import torch\n"
        "x = torch.ones(4, device='xpu:0').xpu().to(torch.device('xpu'), torch.float16)\n"
        "kind, index = x.device.type, x.get_device()\n"
        "claims = (x.is_xpu, x.is_cuda, x.is_cpu)\n"
        "like = torch.empty_like(x, device=x.device)\n"
        "module = torch.nn.Linear(4, 4).to('xpu')\n"
        "drawn = torch.rand(3, generator=torch.Generator(device='xpu').manual_seed(0), "
        "device='xpu')\n"
        "pinned = torch.zeros(2, pin_memory=True).pin_memory()\n"
    )
    assert (names["kind"], names["index"], names["claims"]) == ("xpu", 0, (True, False, False))
    for value in (names["x"], names["like"], names["module"].weight, names["drawn"]):
        assert value.untyped_storage().device.type == "cpu"
    assert names["x"].dtype is names["like"].dtype


def test_torch_itself_goes_on_being_told_the_truth(placed: Run) -> None:
    import torch

    tensor = placed("import torch\nx = torch.ones(4, device='xpu')\n")["x"]
    telling = types.FunctionType(
        compile("tensor.device.type", "inside.py", "eval"), {"__name__": "torch.inside"}
    )
    telling.__globals__["tensor"] = tensor
    assert telling() == "cpu"
    assert torch.Tensor.__repr__(tensor) == "tensor([1., 1., 1., 1.])"


def test_questions_to_the_device_have_answers(placed: Run) -> None:
    names = placed(
        "import torch\n"
        "import intel_extension_for_pytorch as ipex\n"
        "told = (torch.xpu.is_available(), torch.xpu.device_count(), torch.xpu.current_device())\n"
        "general = torch.accelerator.current_accelerator().type\n"
        "free, total = torch.xpu.mem_get_info()\n"
        "with torch.xpu.device(0), torch.xpu.stream(torch.xpu.Stream()):\n"
        "    torch.xpu.manual_seed(3)\n"
        "    first = torch.rand(2, device='xpu')\n"
        "torch.xpu.manual_seed_all(3)\n"
        "again = torch.rand(2, device='xpu')\n"
        "torch.xpu.empty_cache()\n"
        "model = ipex.optimize(torch.nn.Linear(2, 2))\n"
    )
    assert names["told"] == (True, 1, 0)
    assert names["general"] == "xpu"
    assert names["free"] == names["total"] > 0
    assert names["first"].equal(names["again"])
    assert type(names["model"]).__name__ == "Linear"


def test_autocast_casts_where_the_tensors_lie(placed: Run) -> None:
    names = placed(
        "import torch\n"
        "a = torch.ones(8, 8, device='xpu')\n"
        "with torch.autocast('xpu', dtype=torch.bfloat16):\n"
        "    product = a @ a\n"
    )
    assert str(names["product"].dtype) == "torch.bfloat16"


def test_an_event_times_nothing_that_was_not_recorded(placed: Run) -> None:
    names = placed(
        "import time, torch\n"
        "start, end = (torch.xpu.Event(enable_timing=True) for _ in range(2))\n"
        "start.record()\n"
        "time.sleep(0.02)\n"
        "end.record(torch.xpu.current_stream())\n"
        "elapsed = start.elapsed_time(end)\n"
    )
    assert names["elapsed"] >= 20
    with pytest.raises(RuntimeError, match="must be recorded"):
        placed("import torch\ntorch.xpu.Event().elapsed_time(torch.xpu.Event())\n")


def test_it_is_gone_afterwards() -> None:
    import torch

    from tilewright.worker.host import absent_device, tensor_placement

    before = dict(vars(torch.xpu)), dict(vars(torch.Tensor))
    with absent_device.no_driver("xpu"), tensor_placement.elsewhere("xpu", "cpu"):
        assert torch.xpu.is_available()
    assert (dict(vars(torch.xpu)), dict(vars(torch.Tensor))) == before


def test_another_device_answers_by_its_own_module(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from tilewright.worker.host import device_api

    asked: list[Any] = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device=None: asked.append(device))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    real = types.SimpleNamespace(name="H200", total_memory=1 << 37, multi_processor_count=132)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: real)
    with device_api.another("xpu", "cuda:0"):
        assert torch.xpu.is_available()
        torch.xpu.synchronize("xpu:0")
        assert torch.xpu.Event is torch.cuda.Event
        told = torch.xpu.get_device_properties("xpu")
    assert asked == [torch.device("cuda:0")]
    assert (told.name, told.total_memory) == ("H200", 1 << 37)
    assert told.gpu_subslice_count > 0


def test_options_of_another_compiler_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from triton.runtime.jit import JITFunction

    from tilewright.worker.launches import hooks

    given: list[dict[str, Any]] = []

    def run(kernel: Any, *args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in ("num_warps", "BLOCK"):
                raise KeyError(f"Keyword argument {name} was specified but unrecognised")
        given.append(kwargs)

    monkeypatch.setattr(JITFunction, "run", run)
    monkeypatch.setattr(hooks, "left_out", set())
    kernel: Any = types.SimpleNamespace(arg_names=["BLOCK"])
    with hooks.without_unknown_options():
        for _ in range(2):
            JITFunction.run(kernel, BLOCK=4, grf_mode="256", num_warps=8, waves_per_eu=2)
    assert given == [{"BLOCK": 4, "num_warps": 8}] * 2
    assert hooks.left_out == {"grf_mode", "waves_per_eu"}


def test_a_model_for_intel_is_recorded_compiled_and_run(bench: Bench) -> None:
    path = str(KERNELS / "for_intel.py")
    case = {**case_of(tensor("x", 1000)), "init_args": [3.0]}
    about = {"module": path, "entry": MODEL, "case": case}
    recorded = bench.get("capture", **about)
    (launch,) = recorded["launches"]
    assert recorded["mode"] == "fake"
    assert launch["options"]["grf_mode"] == "256"
    assert any("32 Xe cores were assumed" in note for note in recorded["notes"])
    target = {"backend": "cuda", "arch": "90"}
    report = bench.get("compile", module=path, launch=launch, target=target)
    assert report["ok"], report["messages"]
    assert report["details"]["options_not_known_to_compiler"] == "grf_mode"
    value = bench.get(
        "run", **about, inputs=bench.inputs(case), device="interpreter", out=bench.out()
    )
    assert value["launches"] == {"scale_kernel": 1}
    assert any(text.startswith("the host code was written for xpu") for text in value["caveats"])


def test_what_the_host_reads_is_computed_while_launches_are_recorded(bench: Bench) -> None:
    about = {
        "module": str(KERNELS / "counted.py"), "entry": {"kind": "function", "name": "positive"},
        "case": case_of(tensor("x", 8, 100)),
    }  # fmt: skip
    value = bench.get("capture", **about)
    assert [launch["kernel"] for launch in value["launches"]] == ["count_kernel", "compact_kernel"]
    (out,) = (f for f in value["launches"][1]["arguments"] if f["name"] == "out_ptr")
    assert 300 < out["shape"][0] < 500, "about half of 800 normal numbers are positive"
    assert any("1 launches (count_kernel) ran in the interpreter" in n for n in value["notes"])
