"""A device that compiles in a home of its own."""

from collections.abc import Iterator

import pytest

from tilewright.devices.client import WorkerDevice
from tilewright.devices.opening import open_device


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerDevice]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_HOME", str(tmp_path_factory.mktemp("home")))
        yield open_device("interpreter")
