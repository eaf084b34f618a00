"""Whether rewinds of good kernels give usable entries, and whether they are found again."""

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from finding import Evidence, Finding, Table

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.evaluation.model import Evaluation, Level, Speedup, text_hash
from tilewright.memory.conditions import Asker
from tilewright.memory.model import Experience, Origin, Provenance, Query
from tilewright.memory.retrieval import Retrieval
from tilewright.memory.rewinds import Site, rewound, sites
from tilewright.memory.signature import signature_of
from tilewright.source import parse_module
from tilewright.source.model import Language, Module
from tilewright.targets.registry import parse_target

STORED = True
ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).resolve().parent / "results" / "rewinds.json"
SPELLINGS = {"sigmoid_slow_exp", "unstable_tanh", "dot_accumulator"}
SHOWN, PER_FILE = 3, 6
CONTEXT = AnalysisContext(parse_target("cuda:90"), (3, 9))
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")


def evidence(size: str) -> Evidence:
    """What an H200 measured of rewinds, and retrieval over rewound kernels of other files."""
    measured = list(_measured())
    found, table = _retrieval(size)
    return Evidence(
        "Optimization rewind",
        (*measured, *found),
        (table,),
        notes=(
            f"""Rewinds were measured on one H200 in {_reached()} files; the others are not
measured. For retrieval, the entries are those that mining would store if every
rewind cost time, so the shares do not depend on effects. Entries of the queried file are left
out. The retrieval was fixed before the results of the blind half were known;
the shuffled control was corrected after both halves were known. The three queries
without a match are of `examples/matmul.py`, which has three other issues: the inserted issue is
the fourth, and the three entries shown belong to the others. A few issues are so frequent that
three drawn entries hit a third of the queries, so that no control can stay below a quarter.""",
        ),
    )  # fmt: skip


def _measured() -> Iterator[Finding]:
    rows = json.loads(FILE.read_text("utf-8"))["rows"] if FILE.is_file() else []
    timed = [row for row in rows if row.get("speedup") and row["issue"] != "control"]
    slower = [row for row in timed if row["effect"] == "slower"]
    again = sum(row["again"]["effect"] == "slower" for row in slower)
    controls = [row for row in rows if row.get("issue") == "control" and row["speedup"]]
    wrong = sum(row["effect"] == "slower" for row in controls)
    files = len({row["file"] for row in rows if row.get("issue")})
    share = again / len(slower) if slower else 0.0
    yield Finding(
        "Kept rewinds are slower when measured again", f"H200, {files} files",
        "at least 95 % of the kept entries", f"{again} of {len(slower)}", None, None,
        f"a comment was added to each file: {wrong} of {len(controls)} taken for slower",
        share >= 0.95 if slower else None,
    )  # fmt: skip
    none = len(timed) - len(slower)
    spelled = [row for row in timed if row["issue"] in SPELLINGS]
    free = sum(row["effect"] != "slower" for row in spelled)
    yield Finding(
        "Most rewinds that change only the notation are not kept", f"H200, {files} files",
        "more than half of them", f"{free} of {len(spelled)}; of all timed rewinds {none} of "
        f"{len(timed)} cost nothing measurable", None, None, "the others, of which some are kept",
        2 * free > len(spelled) if spelled else None,
    )  # fmt: skip


def _reached() -> str:
    """How many of the good files were measured."""
    rows = json.loads(FILE.read_text("utf-8"))["rows"] if FILE.is_file() else []
    every = {(row["file"], row["corpus"]) for row in rows}
    done = {(row["file"], row["corpus"]) for row in rows if row.get("issue")}
    return f"{len(done)} of {len(every)}"


@dataclass(frozen=True)
class Rewinding:
    """A rewound text of a file, with the entry that mining would store."""

    file: str
    module: Module
    site: Site
    entry: Experience

    @property
    def is_blind(self) -> bool:
        return int(text_hash(self.file)[:4], 16) % 2 == 1


def _retrieval(size: str) -> tuple[list[Finding], Table]:
    paths = sorted((ROOT / "tests" / "rewrites" / "golden").glob("*.after.py"))
    paths += sorted((ROOT / "examples").glob("*.py"))
    modules = [parse_module(path.read_text("utf-8"), path.name) for path in paths]
    modules = [
        module for module in modules if any(k.language is Language.TRITON for k in module.kernels)
    ]
    every = [one for module in modules for one in _rewindings(module)]
    chosen = every if size == "whole" else every[::8]
    rows, findings = [], []
    for half, blind in (("open half", False), ("blind half", True)):
        asked = [one for one in chosen if one.is_blind is blind]
        right, count = _right(asked, every, shuffled=False)
        wrong, _ = _right(asked, every, shuffled=True)
        clean = [m for m in modules if _is_blind(m) is blind and not analyze(m, CONTEXT)]
        quiet = sum(not _recalled(m, CONTEXT, every, m.path) for m in clean)
        good = [m for m in modules if _is_blind(m) is blind]
        silent = sum(not _recalled(m, CONTEXT, every, m.path) for m in good)
        rows.append((
            half, f"{right} of {count}", f"{wrong} of {count}", f"{quiet} of {len(clean)}",
            f"{silent} of {len(good)}",
        ))  # fmt: skip
        chance = _by_chance(asked, every)
        shuffled = f"{wrong} of {count} (required: at most 25 %; three drawn entries: {chance:.0f})"
        control = f"with issues and keys shuffled among the entries {shuffled}"
        findings.append(
            Finding(
                f"The first three entries contain the right issue, {half}", "rewound kernels",
                "at least 90 %", f"{right} of {count}", None, None, control,
                right >= 0.9 * count and wrong <= 0.25 * count if count else None,
            )
        )  # fmt: skip
        findings.append(
            Finding(
                f"Nothing is shown for a clean kernel, {half}", "kernels without findings",
                "at least 80 %", f"{quiet} of {len(clean)}", None, None,
                f"of all good kernels, some of which have other findings: {silent} of {len(good)}",
                quiet >= 0.8 * len(clean) if clean else None,
            )
        )  # fmt: skip
    head = ("", "right in the first three", "shuffled", "nothing for clean", "nothing for good")
    return findings, Table("Retrieval over files that an entry is not from", head, tuple(rows))


def _is_blind(module: Module) -> bool:
    return int(text_hash(module.path)[:4], 16) % 2 == 1


def _rewindings(module: Module) -> Iterator[Rewinding]:
    def judge(text: str) -> Evaluation:
        speedup = Speedup(
            0.8, 0.79, 0.81, 0.99, 0.005, 80.0, 100.0, text_hash(module.text), "stipulated", "", 20
        )
        return Evaluation(text_hash(text), text_hash(module.text), Level.CORRECT, (), speedup)

    source = Provenance(module.path, module.path, "", "", Origin.MINED)
    chosen = sites(module, CONTEXT)[:PER_FILE]
    for one in rewound(module, CONTEXT, chosen, judge, source):
        assert one.entry is not None
        yield Rewinding(module.path, module, one.site, one.entry)


def _right(
    asked: Sequence[Rewinding], every: Sequence[Rewinding], *, shuffled: bool
) -> tuple[int, int]:
    """Queries whose own issue is in the first three entries, of those where one exists."""
    labels = [(one.entry.issue, one.entry.key) for one in every]
    if shuffled:
        random.Random(0).shuffle(labels)
    named = {
        # Shared, so that the origin of what is recalled is seen.
        one.entry.id: replace(one.entry, issue=issue, key=key, shared=True)
        for one, (issue, key) in zip(every, labels, strict=True)
    }
    truth = {one.entry.source.kernel: one.entry.issue for one in every}
    right = count = 0
    for one in asked:
        others = [other.entry for other in every if other.file != one.file]
        if not any(entry.issue == one.entry.issue for entry in others):
            continue
        count += 1
        module = parse_module(one.site.rewound.text, one.file)
        query = _query(module, one.site.rewound.context, one.file)
        found = Retrieval([named[entry.id] for entry in others]).recall(query, SHOWN)
        right += any(truth[r.entry.source.kernel] == one.entry.issue for r in found)
    return right, count


def _by_chance(asked: Sequence[Rewinding], every: Sequence[Rewinding]) -> float:
    """How many queries three entries would answer that are drawn with no regard to the query."""
    found = 0.0
    for one in asked:
        others = [other.entry.issue for other in every if other.file != one.file]
        share = others.count(one.entry.issue) / len(others)
        found += 1 - (1 - share) ** SHOWN
    return found


def _recalled(
    module: Module, context: AnalysisContext, every: Sequence[Rewinding], file: str
) -> bool:
    others = [one.entry for one in every if one.file != file]
    return bool(Retrieval(others).recall(_query(module, context, file), SHOWN))


def _query(module: Module, context: AnalysisContext, project: str) -> Query:
    words = (word for kernel in module.kernels for word in _WORD.findall(kernel.text))
    issues = dict.fromkeys(issue.id for issue in analyze(module, context))
    return Query(
        project, project, signature_of(module, context), tuple(issues),
        words=tuple(dict.fromkeys(words)), text=text_hash(module.text),
        asks=Asker(module, context),
    )  # fmt: skip
