"""The Triton version of the checked code: as given, else the installed one."""

import re
from functools import cache
from importlib import metadata

from tilewright.errors import InputError


def parse_version(text: str) -> tuple[int, int]:
    """(major, minor) of a version such as "3.6" or "3.6.0+git".

    Raises:
        InputError: it is no version.
    """
    found = re.match(r"(\d+)\.(\d+)", text.strip())
    if found is None:
        raise InputError(f"{text!r} is no version of Triton; write it like 3.9")
    return int(found[1]), int(found[2])


@cache
def installed_triton() -> tuple[int, int] | None:
    """(major, minor) of the Triton in this interpreter, from its metadata; None without one."""
    try:
        return parse_version(metadata.version("triton"))
    except metadata.PackageNotFoundError:
        return None
