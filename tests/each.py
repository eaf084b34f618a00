"""How many cases a test looks at: ``each`` of many, a ``sample``, or random ``examples``."""

from collections.abc import Callable, Iterable, Sequence
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


def sample(cases: Sequence[Case], every: int) -> Sequence[Case]:
    """All cases with the profile ``ci``, one of ``every`` otherwise.

    The test is to be marked ``hypothesis``, so that it runs where that profile is chosen.
    """
    return cases if _all_are_looked_at() else cases[::every]


def examples(number: int) -> settings:
    """``number`` random examples with the profile ``ci``, a fifth of them otherwise."""
    most = number if _all_are_looked_at() else max(10, number // 5)
    return settings(max_examples=most, deadline=None)


def _all_are_looked_at() -> bool:
    return settings.get_current_profile_name() == "ci"
