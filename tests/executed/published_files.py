"""What reviews show of files of published packages, run in the interpreter.

    python tests/executed/published_files.py FOLDER

FOLDER has the packages of ``tests/realbugs/published/files.yaml``, unpacked: ``pip download
--no-deps`` of each and ``unzip``, into a folder each. Prints what each review shows; the exit code
is 1 where a function on record shows nothing.
"""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tilewright.agents import reviewer
from tilewright.agents.reviewer import Review
from tilewright.devices.model import INTERPRETER, Device
from tilewright.devices.opening import open_device
from tilewright.executed.jobs import NotImportedError
from tilewright.executed.reviews import reviewed
from tilewright.source import parse_module

RECORD = Path(__file__).parents[1] / "realbugs" / "published" / "files.yaml"


def shown(place: Path, reply: str, written: Path, device: Device) -> dict[str, str]:
    """The first thing that a review shows of each function; empty where the file is not run."""
    review = reviewer.parse(reply)
    assert isinstance(review, Review)
    written.write_text(review.code)
    module = parse_module(place.read_text(), str(place))
    try:
        tried = reviewed(module, str(place), review, written, device)
    except NotImportedError as error:
        sys.stdout.write(f"  {error}\n")
        return {}
    return {one.function: one.sightings[0].fault.text for one in tried if one.sightings}


def main(folder: Path) -> int:
    """Run all files that are there."""
    record: Mapping[str, Any] = yaml.safe_load(RECORD.read_text())
    lost = 0
    device = open_device(INTERPRETER)
    with tempfile.TemporaryDirectory() as scratch:
        for name, entry in record.items():
            place = next(folder.glob(f"*/{name}"), None)
            if place is None:
                sys.stdout.write(f"{name}: not there ({entry['package']})\n")
                continue
            found = shown(place, entry["reply"], Path(scratch) / "review.py", device)
            sys.stdout.write(f"{name}: {len(found)} functions\n")
            for function, text in found.items():
                sys.stdout.write(f"  {function}: {text}\n")
            lost += len(set(entry["reports"]) - set(found))
    device.close()
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
