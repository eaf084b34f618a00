"""What ``check --executed`` reports of the wrong results among the cases, and of their twins.

``make realbugs-executed`` runs both versions of each case in the interpreter and writes
``executed.yaml``, which the page reads; minutes. ``python tests/executed/executed_cases.py FOLDER``
runs the cases of another folder of YAML files and prints the same, with what was reported.
"""

import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml
from executed_record import RECORD, Executed, shares
from reported_cases import BLIND_NOW, Case, Kind, cases, cases_in

from tilewright.analysis.model import Issue
from tilewright.devices.model import INTERPRETER, Device
from tilewright.devices.opening import open_device
from tilewright.executed.issues import executed_issues, import_issue
from tilewright.executed.jobs import NotImportedError, all_tried
from tilewright.source import parse_module


def executed(case: Case, device: Device, folder: Path) -> Executed:
    """Run both versions of a case."""
    ran, faulty = _issues(case.faulty, folder / "faulty.py", device)
    _, twin = _issues(case.fixed, folder / "fixed.py", device)
    in_twin = {issue.id for issue in twin}
    new = [issue for issue in faulty if issue.id not in in_twin]
    found = any(
        i.id in case.entry.expects or i.range.line in case.lines or i.data.get("place") == "kernel"
        for i in new
    )
    return Executed(ran=ran, found=found, reported=_named(faulty), alarms=_named(twin))


def _issues(text: str, path: Path, device: Device) -> tuple[bool, tuple[Issue, ...]]:
    path.write_text(text)
    module = parse_module(text, str(path))
    try:
        tried = all_tried(module, str(path), device)
    except NotImportedError as error:
        found = import_issue(module, error.error)
        return bool(found), found
    return any(one.call is not None for one in tried), executed_issues(module, tried)


def _named(issues: Iterable[Issue]) -> tuple[str, ...]:
    return tuple(f"{issue.id}:{issue.range.line}" for issue in issues)


def all_executed(given: Iterable[Case]) -> Iterator[tuple[Case, Executed]]:
    """Each wrong result, run."""
    device = open_device(INTERPRETER)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for case in given:
                if case.entry.kind is Kind.BUG:
                    yield case, executed(case, device, Path(folder))
    finally:
        device.close()


def _print(given: Iterable[Case], record: Path | None = None) -> dict[str, Executed]:
    """The cases as they are run; the record is written after each, as all take minutes."""
    runs = {}
    for case, one in all_executed(given):
        runs[case.name] = one
        if record is not None:
            named = {name: found.model_dump(mode="json") for name, found in runs.items()}
            record.write_text(yaml.safe_dump(named))
        mark = "found" if one.found else "missed" if one.ran else "not run"
        said = f"{', '.join(one.reported)} | twin: {', '.join(one.alarms)}"
        sys.stdout.write(f"{mark:8}{case.name}: {said}\n")
        sys.stdout.flush()
    return runs


def _main(arguments: list[str]) -> None:
    if arguments:
        given = [*cases_in(Path(arguments[0]), BLIND_NOW[Kind.BUG])]
        runs = _print(given)
        for what, share in shares(runs, given, {}).items():
            sys.stdout.write(f"{what}: {share}\n")
        return
    _print(cases(), RECORD)


if __name__ == "__main__":
    _main(sys.argv[1:])
