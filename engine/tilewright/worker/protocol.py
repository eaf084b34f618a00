"""Messages between the engine and a worker, and the jobs a worker knows.

The engine marks a worker, and with it all that descends from it, with the environment variable
``MARKER``; scratch folders lie in the temporary folder's ``FOLDER_PREFIX`` + that mark.

Framing: each message is a 4-byte big-endian length and that many bytes of UTF-8 JSON. The engine
writes requests to the worker's stdin; the worker answers on a private copy of its first stdout.

Worker to engine, once: ``{"hello": {"protocol", "python", "torch", "triton", "pid", "seconds"}}``;
torch is null in a worker started with ``COMPILE_ONLY``, which serves compilers alone.
Engine to worker: ``{"id", "job", "timeout_s"}``, or ``{"cancel": id}``. End of file ends the worker
and all that it started.
Worker to engine, once a request: ``{"id", "status", "value", "message", "output", "seconds"}``;
status is ok, error, timeout, crashed, out_of_memory, unsupported where the interpreter cannot run
it, fault where the worker itself went wrong, or lost where no process could be started;
``output`` is the tail of what was printed.

As a service (``SERVICE``) a worker has no engine: it listens on a Unix socket, says hello to each
client of its own user, and does as many jobs at a time as there are processors, the others in turn:
``{"id", "started": true}`` tells that a job's time has begun. A request also carries
``environment``, which its child gets instead of the service's own. A client that goes takes its
jobs and coordinators along. ``{"id", "service": "status"|"stop"|"retire"}`` asks about
the service; one that is retired ends unless it is in use.

A job runs in a child of its own: a session, home and scratch folder, an environment by a list,
limits on memory, CPU time and file size, no core dumps; Landlock lets it write below its scratch,
``out`` and Triton's cache alone. One that imports code under test or other code of the user
(``confine.confined``) may also read its own files and the system's alone (those it names, and
folders in ``reads``), reach no network, trace and signal nothing outside, to the extent that the
system permits it. ``isolation.report`` says how far that went; ``probe`` which parts hold.
TILEWRIGHT_LANDLOCK=0 turns Landlock off.

``messages`` has the types of all jobs and of what answers them, but for these:

``run``: module, entry, case, inputs, device, out, state?, keep_state=false, poison=true,
guard=true, order="forward"|"reversed"|"shuffled", config_index?, shadow_dtype? -> outputs
(manifest), output_tree, inputs_changed (names), changed_inputs (manifest of their new values),
launches ``{kernel: count}``, interpreted (``batched_launch.Tally`` as JSON), configs
``{kernel: number of autotune configurations}``, state (manifest, with keep_state), caveats,
seconds, out_of_bounds (what was written outside of a tensor, a sentence each; in the
interpreter also what was read there), out_of_bounds_lines (parallel to it: the ``file:line`` that
did it, known in the interpreter alone), races and races_lines likewise. The interpreter alone knows
unwritten, what was loaded before it was written (``[{name: null unless it came back, text,
elements, lines}]``), stored_inputs, what launches stored into (``[{inputs, lines, changes}]``), and
of a captured launch loaded_inputs, what it loaded from and had not stored into.
With ``guard`` inputs, weights and what the host code allocates lie between bands of poison, so that
their ``storage_offset`` is not what it would be. ``order`` is the interpreter's alone.
``shadow_dtype`` as ``{"float16": "float64"}`` runs such inputs and state in another dtype.
"""

from __future__ import annotations

import re

VERSION = 1
COMPILE_ONLY = "--compile-only"
SERVICE = "--service"
READS_RESULT = "the host code reads a result"
"""Begins what is said of host code that cannot be followed where nothing runs."""
MARKER = "TILEWRIGHT_WORKER_ID"
FOLDER_PREFIX = "tilewright-worker-"
OUTPUT_TAIL = 16 * 1024

SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
"""What the name of a variable has that no job gets to see."""
PLANTED_SECRET = "TILEWRIGHT_DOCTOR_TOKEN"
"""The one secret that a worker starts with: ``tilewright doctor`` tries whether it is removed."""

OK = "ok"
ERROR = "error"
TIMEOUT = "timeout"
CRASHED = "crashed"
OUT_OF_MEMORY = "out_of_memory"
UNSUPPORTED = "unsupported"
FAULT = "fault"
LOST = "lost"


class JobError(Exception):
    """A job that cannot be done as asked; the message is for a person."""


class NotInterpretedError(JobError):
    """What Triton's interpreter has no means to run: no fault of the candidate, and no verdict."""


class HarnessError(Exception):
    """What runs a job went wrong, and not the job: nothing follows of the code under test."""


class OutOfMemoryError(Exception):
    """A job that needs more memory than there is; the message carries the sizes."""
