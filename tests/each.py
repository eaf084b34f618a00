"""How many cases a test looks at: ``each`` of many, a ``sample``, or random ``examples``."""

import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from hypothesis import settings

Case = TypeVar("Case")


def each(
    cases: Iterable[Case], name: Callable[[Case], object] = str
) -> Callable[[Callable[[Case], None]], Callable[[], None]]:
    """Make one test of a check of a single case, where a test for each would cost more.

    It runs all of them, and its failure names each case that failed.
    """

    def decorate(check: Callable[[Case], None]) -> Callable[[], None]:
        def run_all() -> None:
            failed, number = [], 0
            for number, case in enumerate(cases, 1):  # noqa: B007  the last one is their count
                try:
                    check(case)
                except AssertionError as error:
                    failed.append(f"{name(case)}: {error}")
            assert number, "no case"
            assert not failed, "\n".join(failed)

        run_all.__name__, run_all.__doc__ = check.__name__, check.__doc__
        run_all.__module__, run_all.__qualname__ = check.__module__, check.__qualname__
        return run_all

    return decorate


def sample(
    cases: Sequence[Case], every: int, kind: Callable[[Case], Hashable] = lambda case: None
) -> Sequence[Case]:
    """One of ``every`` cases, four times as many with the profile ``ci``, each with ``all``.

    Of each ``kind`` the first case is among them. The test is to be marked ``hypothesis`` or
    ``slow``, so that it runs where a profile is chosen.
    """
    step, kinds, chosen = max(1, every // _SAMPLES[_profile()]), set[Hashable](), list[Case]()
    for place, case in enumerate(cases):
        if place % step == 0 or kind(case) not in kinds:
            chosen.append(case)
        kinds.add(kind(case))
    return chosen


def examples(number: int) -> settings:
    """``number`` random examples with the profile ``all``, half with ``ci``, else a fifth."""
    most = max(10, number // _PARTS[_profile()])
    return settings(max_examples=most, deadline=None)


_SAMPLES = {"dev": 1, "ci": 4, "all": sys.maxsize}
_PARTS = {"dev": 5, "ci": 2, "all": 1}


def _profile() -> str:
    return settings.get_current_profile_name()
