"""A device that compiles in a home of its own."""

import sys
from collections.abc import Iterator

import pytest

from tilewright.devices import DeviceInfo, WorkerClient
from tilewright.devices.local import WorkerDevice


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerDevice]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_HOME", str(tmp_path_factory.mktemp("home")))
        with WorkerClient(sys.executable) as client:
            hello = client.hello
            info = DeviceInfo(
                "interpreter", "", None, False, hello["torch"], hello["triton"], hello["python"]
            )
            yield WorkerDevice(client, info)
