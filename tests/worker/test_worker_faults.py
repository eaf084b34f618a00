"""Candidates that hang, crash, take everything, corrupt, fork, flood, forge: the next one passes.

Once each here; ``benchmarks/faults.py`` does a hundred of each in a row, on a GPU as well.
"""

from dataclasses import dataclass

import faulting
import pytest
from faulting import ORIGINAL, Fault, Worker, held, left_behind, refused

pytestmark = pytest.mark.triton

DEVICE = "interpreter"
FEW = 4
QUICK = [fault for fault in faulting.faults_on(DEVICE) if not fault.slow or fault.name == "hangs"]
SLOW = [fault for fault in faulting.faults_on(DEVICE) if fault not in QUICK]


@pytest.fixture
def worker(interpreter_worker: Worker) -> Worker:
    return interpreter_worker


@pytest.mark.parametrize(
    "fault",
    [
        *(pytest.param(fault, id=fault.name) for fault in QUICK[::3]),
        *(pytest.param(f, id=f.name, marks=pytest.mark.slow) for f in QUICK if f not in QUICK[::3]),
    ],
)
def test_it_is_refused_and_the_next_candidate_passes(worker: Worker, fault: Fault) -> None:
    assert refused(worker.trial(fault.text()))
    assert worker.accepts(ORIGINAL)


@pytest.mark.slow
@pytest.mark.parametrize("fault", SLOW, ids=lambda fault: fault.name)
def test_patience_ends_and_the_next_candidate_passes(worker: Worker, fault: Fault) -> None:
    assert refused(worker.trial(fault.text()))
    assert worker.accepts(ORIGINAL)


@dataclass(frozen=True)
class Aftermath:
    """A worker before and after a few of each fault, and what was left once it had ended."""

    before: faulting.Held
    after: faulting.Held
    left: list[str]


@pytest.fixture(scope="module")
def aftermath() -> Aftermath:
    quick = [fault for fault in QUICK if not fault.slow]
    with faulting.worker(DEVICE) as started:
        assert started.accepts(ORIGINAL)
        before = held(started.pid)
        for fault in quick * FEW:
            started.trial(fault.text())
        assert started.accepts(ORIGINAL)
        after = held(started.pid)
    return Aftermath(before, after, left_behind(started.mark, started.pid))


@pytest.mark.slow
def test_the_worker_grows_by_nothing(aftermath: Aftermath) -> None:
    assert aftermath.after.descriptors <= aftermath.before.descriptors + 1
    assert aftermath.after.resident_kb <= aftermath.before.resident_kb + 20_000


@pytest.mark.slow
def test_nothing_is_left_behind(aftermath: Aftermath) -> None:
    assert aftermath.left == []


_LISTS_WHAT_IS_OPEN = """names = []
for fd in os.listdir("/proc/self/fd"):
    try:
        names.append(os.readlink(f"/proc/self/fd/{fd}").partition(":[")[0])
    except OSError:
        pass
raise ValueError(" ".join(sorted(names)))"""


def test_a_candidate_inherits_nothing_that_the_worker_has_open() -> None:
    with (
        open("/dev/zero", "rb") as inherited,  # noqa: PTH123
        faulting.worker(DEVICE, inherits=(inherited.fileno(),)) as started,
    ):
        said = refused(started.trial(Fault("looks", _LISTS_WHAT_IS_OPEN).text()))
        assert "/dev/zero" in faulting.opened(started.pid)
    assert "ValueError" in said
    assert "/dev/zero" not in said
    assert said.count("socket") == 1  # the judge's
    assert said.count("pipe") <= 3  # what it prints, twice; its answer
