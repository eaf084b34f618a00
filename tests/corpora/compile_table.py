"""Writes docs/compile-table.md: how many kernels compile for three chips, and why others do not."""

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import corpora
from compile_causes import GROUPS, Cause, cause, shortened
from compile_gemm import section
from compile_sweep import (
    EVERY,
    RESULTS,
    ROOT,
    TARGETS,
    Results,
    Skipped,
    Subject,
    captured_launches,
    chosen,
    compile_key,
    generated,
    sampled,
    signature_jobs,
    subjects,
)

PAGE = ROOT / "docs" / "compile-table.md"
EXAMPLES = ("layernorm", "linear_gelu", "matmul", "softmax")


@dataclass
class Row:
    """Kernels of one source, launched as one origin says."""

    name: str
    origin: str
    kernels: int = 0
    compiled: Counter[str] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)


@dataclass
class Reason:
    """Kernels that do not compile for one cause."""

    counts: Counter[str] = field(default_factory=Counter)
    place: str = ""
    said: str = ""


@dataclass
class Tally:
    """All that the page says."""

    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    reasons: dict[Cause, Reason] = field(default_factory=lambda: defaultdict(Reason))
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    toolchains: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, Skipped] = field(default_factory=dict)

    def row(self, name: str, origin: str) -> Row:
        return self.rows.setdefault((name, origin), Row(name, origin))

    def refused(self, target: str, said: str, place: str) -> None:
        reason = self.reasons[cause(said)]
        reason.counts[target] += 1
        reason.place = reason.place or place
        reason.said = reason.said or said


def tally_corpus(corpus: str, into: Tally, written: Path | None) -> None:
    """Add what the sweep found of a corpus."""
    every, into.skipped[corpus] = subjects(corpus)
    captured = captured_launches(corpus, every)
    found = sampled(every, captured, EVERY[corpus])
    signatures = Results(RESULTS / f"{corpus}-signatures.jsonl")
    results = {t: Results(RESULTS / f"{corpus}-{t.replace(':', '-')}.jsonl") for t in TARGETS}
    for one in (one for one in found if one.place in captured):
        _tally_captured(into, into.row(corpus, "captured"), one, captured, results)
    if written is not None:
        own = generated(corpus, written)
        seen = captured_launches(corpus, own)
        row = into.row(f"{corpus}: kernels it generates", "captured")
        for one in (one for one in own if one.place in seen):
            _tally_captured(into, row, one, seen, results)
    never = [one for one in found if one.place not in captured]
    total = len(every) - len(captured)
    part = "" if len(never) == total else f", every third: {len(never)} of {total}"
    row = into.row(corpus, f"inferred{part}")
    for one, (asked, _) in zip(never, signature_jobs(never), strict=True):
        _tally_inferred(into, row, one, signatures.found.get(asked), results)


def _tally_captured(
    into: Tally, row: Row, one: Subject, launches: dict[str, Any], results: dict[str, Results]
) -> None:
    row.kernels += 1
    for target, known in results.items():
        _add(into, row, target, known, compile_key(one, launches[one.place], target), one)


def _tally_inferred(
    into: Tally,
    row: Row,
    one: Subject,
    answer: dict[str, Any] | None,
    results: dict[str, Results],
) -> None:
    row.kernels += 1
    if answer is None:
        return
    for target, known in results.items():
        launch = chosen(answer, one.kernel.name, target)
        if launch is None:
            row.tried[target] += 1
            into.refused(target, refusal(answer, one), one.place)
        else:
            _add(into, row, target, known, compile_key(one, launch, target), one)


def refusal(answer: dict[str, Any], one: Subject) -> str:
    """Why no inferred launch of a kernel holds."""
    if answer["status"] != "ok":
        return str(answer["value"] or answer["status"])
    refused = answer["value"]["kernels"][one.kernel.name]["refused"]
    return str(refused[0]) if refused else "nothing was said"


def _add(into: Tally, row: Row, target: str, known: Results, key: str, one: Subject) -> None:
    answer = known.found.get(key)
    if answer is None:
        return
    row.tried[target] += 1
    if answer["status"] != "ok":
        into.refused(target, str(answer["value"] or answer["status"]), one.place)
        return
    value = answer["value"]
    into.seconds[target].append(answer["seconds"])
    into.toolchains[target] = value["toolchain"]
    if value["ok"]:
        row.compiled[target] += 1
    else:
        said = value["messages"][0]["text"] if value["messages"] else "nothing was said"
        into.refused(target, said, one.place)


def tally_examples(into: Tally) -> None:
    """Add the examples, by the command that a person would type."""
    command = [sys.executable, "-m", "tilewright", "compile"]
    row = into.row("examples", "spec")
    for name in EXAMPLES:
        path = f"examples/{name}.py"
        kernels: set[str] = set()
        for target in TARGETS:
            done = subprocess.run(
                [*command, path, "--target", target, "--format", "json"],
                capture_output=True, text=True, cwd=ROOT, check=False,
            )  # fmt: skip
            reports = json.loads(done.stdout)["reports"]
            by_kernel: dict[str, list[Any]] = defaultdict(list)
            for report in reports:
                by_kernel[report["kernel"]].append(report)
            kernels |= by_kernel.keys()
            for kernel, each in by_kernel.items():
                row.tried[target] += 1
                if all(report["ok"] for report in each):
                    row.compiled[target] += 1
                else:
                    text = next(r["messages"][0]["text"] for r in each if not r["ok"])
                    into.refused(target, text, f"{path}::{kernel}")
        row.kernels += len(kernels)


def page(into: Tally) -> Iterator[str]:
    """The page, line by line."""
    yield from ("# What compiles", "")
    yield from (
        "Kernels of published packages that compile for three chips, on a machine with none of "
        "them:",
        "",
    )
    yield from _rows(into)
    yield from _how(into)
    yield from _reasons(into)
    yield from section()


def _rows(into: Tally) -> Iterator[str]:
    yield "| kernels of | launches | kernels | " + " | ".join(f"`{t}`" for t in TARGETS) + " |"
    yield "| --- | --- | ---: |" + " ---: |" * len(TARGETS)
    for row in into.rows.values():
        cells = [_share(row.compiled[t], row.tried[t], row.kernels) for t in TARGETS]
        yield f"| {_title(row.name)} | {row.origin} | {row.kernels} | {' | '.join(cells)} |"
    yield ""


def _share(compiled: int, tried: int, kernels: int) -> str:
    if not tried:
        return "not tried"
    share = f"{compiled} ({100 * compiled / tried:.0f} %)"
    return share if tried == kernels else f"{share} of {tried}, {kernels - tried} not tried"


def _title(name: str) -> str:
    corpus, colon, rest = name.partition(":")
    version = f" {corpora.version(corpus)}" if corpus in corpora.CORPORA else ""
    return f"{corpus}{version}{colon}{rest}"


def _how(into: Tally) -> Iterator[str]:
    today = datetime.now(UTC).date().isoformat()
    yield from (
        f"`make compile-table` writes this page; this one is of {today}. Each kernel is compiled "
        "for one launch.",
        "*captured*: the most frequent of those recorded while the package's operators ran on an "
        "H200",
        "(`tests/corpora/captured/`), with the options tuned there. *inferred*: from its file alone"
        " (what is",
        "assumed, `tilewright compile` prints), for kernels that no captured launch is of, with "
        "the first",
        "autotune configuration. *spec*: a problem that the example states. Intel's is down to "
        "native code.",
        "A kernel that compiles may still be slow or wrong. What flag_gems generates as it "
        "runs is no",
        "part of it: `--generated FOLDER` of `tests/corpora/compile_sweep.py` and "
        "`compile_table.py` takes its files.",
        "",
        "| target | compilers | seconds a kernel, median |",
        "| --- | --- | ---: |",
    )
    for target in TARGETS:
        took = sorted(into.seconds.get(target, [0.0]))
        yield f"| `{target}` | {into.toolchains.get(target, '')} | {took[len(took) // 2]:.1f} |"
    yield from ("", "Seconds are of 2 cores that other work shared. Not counted:", "")
    for name, skipped in into.skipped.items():
        yield (
            f"- {_title(name)}: {skipped.vendor} kernels for other vendors' chips, "
            f"{skipped.called} functions that kernels of their file call, {skipped.returning} that "
            f"return values to kernels elsewhere."
        )
    yield ""


def _reasons(into: Tally) -> Iterator[str]:
    yield from ("## Why the others do not", "")
    heading = " | ".join(f"`{t}`" for t in TARGETS)
    yield from (f"| | {heading} |", "| --- |" + " ---: |" * len(TARGETS))
    for group in GROUPS:
        total = sum((r.counts for c, r in into.reasons.items() if c.group == group), Counter())
        yield f"| {group} | {_counts(total)} |"
    yield from ("", "One by one, with one kernel of each and what was said of it:", "")
    yield from (
        f"| why | {heading} | for example |",
        "| --- |" + " ---: |" * len(TARGETS) + " --- |",
    )
    for group in GROUPS:
        own = [(c, r) for c, r in into.reasons.items() if c.group == group]
        for found, reason in sorted(own, key=lambda item: -item[1].counts.total()):
            said = "" if reason.said == "timeout" else f": {shortened(reason.said)}"
            why = f"{group.partition(':')[0]}: {found.what}"
            yield f"| {why} | {_counts(reason.counts)} | `{reason.place}`{said} |"
    yield ""


def _counts(counts: Counter[str]) -> str:
    return " | ".join(str(counts[target] or "") for target in TARGETS)


def main() -> None:
    """Write the page from what the sweep has found so far."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--generated", type=Path, help="files that flag_gems wrote as it ran")
    given = parser.parse_args()
    into = Tally()
    tally_examples(into)
    for corpus in corpora.CORPORA:
        tally_corpus(corpus, into, given.generated if corpus == "flag_gems" else None)
    PAGE.write_text("\n".join(page(into)).rstrip() + "\n")


if __name__ == "__main__":
    main()
