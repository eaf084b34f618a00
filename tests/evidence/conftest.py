"""One interpreter, and one court on it, for all candidates."""

from collections.abc import Iterator

import pytest
from candidates import Court, court_on

from tilewright.devices.opening import open_device


@pytest.fixture(scope="session")
def court() -> Iterator[Court]:
    device = open_device("interpreter")
    with court_on(device) as opened:
        yield opened
    device.close()


@pytest.fixture(scope="session")
def device_court() -> Iterator[Court]:
    device = open_device("cuda:0")
    with court_on(device) as opened:
        yield opened
    device.close()
