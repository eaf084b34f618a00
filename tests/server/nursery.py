"""One process that has imported the server; each client gets a fork of it.

The variables of ``PASSED`` go along. A fork is as fresh as a process of its own and starts without
the second that the imports take.
``python nursery.py SOCKET`` listens there; ``python -IS nursery.py SOCKET connect`` is the command
a client starts: it hands its standard streams to a fork and ends as that ends.
"""

import json
import os
import signal
import socket
import sys
from collections.abc import Callable

PASSED = ("OPENAI_API_KEY", "TILEWRIGHT_MODEL_KEYS", "TEST_SPY", "TEST_LOG", "TILEWRIGHT_HOME")


def main() -> int:
    path = sys.argv[1]
    return connect(path) if "connect" in sys.argv else listen(path)


def connect(path: str) -> int:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        passed = {name: os.environ[name] for name in PASSED if name in os.environ}
        socket.send_fds(line, [json.dumps(passed).encode()], [0, 1, 2])
        code = line.recv(1)
    return code[0] if code else 70


def listen(path: str) -> int:
    import fake_server

    fake_server.preload()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a fork here
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(path)
        door.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            line, _ = door.accept()
            passed, streams, _, _ = socket.recv_fds(line, 65536, 3)
            if os.fork() == 0:
                door.close()
                os.environ.update(json.loads(passed))
                _become(line, streams, fake_server.main)
            line.close()
            for stream in streams:
                os.close(stream)


def _become(line: socket.socket, streams: list[int], serve: Callable[[], int]) -> None:
    """Serve on the client's streams; never returns."""
    code = 70
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        code = serve()
    finally:
        line.send(bytes([code]))
        os._exit(code)


if __name__ == "__main__":
    raise SystemExit(main())
