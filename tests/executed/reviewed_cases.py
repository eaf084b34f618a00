"""What reviews by a model show of the cases, run in the interpreter.

``make realbugs-reviewed`` runs the recorded replies and writes ``reviewed.yaml`` and
``speed_reviewed.yaml``, which the page reads; minutes. ``python tests/executed/reviewed_cases.py
prompts FOLDER`` writes the prompts instead, as ``case/version.md``, for whoever is to reply.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from reported_cases import Case, Kind, cases
from review_record import FAULTS, LOST_TIME, VERSIONS, Reviewed, Shown

from tilewright.agents import reviewer, speed_reviewer
from tilewright.agents.model import Unusable
from tilewright.devices.model import INTERPRETER, Device
from tilewright.devices.opening import open_device
from tilewright.executed.jobs import NotImportedError
from tilewright.executed.lost_time import lost_time
from tilewright.executed.observations import Wrong
from tilewright.executed.reviews import is_fault_of, reviewed, reviewed_functions
from tilewright.executed.search import Tried
from tilewright.source import parse_module

Run = Callable[[str, str, Path, Device], Shown]
"""Runs a reply to the prompt of a text, in a folder."""


def faults_shown(text: str, reply: str, folder: Path, device: Device) -> Shown:
    """What a review of faults shows."""
    review = reviewer.parse(reply)
    if isinstance(review, Unusable):
        return Shown(ran=False)
    tried = _tried(reviewed, review, text, folder, device)
    seen = [one for one in tried if one.sightings]
    lines = [f.line for f in review.faults if any(is_fault_of(f, one.function) for one in seen)]
    texts = [s.fault.text for one in seen for s in one.sightings if s.fault.kind is Wrong.REVIEW]
    texts += [s.fault.text for one in seen for s in one.sightings]
    return Shown(
        ran=any(not one.why for one in tried) or bool(seen),
        lines=tuple(dict.fromkeys(lines)),
        text=texts[0].partition(" The reference is in ")[0] if texts else "",
    )


def lost_time_shown(text: str, reply: str, folder: Path, device: Device) -> Shown:
    """What a review of lost time shows."""
    review = speed_reviewer.parse(reply)
    if isinstance(review, Unusable):
        return Shown(ran=False)
    tried = _tried(lost_time, review, text, folder, device)
    faults = [sighting.fault for one in tried for sighting in one.sightings]
    return Shown(
        ran=any(one.call is not None for one in tried),
        lines=tuple(dict.fromkeys(fault.line for fault in faults)),
        text="\n".join(one.text.partition(" It is in ")[0] for one in faults),
    )


def _tried(
    run: Callable[..., list[Tried]], review: Any, text: str, folder: Path, device: Device
) -> list[Tried]:
    """What running a review of a text shows; nothing where the text cannot be imported."""
    place, written = folder / "kernels.py", folder / "review.py"
    place.write_text(text)
    written.write_text(review.code)
    try:
        return run(parse_module(text, str(place)), str(place), review, written, device)
    except NotImportedError:
        return []


def all_shown(of: Reviewed, run: Run) -> Iterator[tuple[Case, str, Shown]]:
    """Each version of which there is a reply, run."""
    device = open_device(INTERPRETER)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for case in cases():
                for version in VERSIONS:
                    reply = of.replies.get((case.name, version))
                    if reply is not None:
                        text = case.faulty if version == "faulty" else case.fixed
                        yield case, version, run(text, reply, Path(folder), device)
    finally:
        device.close()


def write_prompts(folder: Path) -> None:
    """The prompts of all versions that have a host function."""
    for case in cases():
        build = reviewer.build if case.entry.kind is Kind.BUG else speed_reviewer.build
        for version in VERSIONS:
            text = case.faulty if version == "faulty" else case.fixed
            functions = reviewed_functions(parse_module(text, "kernels.py"))
            if functions:
                path = folder / case.name / f"{version}.md"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("\n\n".join(m.text for m in build(text, functions).messages()))


def write_record(of: Reviewed, run: Run) -> None:
    """Run the replies of one kind, and write what that shows."""
    found: dict[str, dict[str, object]] = {}
    for case, version, one in all_shown(of, run):
        found.setdefault(case.name, {})[version] = one.model_dump(
            mode="json", exclude_defaults=True
        )
        of.runs_at.write_text(yaml.safe_dump(found, width=100))
        sys.stdout.write(f"{case.name} {version}: {one.lines} {one.text[:100]}\n")
        sys.stdout.flush()


def _main(arguments: list[str]) -> None:
    if arguments[:1] == ["prompts"]:
        write_prompts(Path(arguments[1]))
        return
    write_record(FAULTS, faults_shown)
    write_record(LOST_TIME, lost_time_shown)


if __name__ == "__main__":
    _main(sys.argv[1:])
