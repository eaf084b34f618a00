"""Runs and their trials in SQLite, so that a run can be killed anywhere and taken up again."""

from tilewright.store.ledger import BrokenOffError, Ledger, NotRecordedError
from tilewright.store.records import NoRunError, Records, RunRecord, RunState, UnitRecord
from tilewright.store.store import Run, Store, StoreError, open_store

__all__ = [
    "BrokenOffError",
    "Ledger",
    "NoRunError",
    "NotRecordedError",
    "Records",
    "Run",
    "RunRecord",
    "RunState",
    "Store",
    "StoreError",
    "UnitRecord",
    "open_store",
]
