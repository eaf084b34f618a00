"""What the server starts gives way to it, also where Linux schedules each session as one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright_server.jobs.engine_host import launched

AUTOGROUP = Path("/proc/self/autogroup")
pytestmark = pytest.mark.skipif(
    not AUTOGROUP.exists(), reason="a system that does not schedule sessions"
)


def test_the_session_of_a_command_has_the_priority_of_its_process() -> None:
    program = "import os; print(os.nice(0), open('/proc/self/autogroup').read())"
    started = subprocess.run(
        launched((sys.executable, "-c", program)),
        capture_output=True,
        text=True,
        timeout=600,
        start_new_session=True,
    )
    niceness, _, group = started.stdout.strip().partition(" ")
    assert int(niceness) == min(19, os.nice(0) + 10), started.stderr
    assert group.endswith("nice 10")


def test_the_session_of_another_process_keeps_its_priority() -> None:
    before = AUTOGROUP.read_text()
    ended = subprocess.run(launched((sys.executable, "-c", "")), timeout=600)
    assert ended.returncode == 0
    assert AUTOGROUP.read_text() == before
