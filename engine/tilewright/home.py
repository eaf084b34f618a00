"""Where Tilewright keeps what it makes: the store, compile reports, the packed worker."""

import os
from pathlib import Path

from tilewright.errors import InputError


def home() -> Path:
    """``$TILEWRIGHT_HOME``, else ``~/.cache/tilewright``; made if it is not there.

    Raises InputError where it cannot be made.
    """
    path = Path(os.environ.get("TILEWRIGHT_HOME") or Path.home() / ".cache" / "tilewright")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unkept(path, error) from error
    return path


def unkept(path: Path, error: OSError) -> InputError:
    """That what Tilewright keeps cannot be put there, and what to do."""
    why = error.strerror or type(error).__name__
    return InputError(
        f"the folder cannot be written ({why}); free space, or name another folder in "
        "TILEWRIGHT_HOME",
        str(path),
    )
