"""Memory of a device that others hold: waited for, and told when it does not come back."""

from collections.abc import Callable, Iterator

import pytest

pytestmark = pytest.mark.triton

GIB = 1 << 30
ALL = 100 * GIB
Says = Callable[..., int]


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Says:
    """``device(free, ...)``: what a limit allows where the driver answers so, one after the other,
    and the last for ever; None where it has not even memory for a context."""
    import torch

    from tilewright.worker.sandbox import gpu_memory_limit

    def limited(*answers: int | None) -> int:
        told: Iterator[int | None] = iter(answers)
        last: list[int | None] = [None]
        fractions: list[float] = []

        def mem_get_info(place: int) -> tuple[int, int]:
            assert place == 0
            last[0] = next(told, last[0])
            if last[0] is None:
                raise torch.AcceleratorError("CUDA error: out of memory", 2)
            return last[0], ALL

        def fraction(value: float, place: int) -> None:
            fractions.append(value)

        monkeypatch.setattr(torch.cuda, "mem_get_info", mem_get_info)
        monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", fraction)
        monkeypatch.setattr(gpu_memory_limit, "_PAUSE_S", 0.01)
        monkeypatch.setattr(gpu_memory_limit, "_WAIT_S", 0.2)
        allowed = gpu_memory_limit.limit("cuda:0")
        assert fractions == [pytest.approx(allowed / ALL)]
        return allowed

    return limited


def test_nine_tenths_of_what_is_free_may_be_taken(device: Says) -> None:
    assert device(80 * GIB) == pytest.approx(72 * GIB, abs=1)


def test_a_device_that_cannot_be_opened_yet_is_waited_for(device: Says) -> None:
    assert device(None, None, 80 * GIB) == pytest.approx(72 * GIB, abs=1)


def test_what_is_coming_back_is_waited_for(device: Says) -> None:
    assert device(None, 2 * GIB, 30 * GIB, 90 * GIB) == pytest.approx(81 * GIB, abs=1)


def test_what_others_keep_is_not(device: Says) -> None:
    assert device(10 * GIB, 10 * GIB, 90 * GIB) == pytest.approx(9 * GIB, abs=1)


def test_what_does_not_come_back_is_said_to_be_others(device: Says) -> None:
    from tilewright.worker.protocol import JobError

    with pytest.raises(JobError, match=r"cuda:0 had no memory left .* other processes hold it"):
        device(None)


def test_another_failure_of_the_driver_is_no_lack_of_memory(
    device: Says, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from tilewright.worker.sandbox import gpu_memory_limit

    def broken(place: int) -> tuple[int, int]:
        raise RuntimeError("CUDA error: unspecified launch failure")

    monkeypatch.setattr(torch.cuda, "mem_get_info", broken)
    with pytest.raises(RuntimeError, match="launch failure"):
        gpu_memory_limit.limit("cuda:0")
