"""Becomes the command it is given, at a lower priority, after asking to die with the server.

Run as a script, by path, in isolated mode; standard library only. Where the operating system
has no such request, the command notices the server's end by its closed pipes.

The command stays in the server's session: Linux may schedule each session as one (autogroup), and
the niceness of a process counts among those of its session alone. It gives up the terminal of the
session, which the code that it runs must not write to.

Arguments: the server's process id, then the command.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_AUTOGROUP = "/proc/sys/kernel/sched_autogroup_enabled"


def main(arguments: list[str]) -> None:
    """Never returns: the process becomes the command, or ends because the server is gone."""
    parent, *command = arguments
    if hasattr(os, "nice"):
        os.nice(_nicer())
        _give_up_terminal()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            raise SystemExit(1)
    os.execv(command[0], command)


def _nicer() -> int:
    """Who types waits for the server, not for the compilers and the simulators that it starts.

    Where niceness counts within the session alone, the most of it takes nothing from the session.
    """
    try:
        with open(_AUTOGROUP) as setting:  # noqa: PTH123  a script that starts quickly
            by_session = setting.read().strip() == "1"
    except OSError:
        by_session = False
    return 19 if by_session else 10


def _give_up_terminal() -> None:
    import fcntl
    import termios

    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return  # the session has none
    fcntl.ioctl(terminal, termios.TIOCNOTTY)
    os.close(terminal)


if __name__ == "__main__":
    main(sys.argv[1:])
