"""Every cheat of the evidence as the reply of a model: none is accepted."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from cheating import answered, cheats_of
from each import sample

from tilewright.devices.model import Device
from tilewright.devices.opening import open_device
from tilewright.evaluation.model import Level

# Those of a GPU alone do nothing wrong in the interpreter.
CHEATS = cheats_of(gpu=False)
GROUPS = {key: list(group) for key, group in groupby(CHEATS, lambda c: (c.base, c.allow))}
QUICK = ("accumulate", ())
SLOW = sample([key for key in GROUPS if key != QUICK], 32, lambda key: key[1])

pytestmark = [pytest.mark.triton, pytest.mark.slow]


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    opened = open_device("interpreter")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "group",
    [QUICK, *SLOW],
    ids=lambda key: "-".join((key[0], *key[1])),
)
def test_no_cheat_is_accepted(
    group: tuple[str, tuple[str, ...]], device: Device, tmp_path: Path
) -> None:
    cheats = GROUPS[group]
    result = answered(cheats, device, tmp_path)
    judged = {t.candidate.rationale.rstrip("."): t for t in result.trials[: len(cheats)]}
    # An answer that changes what no answer may change gives no candidate at all.
    unusable = [t for t in result.trials[: len(cheats)] if t.candidate.unusable]
    named = [cheat.name for cheat in cheats if cheat.name in judged]
    assert len(named) + len(unusable) == len(cheats)
    assert all(t.evaluation.level is Level.REJECTED for t in result.trials)
    assert not any(t.kept for t in result.trials)
    assert result.certificate is None
    assert result.final == result.original
