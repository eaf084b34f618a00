"""What is compiled: the launches captured of a file, with no problem of its own."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tilewright.captures import (
    CaptureError,
    Found,
    load_captures,
    problem_to_compile,
    stale_note,
)
from tilewright.cli.captured import found_in
from tilewright.cli.compile_variants import Launches
from tilewright.cli.inputs import read_source
from tilewright.cli.session import device_for
from tilewright.evaluation.syntax import require_python
from tilewright.evaluation.workbench import Workbench
from tilewright.scratch import scratch_folder
from tilewright.signatures import Origin, Signature, specialization_key
from tilewright.source import parse_module
from tilewright.targets.model import LaunchFacts


@contextmanager
def captured_launches(path: Path, kernel: str | None, folder: Path) -> Iterator[Launches]:
    """What was captured of the file's kernels, or of one, once for each that compiles alike.

    Raises:
        CaptureError: no such folder, or nothing in it that fits the file as it is.
        InputError: the file does not parse.
    """
    text = read_source(path)
    require_python(parse_module(text, str(path)))
    known = found_in(load_captures(folder), path)
    found, total = _wanted(known, kernel)
    if not found:
        what = kernel or "any kernel of it"
        raise CaptureError(f"{folder} has no launch of {what} as it is now", str(path))
    alike = {specialization_key(launch): launch for launch in reversed(found)}
    launches = tuple(launch for launch in found if launch in alike.values())
    said = f"{total} captured launches, {len(launches)} of them different to the compiler"
    notes = (said, *(stale_note(path, stale) for stale in known.stale))
    signatures = tuple(Signature(launch, Origin.CAPTURED) for launch in launches)
    with device_for("interpreter", None) as device, scratch_folder() as scratch:
        problem = problem_to_compile(folder, found[0].kernel)
        bench = Workbench(device, problem, path, scratch, secrets.randbits(48))
        yield Launches(text, bench, launches, notes, signatures)


def _wanted(found: Found, kernel: str | None) -> tuple[list[LaunchFacts], int]:
    """(launches of the file's kernels that did not fail, how often they came)."""
    fitting = [x for x in found.fitting if kernel in (None, x.kernel)]
    seen = [launch for x in fitting for launch in x.launches if launch.failure is None]
    return [launch.facts for launch in seen], sum(launch.count for launch in seen)
