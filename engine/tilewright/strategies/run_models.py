"""The models of one run, put together: calls, adviser, proposer, and what they were asked."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.evaluation.cascade import Cascade
from tilewright.models.model import Spent
from tilewright.models.settings import Ensemble
from tilewright.serialize import dump, load
from tilewright.store.ledger import Ledger
from tilewright.strategies.advice import Adviser
from tilewright.strategies.briefing import Briefer
from tilewright.strategies.calls import Calls, Connect
from tilewright.strategies.cover import CoverProposer
from tilewright.strategies.model import ModelUse

Note = Callable[[str], None]


@dataclass(frozen=True)
class RunModels:
    """What a run needs to ask its models."""

    calls: Calls
    briefer: Briefer
    adviser: Adviser
    proposer: CoverProposer

    def use(self, ledger: Ledger) -> ModelUse:
        """What the models were asked and what it cost, at the end of the run.

        The client alone has counted attempts that failed, so what it says is put on record.
        """
        calls = self.calls
        calls.settle()
        described: dict[str, Any] = ledger.once(
            "spent", "spent", {}, lambda: {"spent": dump(calls.spent), "notes": list(calls.notes)}
        )
        return ModelUse(
            limits=calls.ensemble.limits,
            spent=load(Spent, described["spent"]),
            calls=tuple(calls.records),
            suspected=self.adviser.suspected,
            ended=calls.ended,
            notes=tuple(described["notes"]),
        )

    def close(self) -> None:
        """Give back the connections."""
        self.calls.close()


def run_models(
    ensemble: Ensemble | None,
    connect: Connect | None,
    cascade: Cascade,
    path: Path,
    ledger: Ledger,
    note: Note,
) -> RunModels | None:
    """The models of a run; None where it names none, or could verify nothing that they propose."""
    if ensemble is None:
        return None
    bench = cascade.bench
    if bench is None:
        note(f"no model was asked: {cascade.no_problem()}")
        return None
    calls = Calls(connect, ensemble, ledger, note)
    briefer = Briefer(cascade.original, path, bench, cascade.target, ledger, note)
    adviser = Adviser(calls, briefer, note)
    return RunModels(calls, briefer, adviser, CoverProposer(calls, adviser, briefer, note))
