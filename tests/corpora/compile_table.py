"""Writes docs/compile-table.md: how many kernels compile for three chips, and why others do not."""

import argparse
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import corpora
from compile_sweep import (
    RESULTS,
    ROOT,
    TARGETS,
    Results,
    Skipped,
    Subject,
    captured_launches,
    chosen,
    key_of,
    signature_jobs,
    subjects,
)

PAGE = ROOT / "docs" / "compile-table.md"
EXAMPLES = ("layernorm", "linear_gelu", "matmul", "softmax")

KERNEL = "the kernel, with this Triton"
GUESS = "our inference"
CHIP = "the chip"
OLD = "the age of Triton for Intel"
LIMIT = "our limits"
# What a message is put down to, the first that fits; "KERNEL" is what is left.
CAUSES = (
    (r"Block pointers have been removed", KERNEL, "block pointers, which Triton 3.9 has no more"),
    (r"'dtype' object is not callable", KERNEL, "`tl.float32(...)`, which is no conversion"),
    (r"unsupported AST node|Unsupported", KERNEL, "Python that Triton does not take"),
    (r"'NoneType' object has no attribute", KERNEL, "an extension of Triton that is not installed"),
    (r"has no @triton.jit kernel", LIMIT, "a kernel that is only made under a condition"),
    (r"does not know|triton-xpu [\d.\w]+ (says|is older)|no toolchain for xpu", OLD,
     "newer parts of the language than Triton 3.3 has"),
    (r"without what|without the statements|has no \w+, and without", LIMIT,
     "host code that the compiler's own environment cannot import"),
    (r"shared memory", CHIP, "more shared memory than the chip has"),
    (r"work items|sub-groups a program", CHIP, "more warps than the chip takes"),
    (r"timeout", LIMIT, "not compiled within 45 s"),
    (r"crashed", KERNEL, "the compiler crashes"),
    (r"static_assert|is not defined|invalid operands|same dtype|offsets, but got|Expected dtype"
     r"|bitcast|ptr type|power of 2|arange's end|no attribute 'value'", GUESS,
     "no inferred launch holds: element types or constexprs are others"),
    (r"ocloc:", CHIP, "ocloc refuses the SPIR-V"),
    (r"fp8|fp64|float8|f64", CHIP, "an element type that the chip has not"),
    (r"legalize|MLIR|PassManager|LLVM", KERNEL, "the compiler's passes fail"),
)  # fmt: skip


@dataclass
class Row:
    """Kernels of one source, launched as one origin says."""

    name: str
    origin: str
    kernels: int = 0
    compiled: Counter[str] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)


@dataclass
class Tally:
    """All that the page says."""

    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    reasons: dict[tuple[str, str], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    toolchains: dict[str, str] = field(default_factory=dict)
    every: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, Skipped] = field(default_factory=dict)

    def row(self, name: str, origin: str) -> Row:
        return self.rows.setdefault((name, origin), Row(name, origin))

    def refused(self, target: str, said: str, place: str) -> None:
        whose, what = cause(said)
        self.reasons[whose, what][target] += 1
        self.examples.setdefault((whose, what), place)


def cause(said: str) -> tuple[str, str]:
    """(whose it is, what it is) of a message."""
    for pattern, whose, what in CAUSES:
        if re.search(pattern, said):
            return whose, what
    return KERNEL, re.sub(r"\s+", " ", said)[:90]


def tally_corpus(corpus: str, captured: Path | None, into: Tally, every: int = 1) -> None:
    """Add what the sweep found of a corpus."""
    found, into.skipped[corpus] = subjects(corpus)
    into.every[corpus] = every
    found = found[::every]
    launches = captured_launches(captured, found)
    signatures = Results(RESULTS / f"{corpus}-signatures.jsonl")
    results = {t: Results(RESULTS / f"{corpus}-{t.replace(':', '-')}.jsonl") for t in TARGETS}
    for one, (asked, _) in zip(found, signature_jobs(found), strict=True):
        answer = signatures.found.get(asked)
        if answer is None and one.place not in launches:
            continue
        origin = "captured" if one.place in launches else "inferred"
        row = into.row(corpus, origin)
        row.kernels += 1
        for target, known in results.items():
            launch = launches.get(one.place) or chosen(answer, one.kernel.name, target)
            if launch is None:
                row.tried[target] += 1
                into.refused(target, refusal(answer, one), one.place)
            else:
                key = key_of(one.kernel.content_hash, launch, target)
                _add(into, row, target, known, key, one)


def refusal(answer: dict[str, Any] | None, one: Subject) -> str:
    """Why no inferred launch of a kernel holds."""
    assert answer is not None
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
    yield from (
        "# What compiles",
        "",
        "Kernels that nobody here wrote, compiled for three chips with no such chip; "
        "`make compile-table` writes this page.",
        "One launch a kernel, once: the most frequent one captured on an H200, else one inferred "
        "from the file",
        "with the first autotune configuration. `xpu` is down to native code.",
        "",
        "| compiler | version | seconds a kernel, median |",
        "| --- | --- | ---: |",
    )
    for target in TARGETS:
        took = sorted(into.seconds.get(target, [0.0]))
        yield f"| `{target}` | {into.toolchains.get(target, '')} | {took[len(took) // 2]:.1f} |"
    yield from ("", "Seconds are of 2 cores that other work shared.", "")
    yield from _rows(into)
    yield from _left_out(into)
    yield from _reasons(into)


def _rows(into: Tally) -> Iterator[str]:
    yield "| source | launches | kernels | " + " | ".join(f"`{t}`" for t in TARGETS) + " |"
    yield "| --- | --- | ---: |" + " ---: |" * len(TARGETS)
    for row in into.rows.values():
        cells = [_share(row.compiled[t], row.tried[t], row.kernels) for t in TARGETS]
        every = into.every.get(row.name, 1)
        title = _title(row.name) + (f", one kernel in {every}" if every > 1 else "")
        yield f"| {title} | {row.origin} | {row.kernels} | {' | '.join(cells)} |"
    yield ""


def _share(compiled: int, tried: int, kernels: int) -> str:
    if not tried:
        return "not tried"
    percent = f"{100 * compiled / tried:.0f} %"
    return f"{compiled} ({percent})" if tried == kernels else f"{compiled} of {tried} ({percent})"


def _title(name: str) -> str:
    return f"{name} {corpora.version(name)}" if name in corpora.CORPORA else name


def _left_out(into: Tally) -> Iterator[str]:
    yield "Left out:"
    yield ""
    for name, skipped in into.skipped.items():
        yield (
            f"- {_title(name)}: {skipped.vendor} kernels for other vendors' chips, "
            f"{skipped.called} functions that kernels of their file call, {skipped.returning} that "
            f"return values to kernels elsewhere, {skipped.twice} that are there twice."
        )
    yield ""


def _reasons(into: Tally) -> Iterator[str]:
    yield from (
        "## Why the others do not",
        "",
        "| whose | what | " + " | ".join(f"`{t}`" for t in TARGETS) + " | for example |",
        "| --- | --- |" + " ---: |" * len(TARGETS) + " --- |",
    )
    order = sorted(into.reasons.items(), key=lambda item: (item[0][0], -sum(item[1].values())))
    for (whose, what), counts in order:
        numbers = " | ".join(str(counts[t] or "") for t in TARGETS)
        example = into.examples[whose, what]
        yield f"| {whose} | {what.replace('|', ' ')} | {numbers} | `{example}` |"


def main() -> None:
    """Write the page from what the sweep has found so far."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--captured", type=Path, default=RESULTS / "captured")
    parser.add_argument("--every", type=int, default=1, help="of flag_gems, as the sweep was told")
    parser.add_argument("--without-examples", action="store_true")
    given = parser.parse_args()
    into = Tally()
    if not given.without_examples:
        tally_examples(into)
    for corpus in corpora.CORPORA:
        folder = given.captured / corpus
        every = given.every if corpus == "flag_gems" else 1
        tally_corpus(corpus, folder if folder.is_dir() else None, into, every)
    PAGE.write_text("\n".join(page(into)) + "\n")


if __name__ == "__main__":
    main()
