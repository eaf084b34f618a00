"""What reviews by a model show of the cases, run in the interpreter.

``make realbugs-reviewed`` runs the recorded replies and writes ``reviewed.yaml``, which the page
reads; minutes. ``python tests/executed/reviewed_cases.py prompts FOLDER`` writes the prompts
instead, as ``case/version.md``, for whoever is to reply.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml
from reported_cases import Case, cases
from review_record import RECORD, VERSIONS, Shown, replies

from tilewright.agents import reviewer
from tilewright.agents.model import Unusable
from tilewright.devices.model import INTERPRETER, Device
from tilewright.devices.opening import open_device
from tilewright.executed.jobs import NotImportedError
from tilewright.executed.observations import Wrong
from tilewright.executed.reviews import is_fault_of, prompt_for, reviewed
from tilewright.source import parse_module


def shown(text: str, reply: str, folder: Path, device: Device) -> Shown:
    """Run a reply to the prompt of a text."""
    review = reviewer.parse(reply)
    if isinstance(review, Unusable):
        return Shown(ran=False)
    place, written = folder / "kernels.py", folder / "review.py"
    place.write_text(text)
    written.write_text(review.code)
    try:
        tried = reviewed(parse_module(text, str(place)), str(place), review, written, device)
    except NotImportedError:
        return Shown(ran=False)
    seen = [one for one in tried if one.sightings]
    lines = [f.line for f in review.faults if any(is_fault_of(f, one.function) for one in seen)]
    texts = [s.fault.text for one in seen for s in one.sightings if s.fault.kind is Wrong.REVIEW]
    texts += [s.fault.text for one in seen for s in one.sightings]
    return Shown(
        ran=any(not one.why for one in tried) or bool(seen),
        lines=tuple(dict.fromkeys(lines)),
        text=texts[0].partition(" The reference is in ")[0] if texts else "",
    )


def all_shown() -> Iterator[tuple[Case, str, Shown]]:
    """Each version of which there is a reply, run."""
    device = open_device(INTERPRETER)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for case in cases():
                for version in VERSIONS:
                    reply = replies().get((case.name, version))
                    if reply is not None:
                        text = case.faulty if version == "faulty" else case.fixed
                        yield case, version, shown(text, reply, Path(folder), device)
    finally:
        device.close()


def write_prompts(folder: Path) -> None:
    """The prompts of all versions that have a host function."""
    for case in cases():
        for version in VERSIONS:
            text = case.faulty if version == "faulty" else case.fixed
            prompt = prompt_for(parse_module(text, "kernels.py"))
            if prompt is not None:
                path = folder / case.name / f"{version}.md"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("\n\n".join(m.text for m in prompt.messages()))


def _main(arguments: list[str]) -> None:
    if arguments[:1] == ["prompts"]:
        write_prompts(Path(arguments[1]))
        return
    found: dict[str, dict[str, object]] = {}
    for case, version, one in all_shown():
        found.setdefault(case.name, {})[version] = one.model_dump(
            mode="json", exclude_defaults=True
        )
        RECORD.write_text(yaml.safe_dump(found, width=100))
        sys.stdout.write(f"{case.name} {version}: {one.lines} {one.text[:100]}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main(sys.argv[1:])
