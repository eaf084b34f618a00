"""Which runs the board forgets, and which it keeps."""

from typing import Any

from tilewright_server.jobs.run_board import RunBoard
from tilewright_server.jobs.run_record import RunRecord
from tilewright_server.run_view import RunHead, RunState


def _record(name: str, state: RunState) -> RunRecord:
    return RunRecord(RunHead(name, "file:///k.py", "cuda:90", state), "text")


async def test_older_runs_that_are_opened_do_not_push_out_one_that_goes_on() -> None:
    sent: list[Any] = []
    board = RunBoard(lambda method, value: sent.append((method, value)))
    states = {
        "works": RunState.RUNNING,
        "waits": RunState.QUEUED,
        "offers": RunState.OFFERED,
        "done": RunState.DONE,
    }
    for name, state in states.items():
        board.add(_record(name, state))
    for number in range(30):
        board.add(_record(f"record-{number}", RunState.DONE))
    kept = [record.head.run for record in board.all()]
    assert kept[:3] == ["works", "waits", "offers"]
    assert "done" not in kept
    assert kept[-1] == "record-29"
    assert len(kept) <= 23
    board.take("works", {"event": "original", "candidate": "a"})
    assert sent[-1][1]["candidate"]["id"] == "a"
