"""The optimizations of this server, for clients that show them: sent as they go, and on request."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from tilewright_server.jobs.run_record import RunRecord
from tilewright_server.run_view import RUN, RUN_CANDIDATE, CandidateMessage

_INTERVAL_S = 0.25
_REMEMBERED = 20


class RunBoard:
    """Records by run; owned by the event loop.

    Args:
        notify: sends a notification to the client.
    """

    def __init__(self, notify: Callable[[str, Any], None]) -> None:
        self._notify = notify
        self._records: dict[str, RunRecord] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def add(self, record: RunRecord) -> None:
        """Begin to show a run; one that is offered again takes the place of what was shown."""
        self._records.pop(record.head.run, None)
        self._records[record.head.run] = record
        # One that goes on is not forgotten: what it finds is looked up here.
        for old in list(self._records)[:-_REMEMBERED]:
            if self._records[old].head.state.is_over:
                del self._records[old]
        self.show_now(record.head.run)

    def get(self, run: str) -> RunRecord | None:
        return self._records.get(run)

    def all(self) -> tuple[RunRecord, ...]:
        """Every run that is not forgotten, oldest first."""
        return tuple(self._records.values())

    def take(self, run: str, event: Mapping[str, Any]) -> None:
        """Bring a run up to date with an event of the engine."""
        record = self._records.get(run)
        if record is None:
            return
        candidate = record.take(event)
        if candidate is not None:
            self._notify(RUN_CANDIDATE, CandidateMessage(run, candidate).to_json())
        self.show(run)

    def show(self, run: str) -> None:
        """Send a run's head soon; what comes too fast is sent together."""
        if run not in self._timers:
            loop = asyncio.get_running_loop()
            self._timers[run] = loop.call_later(_INTERVAL_S, self._send, run)

    def show_now(self, run: str) -> None:
        """Send it at once: it is over, or waits for a person."""
        if (timer := self._timers.pop(run, None)) is not None:
            timer.cancel()
        self._send(run)

    def _send(self, run: str) -> None:
        self._timers.pop(run, None)
        if (record := self._records.get(run)) is not None:
            self._notify(RUN, record.now().to_json())
