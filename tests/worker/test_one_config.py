"""One configuration of what is autotuned, and what is done about one that does not fit."""

from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.triton


def tuner(fits: set[int], launched: list[int]) -> Any:
    from triton import Config
    from triton.runtime.errors import OutOfResources

    def run(*args: Any, BLOCK: int, **options: Any) -> int:
        if BLOCK not in fits:
            raise OutOfResources(BLOCK, 1, "shared memory")
        launched.append(BLOCK)
        return BLOCK

    return SimpleNamespace(
        configs=[Config({"BLOCK": block}) for block in (32, 64, 128)],
        base_fn=SimpleNamespace(__name__="kernel"), perf_model=None, early_config_prune=None,
        arg_names=[], fn=SimpleNamespace(run=run),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("index", "fits", "taken"),
    [(0, {32, 64, 128}, 32), (2, {32, 64, 128}, 128), (1, {32, 128}, 128), (2, {32}, 32)],
)
def test_the_next_that_fits_is_taken(index: int, fits: set[int], taken: int) -> None:
    from triton.runtime.autotuner import Autotuner

    from tilewright.worker.launches import hooks

    seen: dict[str, int] = {}
    launched: list[int] = []
    with hooks.one_config(index, seen):
        assert Autotuner.run(tuner(fits, launched)) == taken
    assert seen == {"kernel": 3}
    assert launched == [taken]


def test_where_none_fits_it_fails_as_the_launch_does() -> None:
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.errors import OutOfResources

    from tilewright.worker.launches import hooks

    with hooks.one_config(1, {}), pytest.raises(OutOfResources):
        Autotuner.run(tuner(set(), []))
