"""Runs on disk: found by the server that takes them up, and removed only when they are decided."""

import os
import time
from pathlib import Path

from tilewright_server.jobs.run_journal import KeptRun, RunJournal

RUN = KeptRun("one", "file:///k.py", "/k.py", "cuda:90", None, "text", models=False)


def test_a_run_is_found_once_by_the_server_that_takes_it_up(tmp_path: Path) -> None:
    first, second = RunJournal(tmp_path), RunJournal(tmp_path)
    first.keep(RUN)
    assert second.adopt_runs("/k.py") == ()
    first.release()
    assert second.adopt_runs("/other.py") == ()
    (found,) = second.adopt_runs("/k.py")
    assert (found.run, found.text) == ("one", "text")
    assert second.adopt_runs("/k.py") == ()
    second.drop("one")
    assert RunJournal(tmp_path).adopt_runs("/k.py") == ()


def test_what_cannot_be_read_is_left_alone_until_it_is_old(tmp_path: Path) -> None:
    newer = tmp_path / "newer.json"
    newer.write_text('{"run": "newer", "of": "a newer version"}')
    assert RunJournal(tmp_path).adopt_runs("/k.py") == ()
    assert newer.exists()
    long_ago = time.time() - 40 * 86400
    os.utime(newer, (long_ago, long_ago))
    RunJournal(tmp_path).adopt_runs("/k.py")
    assert not newer.exists()


def test_a_run_under_another_name_is_not_taken(tmp_path: Path) -> None:
    journal = RunJournal(tmp_path)
    journal.keep(RUN)
    journal.release()
    (tmp_path / "one.json").rename(tmp_path / "two.json")
    assert RunJournal(tmp_path).adopt_runs("/k.py") == ()
