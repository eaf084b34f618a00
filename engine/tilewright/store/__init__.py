"""Runs and their trials in SQLite, so that a run can be killed anywhere and taken up again."""

from tilewright.store.ledger import Ledger
from tilewright.store.store import Run, Store, StoreError, open_store

__all__ = ["Ledger", "Run", "Store", "StoreError", "open_store"]
