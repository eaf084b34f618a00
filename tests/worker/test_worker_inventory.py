"""What a probe tells of GPUs that are not here: stand-ins for torch's NVIDIA, AMD and Intel."""

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from tilewright.worker.runtime import gpu_inventory

GIB = 1 << 30
H200 = SimpleNamespace(
    name="NVIDIA H200", major=9, minor=0, total_memory=139 * GIB, multi_processor_count=132,
    L2_cache_size=60 << 20, uuid="aaaa",
)  # fmt: skip
MI300 = SimpleNamespace(
    name="AMD Instinct MI300X", gcnArchName="gfx942:sramecc+:xnack-", total_memory=192 * GIB,
    multi_processor_count=304, L2_cache_size=4 << 20,
)  # fmt: skip
BMG = SimpleNamespace(
    name="Intel(R) Arc(TM) B580", total_memory=12 * GIB, gpu_subslice_count=20, architecture=0,
    driver_version="1.6.33578",
)  # fmt: skip


def stand_in(monkeypatch: pytest.MonkeyPatch, kind: str, *properties: Any, hip: Any = None) -> None:
    """Let torch have these GPUs and no other."""
    for name in gpu_inventory.KINDS:
        here = properties if name == kind else ()
        api = SimpleNamespace(
            is_available=lambda here=here: bool(here),
            device_count=lambda here=here: len(here),
            get_device_properties=lambda index, here=here: here[index],
            mem_get_info=lambda index, here=here: (GIB, here[index].total_memory),
        )
        monkeypatch.setattr(gpu_inventory.torch, name, api)
    monkeypatch.setattr(gpu_inventory.torch, "version", SimpleNamespace(hip=hip))


@pytest.mark.parametrize(
    ("kind", "properties", "hip", "told"),
    [
        ("cuda", H200, None, ("cuda:1", "cuda", "90", 132)),
        ("cuda", MI300, "6.4", ("cuda:1", "hip", "gfx942", 304)),
        ("xpu", BMG, None, ("xpu:1", "xpu", "Intel(R) Arc(TM) B580", 20)),
    ],
)
def test_each_vendors_gpus_are_told_by_one_code(
    monkeypatch: pytest.MonkeyPatch, kind: str, properties: Any, hip: Any, told: tuple[Any, ...]
) -> None:
    stand_in(monkeypatch, kind, properties, properties, hip=hip)
    first, second = gpu_inventory.gpus()
    names = ("id", "backend", "arch", "multiprocessors")
    assert tuple(second[name] for name in names) == told
    assert first["id"] == f"{kind}:0"
    assert second["memory_bytes"] == properties.total_memory


def test_details_say_memory_driver_users_and_whether_triton_can(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in(monkeypatch, "cuda", H200)
    smi = tmp_path / "nvidia-smi"
    smi.write_text(
        '#!/bin/sh\ncase "$1" in *compute-apps*) echo "GPU-aaaa, 41, 2048";'
        ' echo "GPU-bbbb, 42, 1"; echo "GPU-aaaa, 43, [N/A]";; *) echo 570.1;; esac\n'
    )
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(gpu_inventory, "active_backends", lambda: ["nvidia"])
    (found,) = gpu_inventory.gpus(details=True)
    assert found["free_bytes"] == GIB
    assert found["can_run"]
    assert found["driver"]
    assert found["users"] == [
        {"pid": 41, "memory_bytes": 2 * GIB},
        {"pid": 43, "memory_bytes": None},
    ]


def test_what_cannot_be_told_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "xpu", BMG)
    monkeypatch.setenv("PATH", "/nowhere")

    def fails(index: int) -> tuple[int, int]:
        raise RuntimeError(f"xpu:{index} does not tell")

    monkeypatch.setattr(gpu_inventory.torch.xpu, "mem_get_info", fails)
    monkeypatch.setattr(gpu_inventory, "active_backends", lambda: ["nvidia"])
    (found,) = gpu_inventory.gpus(details=True)
    assert (found["users"], found["free_bytes"], found["can_run"]) == (None, None, False)
    assert found["driver"] == "1.6.33578"


def test_a_driver_tool_that_hangs_or_fails_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "cuda", H200)
    monkeypatch.setattr(gpu_inventory.shutil, "which", lambda name: f"/nowhere/{name}")

    def hangs(*arguments: Any, **options: Any) -> Any:
        raise subprocess.TimeoutExpired("nvidia-smi", options["timeout"])

    monkeypatch.setattr(gpu_inventory.subprocess, "run", hangs)
    (found,) = gpu_inventory.gpus(details=True)
    assert found["users"] is None


def test_profilers_are_found_on_the_path_or_where_vendors_put_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("ncu", "unitrace"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = gpu_inventory.profilers()
    assert found["ncu"] == str(tmp_path / "ncu")
    assert found["unitrace"] == str(tmp_path / "unitrace")
    assert found["proton"].startswith("triton ")
