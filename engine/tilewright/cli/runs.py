"""``tilewright runs``: what was optimized, and the removal of old runs from the store."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from tilewright.cli.output import ERR, OUT, AsFormat, Format, emit_json
from tilewright.errors import InputError
from tilewright.figures import ratio
from tilewright.models.model import Spent
from tilewright.serialize import load
from tilewright.store.records import Records, RunState
from tilewright.store.store import open_store
from tilewright.strategies.present import spent_words
from tilewright.strategies.recorded import summary

DEFAULT_LIMIT = 20

app = typer.Typer(add_completion=False)


@contextmanager
def records() -> Iterator[Records]:
    """The runs on record, closed at the end."""
    store = open_store()
    try:
        yield store.records
    finally:
        store.close()


@app.callback(invoke_without_command=True)
def runs(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="Most runs to list.")] = DEFAULT_LIMIT,
    form: AsFormat = Format.TEXT,
) -> None:
    """List the runs of `tilewright optimize`, the newest first."""
    if ctx.invoked_subcommand is not None:
        return
    with records() as found:
        listed = [summary(found, record) for record in found.runs(limit)]
        count, size = found.count(), found.size()
    if form is Format.JSON:
        emit_json({"runs": listed, "count": count, "bytes": size})
        return
    if not listed:
        OUT.print("There are no runs; `tilewright optimize FILE` starts one.")
        return
    for one in listed:
        for line in _lines(one):
            OUT.print(line)
    more = f" of {count}" if count > len(listed) else ""
    OUT.print(f"{len(listed)}{more} runs; the store takes {size / 1e6:.1f} MB")


def _lines(one: Mapping[str, Any]) -> Iterator[str]:
    started = one["started"][:16].replace("T", " ")
    yield f"{one['run']}  {started} UTC  {one['state']:<11}  {one['path']}"
    yield (
        f"    target {one['target'] or 'none'}, device {one['device'] or 'none'}, "
        f"{one['kept']} of {one['trials']} trials kept, gain: {gain_words(one)}{cost_words(one)}"
    )


def gain_words(one: Mapping[str, Any]) -> str:
    """The measured gain of a run; what there is instead where none was measured."""
    gain = one["gain"]
    if gain is not None:
        return f"{ratio(gain['value'], gain['low'], gain['high'])} on {gain['device']}"
    if one["error"]:
        return "none: the original does not run"
    if one["state"] == RunState.FINISHED.value and not one["changed"]:
        return "no edit"
    return "not measured"


def cost_words(one: Mapping[str, Any]) -> str:
    """What models cost, after a comma; empty where none was asked."""
    return f", {spent_words(load(Spent, one['spent']))}" if one["spent"] else ""


@app.command("forget")
def forget(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="RUN...", help="Ids, or the first digits of ids.")
    ] = None,
    older_than: Annotated[
        float | None, typer.Option(min=0, help="Remove all runs that are older, in days.")
    ] = None,
    form: AsFormat = Format.TEXT,
) -> None:
    """Remove runs from the store, and the texts that no other run refers to."""
    if not names and older_than is None:
        raise InputError("name the runs to remove, or pass --older-than DAYS")
    with records() as found:
        chosen = {one.id: one for one in map(found.named, names or ())}
        if older_than is not None:
            moment = (datetime.now(UTC) - timedelta(days=older_than)).isoformat()
            chosen |= {one.id: one for one in found.older_than(moment)}
        before = found.size()
        removed = found.forget(list(chosen))
        freed = before - found.size()
    left = [run_id for run_id in chosen if run_id not in removed]
    if form is Format.JSON:
        emit_json({"removed": removed, "running": left, "freed_bytes": freed})
    else:
        OUT.print(f"{len(removed)} runs removed, {freed / 1e6:.1f} MB freed")
    if left:
        ERR.print(f"tilewright: not removed, because they are running: {', '.join(left)}")
        raise typer.Exit(1)
