"""A job's own process: confine it, do the job, tell how it went, end."""

from __future__ import annotations

import errno
import os
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import jobs
from ..loading import import_stamps
from ..protocol import (
    CRASHED,
    ERROR,
    FAULT,
    MARKER,
    OK,
    OUT_OF_MEMORY,
    UNSUPPORTED,
    HarnessError,
    JobError,
    NotInterpretedError,
    OutOfMemoryError,
)
from ..sandbox import confinement, gpu_memory_limit, network_namespace, read_paths
from . import prewarm
from .connections import write_message

if TYPE_CHECKING:
    from ..messages.envelope import Answer, Job
    from ..messages.parts import Confinement

_MEMORY_WORDS = ("can't allocate memory", "out of memory", "cannot allocate memory")
_TRACEBACK_TAIL = 6000
_NOT_USER = (str(Path(__file__).parents[1]), "site-packages", "/lib/python", "<")
_RUNS_CODE_UNDER_TEST = {
    "capture", "compile", "run", "measure", "perform", "tries", "size", "calls", "tests",
}  # fmt: skip
_ONE_VERSION_A_PROCESS = {"run", "measure", "profile", "perform"}
_CONFINES_ANOTHER = {"counters"}  # a profiler, which starts the process that confines itself


def take_over(environment: dict[str, str] | None) -> None:
    """Use the environment of the client that asked, with the worker's own mark."""
    if environment is None:
        return
    mark = os.environ.get(MARKER, "")
    os.environ.clear()
    os.environ.update({**environment, MARKER: mark})
    environment.clear()


def main(job: Job[Any], result: int, scratch: str, timeout_s: float, parent: int) -> None:
    """Never returns: ends the process after writing one message to ``result``."""
    os.setpgid(0, 0)
    confinement.die_with_parent(parent)
    start = time.perf_counter()
    job["reached"] = {"started": time.monotonic()}
    answer = _answer(job, scratch, timeout_s)
    answer["seconds"] = time.perf_counter() - start
    try:
        write_message(result, answer)
    finally:
        os._exit(0)


def _answer(job: Job[Any], scratch: str, timeout_s: float) -> Answer:
    def confined() -> Mapping[str, object]:
        job["confinement"] = _confine(job, scratch, timeout_s)
        return {}

    # What goes wrong before any code under test is there is a fault of Tilewright.
    answer = attempted(confined)
    if answer["status"] == OK:
        return attempted(lambda: perform(job))
    if answer["status"] == ERROR:
        told = f"its process could not be confined: {answer['message']}"
        return {**answer, "status": FAULT, "message": told}
    return answer


def perform(job: Job[Any]) -> Any:
    """What a job gives; raises JobError for one that is unknown or lacks an argument."""
    kind = job.get("kind")
    module = jobs.module_of(kind)
    if kind in jobs.COMPILING:
        prewarm.without_tritons_cache()
    before = import_stamps.loaded() if kind in jobs.KEPT_ON_DISK else frozenset()
    try:
        value = module.perform(job)
    except KeyError as error:
        if error.__traceback__ is not None and error.args and error.args[0] not in job:
            _blame_missing_argument(error, kind)
        raise
    if kind in jobs.KEPT_ON_DISK:
        value["depends"] = import_stamps.brought_along(before, str(job.get("module")))
    return value


def _blame_missing_argument(error: KeyError, kind: object) -> None:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None and __name__.rsplit(".", 2)[0] in trace.tb_frame.f_globals["__name__"]:
        raise JobError(f"a {kind} job needs {error.args[0]!r}") from error


def attempted(perform: Callable[[], Mapping[str, object]]) -> Answer:
    """``status``, ``value`` and, where it failed, a ``message`` of what was to be performed."""
    try:
        return {"status": OK, "value": perform()}
    except SystemExit as error:
        return _failed(CRASHED, f"called sys.exit({error.code!r}) before giving a result", error)
    except NotInterpretedError as error:
        return _failed(UNSUPPORTED, str(error), error)
    except JobError as error:
        return _failed(ERROR, str(error), error)
    except HarnessError as error:
        return _failed(FAULT, str(error), error)
    except BaseException as error:  # noqa: BLE001 - the worker loop's boundary
        if is_out_of_memory(error):
            return _failed(OUT_OF_MEMORY, f"ran out of memory: {_one_line(error)}", error)
        return _failed(ERROR, describe(error), error)


def _confine(job: Job[Any], scratch: str, timeout_s: float) -> Confinement:
    on_gpu = jobs.uses_gpu(job)
    if isinstance(out := job.get("out"), str):
        Path(out).mkdir(parents=True, exist_ok=True)
    if isinstance(lock := job.get("gpu_lock"), str):
        Path(lock).touch()
    if job.get("kind") in _CONFINES_ANOTHER:
        return confinement.limited(job, scratch, timeout_s, on_gpu=on_gpu)
    could_leave = job.get("kind") == "probe" and network_namespace.can_leave()
    untrusted = _is_untrusted(job)
    found = confinement.confined(job, scratch, timeout_s, on_gpu=on_gpu, untrusted=untrusted)
    job["reached"]["confined"] = time.monotonic()
    if on_gpu and job.get("kind") in _ONE_VERSION_A_PROCESS and not job.get("compiles"):
        gpu_memory_limit.limit(str(job.get("device")))
        job["reached"]["limited"] = time.monotonic()  # memory may have been waited for
    return {**found, "netns": found["netns"] or could_leave}


def _is_untrusted(job: Job[Any]) -> bool:
    """Whether a job imports code under test or other code of the user."""
    return job.get("kind") in _RUNS_CODE_UNDER_TEST or bool(job.get("module"))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception is an allocation that failed, on the host or on the device."""
    if isinstance(error, MemoryError | OutOfMemoryError):
        return True
    if type(error).__name__ == "OutOfMemoryError":
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    cause = error.__cause__
    if cause is not None and is_out_of_memory(cause):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _MEMORY_WORDS)


def describe(error: BaseException) -> str:
    """One line: what went wrong, and on which line of which file that is not a library's."""
    root: BaseException = error
    while root.__cause__ is not None:
        root = root.__cause__
    where = _user_line(root.__traceback__) or _user_line(error.__traceback__)
    return _one_line(root) + (f" ({where})" if where else "") + _way_out(root)


def _way_out(error: BaseException) -> str:
    """What to do where the confinement, and nothing else, kept a file from being read."""
    path = getattr(error, "filename", None)
    if not isinstance(error, PermissionError) or not isinstance(path, str):
        return ""
    return (
        "; code under test reads its own files alone and writes in its scratch folder alone (a "
        f"folder that it has to read can be named in {read_paths.MORE})"
    )


def _user_line(trace: TracebackType | None) -> str:
    for frame in reversed(traceback.extract_tb(trace)):
        if not any(part in frame.filename for part in _NOT_USER):
            return f"{os.path.basename(frame.filename)}:{frame.lineno}"  # noqa: PTH119
    return ""


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def _failed(status: str, message: str, error: BaseException) -> Answer:
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return {"status": status, "message": message, "value": {"traceback": trace[-_TRACEBACK_TAIL:]}}
