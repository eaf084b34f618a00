"""Faults of Tilewright, as opposed to faults of a candidate, with a file to report."""

import hashlib
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from tilewright.errors import InputError, TilewrightError
from tilewright.home import home


class HarnessFaultError(TilewrightError):
    """Tilewright failed during a verification; the failure is no verdict on the candidate.

    ``report``: the file with all that is known of it; None where that could not be written.
    """

    def __init__(self, message: str, report: str | None = None) -> None:
        super().__init__(message)
        self.report = report


def harness_fault(
    what: str, version: str, device: str, details: Mapping[str, str]
) -> HarnessFaultError:
    """The error for ``what`` went wrong; ``details`` (a traceback, say) go into the file alone."""
    told = {
        "fault": what, "tilewright": version, "device": device,
        "python": platform.python_version(), "system": platform.platform(), **details,
    }  # fmt: skip
    text = "\n".join(f"{name}: {value}" for name, value in told.items() if value)
    place = _write_report_file(f"{text}\n")
    where = str(place) if place else "what is printed here, as no file could be written"
    return HarnessFaultError(
        f"a fault of Tilewright and no verdict on the candidate: {what}; please report it "
        f"(Tilewright {version}, {device}) with {where}",
        str(place) if place else None,
    )


def _write_report_file(text: str) -> Path | None:
    """A file with the text; None where there is no place for one."""
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    name = f"{now}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.txt"
    try:
        place = home() / "faults" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, "utf-8")
    except (OSError, InputError):
        return None
    return place
