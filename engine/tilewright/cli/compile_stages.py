"""What ``tilewright compile --emit`` and ``--lines`` show: a stage's text, and its instructions."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from tilewright.cli.compile_tables import options_of
from tilewright.cli.compile_variants import Launches, Variant, staged
from tilewright.cli.output import ERR, OUT, Exit, Format, emit_json, working
from tilewright.targets.assembly import (
    CODE,
    Counts,
    Listing,
    listing_of,
    mix,
    mix_by_line,
    with_markers,
)
from tilewright.targets.assembly.places import lines_of
from tilewright.targets.model import LaunchFacts, StageText


def show_stage(
    path: Path, launches: Launches, one: Variant, stage: str, lines: bool, form: Format
) -> Exit:
    """Print every launch's stage; 1 if one has no text."""
    with working(f"compiling {path} for {one.target}"):
        found = staged(launches, one, stage)
    if form is Format.JSON:
        stages = [_as_json(launch, text, path.name) for launch, text in found]
        emit_json({"path": str(path), "target": str(one.target), "stages": stages})
    else:
        for launch, text in found:
            _print(launch, text, path.name, launches.text, lines)
    return Exit.DONE if all(text.text is not None for _, text in found) else Exit.FINDINGS


def _as_json(launch: LaunchFacts, found: StageText, source: str) -> dict[str, Any]:
    about: dict[str, Any] = {
        "kernel": launch.kernel,
        "options": options_of(launch),
        "stage": found.stage,
        "text": found.text,
        "missing": found.missing,
    }
    if found.text is None:
        return about
    text_lines: dict[int, list[int]] = {}
    for at, line in lines_of(found.stage, found.text, source).items():
        text_lines.setdefault(line, []).append(at)
    about["lines"] = {str(line): text_lines[line] for line in sorted(text_lines)}
    if found.stage in CODE:
        listing = listing_of(found.stage, found.text, source)
        by_line = mix_by_line(listing)
        about["instructions"] = mix(listing)
        about["instructions_by_line"] = {str(n): c for n, c in by_line.items() if n is not None}
    return about


def _print(
    launch: LaunchFacts, found: StageText, source: str, source_text: str, lines: bool
) -> None:
    if found.text is None:
        ERR.print(f"{launch.kernel}: no {found.stage}: {found.missing}", markup=False)
    elif lines:
        listing = listing_of(found.stage, found.text, source)
        OUT.print(_table(launch, listing, source_text.splitlines()))
    else:
        sys.stdout.write(with_markers(found.stage, found.text, source, source_text))


def _table(launch: LaunchFacts, listing: Listing, source: list[str]) -> Table:
    table = Table("line", "source", listing.stage, "of which")
    for number, counts in mix_by_line(listing).items():
        known = number is not None and number <= len(source)
        said = source[number - 1].strip() if known and number else "of none of its lines"
        table.add_row("" if number is None else str(number), Text(said), *_told(counts))
    whole = mix(listing)
    table.add_row("all", Text(f"{launch.kernel} {options_of(launch)}"), *_told(whole))
    return table


def _told(counts: Counts) -> tuple[str, str]:
    kinds: Mapping[str, int] = {name: n for name, n in counts.items() if name != "other"}
    return str(sum(counts.values())), ", ".join(f"{n} {name}" for name, n in kinds.items())
