"""One arena of glibc for all threads of the server, in processes of their own."""

import ctypes
import subprocess
import sys

import pytest

_COUNTED = """
import ctypes, sys, tempfile, threading
from tilewright.collection import share_one_arena

if sys.argv[1] == "shared":
    share_one_arena()
alive = threading.Barrier(5)

def allocate():
    kept = [bytes(50_000) for _ in range(20)]
    alive.wait()
    alive.wait()

threads = [threading.Thread(target=allocate) for _ in range(4)]
for thread in threads:
    thread.start()
alive.wait()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
with tempfile.NamedTemporaryFile() as said:
    file = ctypes.c_void_p(libc.fopen(said.name.encode(), b"w"))
    libc.malloc_info(0, file)
    libc.fclose(file)
    print(said.read().count(b"<heap nr="))
alive.wait()
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_info"), reason="not glibc"
)
def test_threads_share_one_arena() -> None:
    assert _arenas("own") > 1
    assert _arenas("shared") == 1


def _arenas(kind: str) -> int:
    command = [sys.executable, "-c", _COUNTED, kind]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return int(said.stdout)
