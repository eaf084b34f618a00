"""The claim that any number of GPUs gives the same tree: its small form, and what it prints."""

import json
from pathlib import Path

from claim_parallel import evidence


def test_pretended_gpus_give_one_tree_and_biased_ones_do_not(tmp_path: Path) -> None:
    found = evidence("small", measured=tmp_path / "none.json")
    same, rate = found.findings
    assert same.reached, same
    assert "with an error of its own on each GPU" in same.control
    assert rate.reached is None
    (table,) = found.tables
    assert {row[3] for row in table.rows} == {"yes"}
    for *_, shares in table.rows:
        assert min(map(int, shares.split(", "))) > 0, "each GPU judged something"


def test_the_rate_of_two_gpus_is_read_and_never_rounded_up(tmp_path: Path) -> None:
    one = {"evaluations": 64, "per_hour": 3000.0}
    file = tmp_path / "two_gpus.json"
    file.write_text(json.dumps({"one": one}))
    alone = evidence("small", measured=file).findings[1]
    assert alone.reached is None
    assert "did not run (3000 evaluations an hour on one GPU)" in alone.found

    compared = {"ratio": 1.79, "first_that_differs": 2, "differing": 9, "slots": [64, 64]}
    file.write_text(json.dumps({"one": one, "two": {"per_hour": 5370.0}, "compared": compared}))
    rate = evidence("small", measured=file).findings[1]
    assert rate.reached is False
    assert rate.found == "1.79 times (3000 and 5370)"
    assert "9 of 64 slots differ, from generation 2 on" in rate.control
