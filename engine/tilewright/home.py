"""Where Tilewright keeps what it makes: the store, compile reports, the packed worker."""

import os
from pathlib import Path


def home() -> Path:
    """``$TILEWRIGHT_HOME``, else ``~/.cache/tilewright``; made if it is not there."""
    path = Path(os.environ.get("TILEWRIGHT_HOME") or Path.home() / ".cache" / "tilewright")
    path.mkdir(parents=True, exist_ok=True)
    return path
