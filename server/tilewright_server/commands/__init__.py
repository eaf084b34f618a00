"""The commands a client can execute, one file each. Each answers at once; long work is a job."""

from collections.abc import Awaitable, Callable
from typing import Any

from tilewright_server.commands import names
from tilewright_server.commands.cancel_job import cancel_job
from tilewright_server.commands.compile import compile_command
from tilewright_server.commands.debug_info import debug_info
from tilewright_server.commands.list_jobs import list_jobs
from tilewright_server.commands.optimize import optimize_command
from tilewright_server.commands.profile import profile_command
from tilewright_server.commands.show_certificate import show_certificate
from tilewright_server.commands.target import list_targets_command, target_command
from tilewright_server.commands.verify import verify_command

COMMANDS: tuple[tuple[str, Callable[..., Awaitable[Any]]], ...] = (
    (names.OPTIMIZE, optimize_command),
    (names.PROFILE, profile_command),
    (names.COMPILE, compile_command),
    (names.VERIFY, verify_command),
    (names.SHOW_CERTIFICATE, show_certificate),
    (names.TARGET, target_command),
    (names.LIST_TARGETS, list_targets_command),
    (names.CANCEL_JOB, cancel_job),
    (names.LIST_JOBS, list_jobs),
    (names.DEBUG_INFO, debug_info),
)
