"""What ``tilewright compile --emit`` and ``--lines`` show: a stage's text, and its instructions."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from tilewright.cli.compile_options import say_rest
from tilewright.cli.compile_tables import line_in_words, options_of
from tilewright.cli.output import ERR, OUT, Exit, Format, emit_json, working
from tilewright.inspection.variants import Launches, Variant, compiled, staged
from tilewright.serialize import dump
from tilewright.targets.assembly.listing import CODE, listing_of
from tilewright.targets.assembly.markers import with_markers
from tilewright.targets.assembly.mixes import Counts, mix, mix_by_line
from tilewright.targets.assembly.model import Listing
from tilewright.targets.assembly.places import lines_of
from tilewright.targets.model import CompileReport, LaunchFacts, StageText


def show_stage(
    path: Path, launches: Launches, one: Variant, stage: str, lines: bool, form: Format
) -> Exit:
    """Print every launch's stage; 1 if one has no text."""
    with working(f"compiling {path} for {one.target}"):
        outcome = staged(launches, one, stage)
        found = outcome.found
        reports = compiled(launches, one).found if lines else (None,) * len(found)
    together = [(*pair, report) for pair, report in zip(found, reports, strict=True)]
    if form is Format.JSON:
        stages = [_as_json(launch, text, path.name, report) for launch, text, report in together]
        told = {"path": str(path), "target": str(one.target), "stages": stages}
        emit_json({**told, "not_judged": outcome.rest_as_json()})
    else:
        say_rest(outcome)
        for launch, text, report in together:
            _print(launch, text, path.name, launches.text, report)
    return Exit.DONE if all(text.text is not None for _, text in found) else Exit.FINDINGS


def _as_json(
    launch: LaunchFacts, found: StageText, source: str, report: CompileReport | None
) -> dict[str, Any]:
    about: dict[str, Any] = {
        "kernel": launch.kernel,
        "options": options_of(launch),
        "stage": found.stage,
        "text": found.text,
        "missing": found.missing,
        **({} if report is None else {"report": dump(report)}),
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
    launch: LaunchFacts,
    found: StageText,
    source: str,
    source_text: str,
    report: CompileReport | None,
) -> None:
    if found.text is None:
        ERR.print(f"{launch.kernel}: no {found.stage}: {found.missing}")
    elif report is not None:
        listing = listing_of(found.stage, found.text, source)
        OUT.print(_table(report, listing, source_text.splitlines()))
    else:
        sys.stdout.write(with_markers(found.stage, found.text, source, source_text))


def _table(report: CompileReport, listing: Listing, source: list[str]) -> Table:
    """A row for each line: its source and loops, machine instructions, and what they are."""
    table = Table("line", listing.stage, "source, and what became of it")
    lines = {line.line: line for line in report.lines}
    for number, counts in mix_by_line(listing).items():
        known = number is not None and number <= len(source)
        said = source[number - 1].strip() if known and number else "of none of its lines"
        line = lines.get(number) if number is not None else None
        count, kinds = _count_texts(counts)
        words = line_in_words(line) if line is not None else kinds
        depth = "| " * (line.loop_depth if line is not None else 0)
        cell = Text.assemble(depth, said, *(("\n", depth, "  ", words) if words else ()))
        table.add_row("" if number is None else str(number), count, cell)
    count, kinds = _count_texts(mix(listing))
    head = f"{report.kernel} {options_of(report.launch)}"
    table.add_row("all", count, Text.assemble(head, "\n  ", kinds))
    return table


def _count_texts(counts: Counts) -> tuple[str, str]:
    kinds: Mapping[str, int] = {name: n for name, n in counts.items() if name != "other"}
    return str(sum(counts.values())), ", ".join(f"{n} {name}" for name, n in kinds.items())
