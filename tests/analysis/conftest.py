"""Errors of the evaluator itself fail tests of the analysis; in use they only end an evaluation."""

from collections.abc import Iterator

import pytest

from tilewright.analysis.instances import run


@pytest.fixture(scope="session", autouse=True)
def evaluator_errors_raised() -> Iterator[None]:
    """What ends an evaluation as if the text could not be followed would hide such an error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "FAILURES", ())
        yield
