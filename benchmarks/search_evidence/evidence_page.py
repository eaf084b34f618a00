"""Runs the modules of evidence and writes docs/search-evidence.md with its pictures.

    python benchmarks/search_evidence/evidence_page.py
    python benchmarks/search_evidence/evidence_page.py --only beam,memory --print
    python benchmarks/search_evidence/evidence_page.py --anew NAME

Each ``claim_NAME.py`` in this folder is run, two at a time. Those that take minutes or a GPU are
read from ``results/claim_NAME.json``, which ``--anew`` writes. A number that is not reached is
printed as such.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from drawing import svg  # noqa: E402
from finding import Evidence, Figure, Finding, Table  # noqa: E402

from tilewright.serialize import dump, load  # noqa: E402

ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "search-evidence.md"
PICTURES = ROOT / "docs" / "pictures" / "search"
RESULTS = HERE / "results"
_INTRO = """# Evidence for the search

`make search-evidence` writes this page. Each claim has a required number and a negative control,
which shows that the harness can detect a failure. Intervals are 95 % bootstrap intervals over
landscapes; the less favourable bound must reach the required number. If it does not, the claim is
printed as not reached, and the feature is off by default.

L0 are synthetic landscapes (`benchmarks/search_evidence/landscapes.py`). L1 are eight real kernels
whose texts were checked and timed once on an H200; searches replay these verdicts with the noise
of each contest (`benchmarks/search_evidence/tabulated.py`). No language model takes part unless a
section says so. Such a model is scripted, and its numbers are no measure of a real model.
"""


def names() -> list[str]:
    """The claims that there are modules for."""
    return sorted(file.stem.removeprefix("claim_") for file in HERE.glob("claim_*.py"))


def is_stored(name: str) -> bool:
    """Whether the page shows results that were measured before."""
    return bool(getattr(importlib.import_module(f"claim_{name}"), "STORED", False))


def measured(name: str, size: str = "whole") -> Evidence:
    """Run a module."""
    found: Evidence = importlib.import_module(f"claim_{name}").evidence(size)
    return found


def stored(name: str) -> Evidence:
    """What ``--anew`` wrote of a module."""
    file = RESULTS / f"claim_{name}.json"
    if file.is_file():
        return load(Evidence, json.loads(file.read_text("utf-8")))
    finding = Finding(
        f"claim_{name}.py", "", "", f"not measured: run with --anew {name}", None, None, "", None
    )
    return Evidence(f"claim_{name}.py", (finding,))


def keep(name: str, evidence: Evidence) -> Evidence:
    """Write results with date and machine; the same results with these."""
    if not evidence.machine:
        date, machine = time.strftime("%Y-%m-%d"), f"{platform.machine()}, Python"
        told = f"{date}, {machine} {platform.python_version()}"
        evidence = replace(evidence, machine=told)
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(_short(dump(evidence)), separators=(",", ":")) + "\n"
    (RESULTS / f"claim_{name}.json").write_text(text, "utf-8")
    return evidence


def _short(value: Any) -> Any:
    """Numbers of curves with the digits that a picture shows; all others have few anyway."""
    if isinstance(value, dict):
        return {name: _short(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_short(part) for part in value]
    return round(value, 5) if isinstance(value, float) else value


def page(found: Mapping[str, Evidence]) -> str:
    """The whole page as Markdown."""
    order = sorted(found, key=lambda name: (found[name].title, name))
    parts = [_INTRO, _summary([one for name in order for one in found[name].findings])]
    parts += ["\n".join(_section(found[name])) for name in order]
    return "\n".join(parts)


def _summary(findings: Sequence[Finding]) -> str:
    rows = tuple((one.claim, one.landscape, one.asked, one.found, one.verdict) for one in findings)
    counts = ", ".join(
        f"{sum(one.verdict == verdict for one in findings)} {verdict.strip('*')}"
        for verdict in ("reached", "**not reached**", "not measured")
    )
    head = ("claim", "landscape", "required", "found", "")
    return "\n".join([f"{len(findings)} claims: {counts}.", "", *_table(Table("", head, rows))])


def _section(evidence: Evidence) -> Iterator[str]:
    yield f"## {evidence.title}"
    yield ""
    if evidence.machine:
        yield f"Measured {evidence.machine}."
        yield ""
    for one in evidence.findings:
        bounds = "" if one.low is None or one.high is None else f" [{one.low:.3g}, {one.high:.3g}]"
        yield f"- **{one.claim}** ({one.landscape}). Required: {one.asked}."
        yield f"  Found: {one.found}{bounds}: {one.verdict}. Control: {one.control}"
    yield ""
    for note in evidence.notes:
        yield note
        yield ""
    for table in evidence.tables:
        yield f"{table.title}:"
        yield ""
        yield from _table(table)
        yield ""
    for figure in evidence.figures:
        yield f"![{figure.title}](pictures/search/{figure.name}.svg)"
        yield ""


def _table(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(table.head)} |"
    yield f"|{' --- |' * len(table.head)}"
    for row in table.rows:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"


def write(found: Mapping[str, Evidence]) -> None:
    """The page and its pictures; pictures that no claim has any more are removed."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    figures: list[Figure] = [figure for one in found.values() for figure in one.figures]
    for file in PICTURES.glob("*.svg"):
        if file.stem not in {figure.name for figure in figures}:
            file.unlink()
    for figure in figures:
        (PICTURES / f"{figure.name}.svg").write_text(svg(figure), "utf-8")
    PAGE.write_text(page(found), "utf-8")


def gather(chosen: Sequence[str], size: str, anew: Sequence[str]) -> dict[str, Evidence]:
    """Evidence by name; what is measured now runs two at a time, each in its own process."""
    now = [name for name in chosen if name in anew or size == "small" or not is_stored(name)]
    found = {name: stored(name) for name in chosen if name not in now}
    if now:
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            started = time.monotonic()
            waiting = {name: pool.submit(measured, name, size) for name in now}
            for name, future in waiting.items():
                found[name] = future.result()
                print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    for name in anew:
        found[name] = keep(name, found[name])
    return {name: found[name] for name in chosen}


def main() -> int:
    """Write or print the page; exit code 2 for an unknown name."""
    options = _options()
    asked = [name for name in options.only.split(",") if name]
    anew = [name for name in options.anew.split(",") if name]
    unknown = sorted({*asked, *anew} - {*names()})
    if unknown:
        known = ", ".join(names())
        print(f"no claim is named {', '.join(unknown)}; there are {known}", file=sys.stderr)
        return 2
    found = gather(asked or names(), "small" if options.small else "whole", anew)
    if options.print or asked or options.small:
        print(page(found))
    else:
        write(found)
    return 0


def _options() -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="names of claims, by commas; prints them")
    parser.add_argument("--small", action="store_true", help="the form that tests run; prints it")
    parser.add_argument("--anew", default="", help="names whose stored results are measured anew")
    parser.add_argument("--print", action="store_true", help="print the page, write nothing")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
