"""``tilewright`` on the pretended GPU of the worker's tests, in a process of its own.

    python tests/models/pretended_run.py optimize FILE --device cuda:0 ...

That device computes in the interpreter and times with the host's clock, so that a kernel that does
twice the work is slower. Its times say nothing about a GPU.
"""

import sys
import tempfile
from pathlib import Path
from unittest import mock

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "worker"))

import pretended_device  # noqa: E402

from tilewright.cli import session  # noqa: E402
from tilewright.cli.main import main  # noqa: E402


def run() -> None:
    """The command line with this device in the place of every other."""
    with (
        tempfile.TemporaryDirectory() as folder,
        pretended_device.device(Path(folder)) as device,
        mock.patch.object(session, "open_device", return_value=device),
    ):
        main()


if __name__ == "__main__":
    run()
