"""The order in which jobs get the engine, and their end."""

import asyncio

from tilewright_server.jobs.manager import Job, JobKind, JobManager, JobState, Lane
from tilewright_server.requests import Timings


async def _hold(lane: Lane, name: str, urgent: bool, order: list[str]) -> None:
    async with lane.turn(urgent):
        order.append(name)
        await asyncio.sleep(0)


async def test_urgent_goes_first_and_equals_in_order() -> None:
    lane, order = Lane(), []
    wanted = {"holder": False, "a": False, "b": False, "A": True, "B": True}
    async with asyncio.TaskGroup() as group:
        for name, urgent in wanted.items():
            group.create_task(_hold(lane, name, urgent, order))
    assert order == ["holder", "A", "B", "a", "b"]
    assert not lane.busy


async def test_who_is_cancelled_takes_no_turn_and_loses_none() -> None:
    lane, order = Lane(), []
    tasks = [asyncio.create_task(_hold(lane, name, False, order)) for name in "abc"]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["a", "c"]
    assert not lane.busy


async def test_cancelled_in_the_moment_the_turn_comes() -> None:
    lane, order = Lane(), []
    async with lane.turn(urgent=True):
        tasks = [asyncio.create_task(_hold(lane, name, False, order)) for name in "ab"]
        await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["b"]
    assert not lane.busy


async def test_urgent_that_comes_as_the_turn_is_handed_on() -> None:
    lane, order = Lane(), []
    async with lane.turn(urgent=True):
        other = asyncio.create_task(_hold(lane, "other", False, order))
        await asyncio.sleep(0)
    urgent = asyncio.create_task(_hold(lane, "urgent", True, order))
    await asyncio.gather(other, urgent)
    assert set(order) == {"other", "urgent"}
    assert not lane.busy


async def test_a_job_that_is_cancelled_before_its_first_step_is_over() -> None:
    over: list[Job] = []
    jobs = JobManager(Timings(), over.append)

    async def work(job: Job) -> None:
        job.settle(JobState.DONE, "compiled")

    job = jobs.start(Job(JobKind.COMPILE, "file:///a.py", "cuda:90"), work)
    assert jobs.cancel(job.id)
    assert job.task is not None
    await asyncio.wait({job.task})
    assert (job.state, over) == (JobState.CANCELLED, [job])
    assert not jobs.active(JobKind.COMPILE, "file:///a.py")
