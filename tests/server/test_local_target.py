"""Which chip is profiled for when nobody named one."""

import sys
from pathlib import Path

import pytest

from tilewright_server.jobs.local_gpu import Toolchains, device_ids, local_target, toolchains_here

SCRIPT = "import sys; assert sys.argv[1:] == ['devices', '--format', 'json']; print({said!r})"
GPU = '{"can_time": true, "target": {"backend": "cuda", "arch": "80"}}'
INTERPRETER = '{"can_time": false, "target": null}'


@pytest.mark.parametrize(
    ("said", "target"),
    [
        (f'{{"devices": [{INTERPRETER}, {GPU}]}}', "cuda:80"),
        (f'{{"devices": [{INTERPRETER}]}}', None),
        ("no JSON", None),
        ('{"devices": 3}', None),
    ],
)
async def test_first_device_that_can_time(said: str, target: str | None) -> None:
    command = (sys.executable, "-c", SCRIPT.format(said=said))
    assert await local_target(command, {}) == target


async def test_engine_that_is_not_there(tmp_path: Path) -> None:
    assert await local_target((str(tmp_path / "none"),), {}) is None


TRITON = '{"backend": "xpu", "part": "triton", "found": true, "targets": ["pvc", "bmg-g31"]}'
MISSING = (
    '{"backend": "hip", "part": "triton", "found": false, "targets": [], '
    '"missing": "install Triton for AMD"}'
)
OCLOC = '{"backend": "xpu", "part": "ocloc", "found": true, "targets": ["lnl"]}'


async def test_a_chip_is_compiled_for_where_its_triton_is() -> None:
    said = f'{{"toolchains": [{TRITON}, {MISSING}, {OCLOC}]}}'
    script = SCRIPT.replace("'devices'", "'toolchain', 'list'").format(said=said)
    found = await toolchains_here((sys.executable, "-c", script), {})
    assert found.compiled == {"xpu:pvc", "xpu:bmg-g31"}
    assert found.missing == {"hip": "install Triton for AMD"}


async def test_without_an_answer_no_chip_is_compiled_for(tmp_path: Path) -> None:
    nowhere = (str(tmp_path / "none"),)
    assert await toolchains_here(nowhere, {}) == Toolchains()
    assert await device_ids(nowhere, {}) == ()


async def test_devices_that_cannot_run_are_left_out() -> None:
    said = '{"devices": [{"id": "interpreter"}, {"id": "cuda:0", "can_run": false}]}'
    command = (sys.executable, "-c", SCRIPT.format(said=said))
    assert await device_ids(command, {}) == ("interpreter",)
