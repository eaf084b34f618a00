"""What the engine and a worker send each other, and what every job may carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, NotRequired, TypedDict, TypeVar

from .parts import Case, Confinement, Entry, Plan

Value = TypeVar("Value")


class Hello(TypedDict, total=False):
    """What a worker says first; ``torch`` is None where compilers alone are served.

    A service adds what it is started by, and says ``taken`` or ``outdated`` where it serves not;
    ``place`` and ``host`` are set by the agent of another host.
    """

    protocol: int
    python: str
    torch: str | None
    triton: str
    pid: int
    seconds: float
    files: dict[str, list[int]]
    error: str
    executable: str
    worker: str
    host: str
    place: str
    taken: bool
    outdated: bool


class Answer(TypedDict, total=False):
    """What a worker sends: ``hello`` once; of a request ``started`` where jobs wait for their
    turn, then how it ended, with the tail of what was printed as ``output``."""

    hello: Hello
    id: int
    started: bool
    status: str
    value: Mapping[str, Any]
    message: str
    output: str
    seconds: float


class Request(TypedDict, total=False):
    """What the engine sends: a job with the ``environment`` it gets from a service; the number of
    a request to ``cancel``; ``status``, ``stop`` or ``retire`` to a ``service``."""

    id: int
    job: Job[Any]
    timeout_s: float
    environment: dict[str, str]
    cancel: int
    service: str


class Job(TypedDict, Generic[Value], total=False):
    """What every job may carry.

    ``memory_bytes``: what its process may add to its address space; ``file_bytes``: the largest
    file it may write; ``cache``: the folder that is Triton's cache where it imports code under test
    or other code of the user, in its scratch folder unless absolute, and ``caches`` others whose
    kernels it finds; ``reads``: folders it may read. Its own process adds ``confinement``, times
    ``reached``, and ``channel``, a descriptor. No job has ``answered_with``.
    """

    answered_with: Value
    device: str
    out: str
    memory_bytes: int
    file_bytes: int
    cache: str
    caches: list[str]
    reads: list[str]
    gpu_lock: str
    processes: int
    confinement: Confinement
    reached: dict[str, float]
    channel: int


class Source(TypedDict):
    """A file, its entry point, and the file that makes the inputs where a module does."""

    module: str
    entry: Entry
    inputs_from: NotRequired[str]


class EntryJob(Job[Value], Source):
    """A job that calls an entry point; ``launching``: plans by the file that launches."""

    case: Case
    launching: NotRequired[dict[str, Plan]]
