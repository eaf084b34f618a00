"""Several GPUs as one device, with devices that only pretend."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tilewright.devices.model import DeviceError, DeviceInfo, JobOutcome, JobStatus
from tilewright.devices.pool import DevicePool, share_of, width
from tilewright.targets.model import Target

INFO = DeviceInfo("cuda:0", "NVIDIA H200", Target("cuda", "90"), True, "2.11", "3.6.0", "3.12")
DONE = JobOutcome(JobStatus.OK, {})


class Pretended:
    """Keeps the jobs it is given, and answers as it is told."""

    def __init__(self, number: int, *answers: JobOutcome, **about: Any) -> None:
        self.info = replace(INFO, id=f"cuda:{number}", **about)
        self.answers = list(answers)
        self.jobs: list[Mapping[str, Any]] = []
        self.closed = False

    def run(self, job: Mapping[str, Any], timeout_s: float) -> JobOutcome:
        del timeout_s
        self.jobs.append(job)
        return self.answers.pop(0) if self.answers else DONE

    def close(self) -> None:
        self.closed = True


def test_a_pool_is_its_first_gpu_to_whoever_does_not_ask_for_a_share() -> None:
    first, second = Pretended(0), Pretended(1)
    pool = DevicePool((first, second))
    assert pool.info == first.info
    pool.run({"kind": "trial", "device": "cuda:0"}, 1)
    assert (len(first.jobs), len(second.jobs)) == (1, 0)
    pool.close()
    assert first.closed
    assert second.closed


def test_shares_go_to_the_gpu_with_the_least_to_do() -> None:
    devices = [Pretended(number) for number in range(3)]
    pool = DevicePool(devices)
    with share_of(pool) as one, share_of(pool) as two, share_of(pool) as three:
        assert {one.info.id, two.info.id, three.info.id} == {"cuda:0", "cuda:1", "cuda:2"}
        with share_of(pool) as four:
            four.run({"kind": "trial", "device": "cuda:0", "runner": {"device": "cuda:0"}}, 1)
    (job,) = [job for device in devices for job in device.jobs]
    assert job["device"] == job["runner"]["device"] == four.info.id
    with share_of(devices[2]) as alone:
        assert alone is devices[2]
    assert (width(pool), width(devices[0])) == (3, 1)


@pytest.mark.parametrize(
    "lost",
    [
        JobOutcome(JobStatus.LOST, {}, "the worker ended during the job"),
        JobOutcome(JobStatus.ERROR, {}, "RuntimeError: No CUDA-capable device is detected"),
    ],
)
def test_a_lost_gpu_is_left_out_and_its_trial_goes_to_another(
    lost: JobOutcome, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Pretended(0, lost), Pretended(1)
    pool = DevicePool((first, second))
    assert pool.run({"kind": "trial", "device": "cuda:0"}, 1) is DONE
    assert second.jobs == [{"kind": "trial", "device": "cuda:1"}]
    assert [member.info.id for member in pool.members] == ["cuda:1"]
    assert "cuda:0 is left out" in caplog.text
    pool.run({"kind": "trial", "device": "cuda:0"}, 1)
    assert len(first.jobs) == 1, "it is not asked again"
    assert pool.info.id == "cuda:1"


def test_a_candidate_that_is_lost_everywhere_costs_no_gpu() -> None:
    lost = JobOutcome(JobStatus.LOST, {}, "the worker ended during the job")
    pool = DevicePool((Pretended(0, lost), Pretended(1, lost), Pretended(2)))
    assert pool.run({"kind": "trial", "device": "cuda:0"}, 1) is lost
    assert len(pool.members) == 3


def test_a_kernel_that_goes_wrong_on_a_gpu_is_no_lost_gpu() -> None:
    wrong = JobOutcome(JobStatus.CRASHED, {}, "CUDA error: an illegal memory access")
    first, second = Pretended(0, wrong), Pretended(1)
    assert DevicePool((first, second)).run({"kind": "trial"}, 1) is wrong
    assert not second.jobs


def test_gpus_of_different_kinds_make_no_pool() -> None:
    with pytest.raises(DeviceError, match=r"their times cannot be compared"):
        DevicePool((Pretended(0), Pretended(1, name="NVIDIA H100")))
    with pytest.raises(DeviceError, match="named twice: cuda:0, cuda:0"):
        DevicePool((Pretended(0), Pretended(0)))


def test_shares_of_many_threads_even_out() -> None:
    devices = [Pretended(number) for number in range(4)]
    pool = DevicePool(devices)
    together = threading.Barrier(8)

    def work() -> None:
        with share_of(pool) as device:
            together.wait(600)
            device.run({"kind": "trial"}, 1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(device.jobs) for device in devices] == [2, 2, 2, 2]
