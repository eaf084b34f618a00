"""The first code that runs on another host: takes the worker's zip from standard input.

It is sent as text to ``python -c``, where nothing of the worker is there yet, by whatever Python is
there: hence no imports but the standard library's, and words instead of a traceback.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tempfile

_OLDEST = (3, 10)


def arrive(package: str, mark: str, size: int, arguments: list[str]) -> None:
    """Keep the zip in a folder of its own, and let the keeper take over; never returns.

    ``package`` is what the zip holds. ``mark`` is said before all else, so that the engine can tell
    what a login script printed.
    """
    # What lies in the folder where one is logged in must not be imported.
    sys.path[:] = [place for place in sys.path if place not in ("", os.getcwd())]  # noqa: PTH109
    if sys.version_info < _OLDEST:
        sys.exit(
            "{} is Python {}.{}; a worker needs 3.10 or newer".format(
                sys.executable or "it", *sys.version_info[:2]
            )
        )
    place = tempfile.mkdtemp(prefix="tilewright-{}-".format(os.getpid()))  # noqa: UP032
    place = os.path.realpath(place)  # as names of files in answers have it
    path = os.path.join(place, "worker.zip")  # noqa: PTH118
    with open(path, "wb") as file:  # noqa: PTH123
        while size > 0:
            data = os.read(0, min(size, 1 << 16))
            if not data:
                shutil.rmtree(place, ignore_errors=True)
                os._exit(1)
            file.write(data)
            size -= len(data)
    sys.path.insert(0, path)
    importlib.import_module(package + ".remote.agent").main(mark, place, path, arguments)
