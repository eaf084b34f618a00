"""Which chip is profiled for when nobody named one."""

import sys
from pathlib import Path

import pytest

from tilewright_server.jobs.local import local_target

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
