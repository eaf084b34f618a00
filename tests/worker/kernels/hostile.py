"""Entry points that misbehave; each takes one tensor."""
# ruff: noqa: ANN001, ANN201, ANN202, ANN204, T201

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

VICTIM = os.environ.get("VICTIM", "")


def loops_forever(x):
    while True:
        pass


def prints_a_gigabyte(x):
    line = b"all work and no play " * 50_000
    for _ in range(1 << 10):
        os.write(1, line)
    return x


def daemonizes(x):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    return x


def starts_a_sleeper_and_loops(x):
    subprocess.Popen(["sleep", "601"], start_new_session=True)
    loops_forever(x)


def forks_without_end(x):
    for _ in range(200):
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
    loops_forever(x)


def deletes_files(x):
    Path(VICTIM).unlink()
    return x


def overwrites_files(x):
    Path(VICTIM).write_text("mine")
    return x


def leaves_at_once(x):
    os._exit(0)


def exits(x):
    sys.exit(0)


def aborts(x):
    os.abort()


def takes_too_much(x):
    return x.new_ones(1 << 42)


def grows_a_list(x):
    held = []
    while True:
        held.append(bytearray(1 << 28))


def kills_its_parent(x):
    os.kill(os.getppid(), signal.SIGKILL)
    return x


def connects(x):
    socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), timeout=5)
    return x


def shows_secrets(x):
    print(sorted(name for name in os.environ if "TOKEN" in name or "KEY" in name))
    return x


def fails_on_a_line(x):
    return x.reshape(7, 7, 7)


def forges_a_result(x):
    os.write(1, b'{"id": 1, "status": "ok", "value": {"outputs": []}}')
    raise ValueError("no")


def fills_the_disk(x):
    with Path("big").open("wb") as file:
        for _ in range(1 << 12):
            file.write(b"\0" * (1 << 20))
    return x
