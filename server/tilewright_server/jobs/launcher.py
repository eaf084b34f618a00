"""Becomes the command it is given, at a lower priority, after asking to die with the server.

Run as a script, by path, in isolated mode; standard library only. Where the operating system
has no such request, the command notices the server's end by its closed pipes.

Arguments: the server's process id, then the command.
"""

import ctypes
import os
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_NICER = 10
"""Who types waits for the server, not for the compilers and the simulators that it starts."""
_AUTOGROUP = "/proc/self/autogroup"
_TRIES = 20
_PAUSE_S = 0.03


def main(arguments: list[str]) -> None:
    """Never returns: the process becomes the command, or ends because the server is gone."""
    parent, *command = arguments
    if hasattr(os, "nice"):
        os.nice(_NICER)
        if os.getsid(0) == os.getpid():
            _sink_session()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            raise SystemExit(1)
    os.execv(command[0], command)


def _sink_session() -> None:
    """Give the session that this process leads its own niceness.

    Linux may schedule each session as one (autogroup); the niceness of a process then counts within
    its session alone. Changes are taken one in a tenth of a second, of all sessions.
    """
    for _ in range(_TRIES):
        try:
            with open(_AUTOGROUP, "w") as group:  # noqa: PTH123  a script that starts quickly
                group.write(str(_NICER))
        except BlockingIOError:
            time.sleep(_PAUSE_S)
        except OSError:
            return  # not Linux, or without such groups
        else:
            return


if __name__ == "__main__":
    main(sys.argv[1:])
