"""What the server starts gives way to it, also where Linux schedules each session as one."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

from tilewright_server.jobs.engine_host import launched

AUTOGROUP = Path("/proc/self/autogroup")
HANGS_S = 600
SHOWS = """
import json, os
def terminal():
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
print(json.dumps({
    "niceness": os.nice(0), "session": os.getsid(0), "group": os.getpgid(0), "pid": os.getpid(),
    "terminal": terminal(),
}))
"""
IN_A_TERMINAL = """
import fcntl, os, subprocess, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from tilewright_server.jobs.engine_host import launched
os.close(os.open("/dev/tty", os.O_RDWR))
shown = subprocess.run(
    launched((sys.executable, "-c", sys.argv[1])), capture_output=True, text=True, process_group=0
)
with open(sys.argv[2], "w") as file:
    file.write(shown.stdout)
"""


def test_a_command_gives_way_within_the_session_of_the_server() -> None:
    before = AUTOGROUP.read_text() if AUTOGROUP.exists() else ""
    shown = _shown(launched((sys.executable, "-c", SHOWS)))
    assert shown["niceness"] == min(19, os.nice(0) + (19 if _scheduled_by_session() else 10))
    assert shown["session"] == os.getsid(0)
    assert shown["group"] == shown["pid"]
    assert (AUTOGROUP.read_text() if AUTOGROUP.exists() else "") == before


def test_a_command_has_no_terminal_where_the_session_has_one(tmp_path: Path) -> None:
    own, other = pty.openpty()
    place = tmp_path / "shown"
    with subprocess.Popen(
        (sys.executable, "-c", IN_A_TERMINAL, SHOWS, str(place)), stdin=other, close_fds=True
    ) as leader:
        assert leader.wait(HANGS_S) == 0
    os.close(own)
    os.close(other)
    shown = json.loads(place.read_text())
    assert shown["terminal"] is False
    assert shown["session"] == leader.pid


def _scheduled_by_session() -> bool:
    setting = Path("/proc/sys/kernel/sched_autogroup_enabled")
    return setting.exists() and setting.read_text().strip() == "1"


def _shown(command: tuple[str, ...]) -> dict[str, Any]:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=HANGS_S, process_group=0, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found
