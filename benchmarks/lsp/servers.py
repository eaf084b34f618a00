"""The servers to measure: how each is started, and which ways of diagnostics it knows."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OURS = "tilewright"
PEER = "ruff"


@dataclass(frozen=True)
class Server:
    """A language server. ``pulls``: it answers ``textDocument/diagnostic``."""

    name: str
    command: tuple[str, ...]
    pulls: bool
    is_slow: bool = False
    options: Any = None


def servers(environment: Path) -> tuple[Server, ...]:
    """Tilewright of this interpreter, and the others of an environment of their own."""
    folder = environment / "bin"
    # Compiling starts when a file is opened; its effect on latency is measured separately.
    quiet = {"compiled": {"run": "off"}, "profileOnSave": False}
    return (
        Server(OURS, (sys.executable, "-m", "tilewright", "lsp"), pulls=True, options=quiet),
        Server(PEER, (str(folder / "ruff"), "server"), pulls=True),
        Server(
            "basedpyright",
            (str(folder / "basedpyright-langserver"), "--stdio"),
            pulls=False,
            is_slow=True,
        ),
        Server("python-lsp-server", (str(folder / "pylsp"),), pulls=False, is_slow=True),
        Server(
            "jedi-language-server",
            (str(folder / "jedi-language-server"),),
            pulls=False,
            is_slow=True,
        ),
    )


@contextmanager
def environment(folder: Path) -> Iterator[None]:
    """Variables that servers inherit: byte code is kept, Tilewright's files lie in ``folder``.

    Byte code is what an installed server has; a folder of its own keeps results of earlier runs
    out.
    """
    before = dict(os.environ)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["TILEWRIGHT_HOME"] = str(folder / "home")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
