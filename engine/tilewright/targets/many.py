"""Compiling many launches at once, on all cores, through the same worker and cache as one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, NamedTuple

from tilewright.targets.cache import ReportCache
from tilewright.targets.compilation import COMPILE_SECONDS, compile_launch, stop_compiling
from tilewright.targets.model import CompileReport, LaunchFacts, Target
from tilewright.targets.toolchains import NoToolchainError

if TYPE_CHECKING:  # devices build on targets: no import back at run time
    from tilewright.devices.model import Device

# Threads that read reports while the others wait for compilers.
_READING = 1
Progress = Callable[[int, int], None]


class Wanted(NamedTuple):
    """One launch to compile: of the kernel of which file, for which chip."""

    module_path: str
    launch: LaunchFacts
    target: Target


def compile_many(
    device: Device,
    wanted: Sequence[tuple[str, LaunchFacts, Target]],
    *,
    progress: Progress | None = None,
    parallel: int | None = None,
    timeout_s: float = COMPILE_SECONDS,
    cache: ReportCache | None = None,
) -> list[CompileReport | NoToolchainError]:
    """A report for each launch, in the order asked for.

    Args:
        progress: called in the caller's thread with (done, all) whenever one is done.
        parallel: how many at a time; if not given, as many as keep all processors busy.

    Returns:
        In the place of a report the error that says nothing here compiles for its target.

    Raises:
        DeviceError: as ``compile_launch`` does; what was compiled until then is in the cache.

    Left early, by an error or by Ctrl-C, it stops what is being compiled.
    """
    cache = cache or ReportCache()

    def one(asked: tuple[str, LaunchFacts, Target]) -> CompileReport | NoToolchainError:
        try:
            return compile_launch(device, *asked, timeout_s=timeout_s, cache=cache)
        except NoToolchainError as error:
            return error

    with ThreadPoolExecutor(parallel or len(os.sched_getaffinity(0)) + _READING) as pool:
        futures = [pool.submit(one, asked) for asked in wanted]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                if progress is not None:
                    progress(done, len(futures))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            stop_compiling(device, {asked[2] for asked in wanted})
            raise
    return [future.result() for future in futures]
