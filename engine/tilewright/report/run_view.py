"""What a page shows of one recorded run beyond its result: tree, charts, compilers, models."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.report.archive import archive_grid
from tilewright.report.curves import (
    Curve,
    best_over_cost,
    best_so_far,
    roofline,
    tree_by_generation,
)
from tilewright.report.diff import DiffRow, diff_rows
from tilewright.report.model_use import ModelUseView, model_use
from tilewright.report.steps import Json, span

_UNITS = {"registers": "registers", "spill_bytes": "bytes spilled", "shared_bytes": "bytes shared"}


@dataclass(frozen=True)
class TrialNode:
    """A trial in the tree; ``note`` stands in place of a diff that there is not.

    ``call``: number of the model call that it came from.
    """

    number: int
    diff: tuple[DiffRow, ...]
    note: str
    call: int | None
    below: tuple["TrialNode", ...] = ()


@dataclass(frozen=True)
class CompileRow:
    """A kernel's figures before and after, each a range over its configurations."""

    kernel: str
    figure: str
    before: str
    after: str


@dataclass(frozen=True)
class MemoryRow:
    """An entry of memory that a run recalled, and what its trials came to."""

    id: str
    outcome: str
    title: str
    measured: str
    source: str
    recalled: int
    trials: str
    reasons: str


@dataclass(frozen=True)
class RunView:
    """A run on record.

    Attributes:
        loose: trials whose parent is not on record.
        suspected: issues that a model reported and no detector confirms.
        memory: entries that were recalled.
        search: how it searched and why it ended, in sentences.
    """

    id: str
    state: str
    facts: tuple[tuple[str, str], ...]
    tree: tuple[TrialNode, ...]
    loose: tuple[TrialNode, ...]
    curves: tuple[Curve, ...]
    compiled: tuple[CompileRow, ...]
    models: ModelUseView | None
    suspected: tuple[str, ...]
    memory: tuple[MemoryRow, ...]
    search: tuple[str, ...]


def run_view(run: Json) -> RunView:
    """The view of what ``strategies.recorded.detail`` gives."""
    models = model_use(run)
    numbers = {call.key: call.number for call in models.calls} if models else {}
    nodes = [_node(trial, numbers) for trial in run["trials"]]
    below: dict[int | None, list[TrialNode]] = {}
    for trial, node in zip(run["trials"], nodes, strict=True):
        below.setdefault(trial["parent_trial"], []).append(node)
    curves = (
        best_so_far(run), best_over_cost(run), tree_by_generation(run), archive_grid(run),
        roofline(run),
    )  # fmt: skip
    return RunView(
        id=run["run"],
        state=run["state"],
        facts=tuple(_facts(run)),
        tree=_grown(below, 0),
        loose=_grown(below, None),
        curves=tuple(curve for curve in curves if curve is not None),
        compiled=tuple(_compiled(run["compile"])),
        models=models,
        suspected=tuple(
            f"line {issue['line']}: {issue['message']}"
            for issue in (run.get("models") or {}).get("suspected", ())
        ),
        memory=tuple(_memory(run)),
        search=tuple((run.get("search") or {}).get("ended", ())),
    )


def _memory(run: Json) -> Iterator[MemoryRow]:
    kept = {trial["number"] for trial in run["trials"] if trial["kept"]}
    for one in run.get("memory", ()):
        tried = one["trials"]
        helped = sum(number in kept for number in tried)
        words = f"{', '.join(map(str, tried))} ({helped} became the best)" if tried else "none"
        yield MemoryRow(
            one["id"], one["outcome"], one["title"],
            f"{one['ratio']:.2f}× [{one['low']:.2f}, {one['high']:.2f}] on {one['device']}",
            one["project"], one["recalled"], words, "; ".join(one["reasons"]),
        )  # fmt: skip


def _facts(run: Json) -> list[tuple[str, str]]:
    named = (
        ("run", run["run"]),
        ("state", run["state"]),
        ("started (UTC)", run["started"]),
        ("finished (UTC)", run["finished"]),
        ("device", run["device_name"]),
        ("Tilewright", run["tilewright"]),
        ("most trials", run["budget"]),
        ("seed", run["seed"]),
    )
    return [(name, "not on record" if value is None else str(value)) for name, value in named]


def _node(trial: Json, numbers: Mapping[str, int]) -> TrialNode:
    diff, note = trial["diff"], ""
    if diff is None:
        note = "The texts of this trial are not on record."
    elif not diff:
        note = "The text is that of its parent."
    return TrialNode(
        trial["number"], diff_rows(diff or ""), note, numbers.get(trial.get("call", ""))
    )


def _grown(
    below: Mapping[int | None, Sequence[TrialNode]], parent: int | None
) -> tuple[TrialNode, ...]:
    return tuple(replace(node, below=_grown(below, node.number)) for node in below.get(parent, ()))


def _compiled(tables: Json) -> list[CompileRow]:
    before = {row["kernel"]: row for row in tables["before"]}
    after = {row["kernel"]: row for row in tables["after"]}
    return [
        CompileRow(
            kernel,
            f"{unit}",
            _figure(before.get(kernel), name),
            _figure(after.get(kernel), name),
        )
        for kernel in dict.fromkeys((*before, *after))
        for name, unit in (*_UNITS.items(), ("compiled", "configurations that compile"))
    ]


def _figure(row: Json | None, name: str) -> str:
    if row is None:
        return "—"
    if name == "compiled":
        return f"{row['compiled']} of {row['configurations']}"
    return span(row[name])
