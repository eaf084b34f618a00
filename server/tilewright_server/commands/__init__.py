"""The commands a client can execute. Each answers at once; long work is a job."""

from collections.abc import Awaitable, Callable
from typing import Any

from tilewright_server.commands import names
from tilewright_server.commands.apply import apply_candidate
from tilewright_server.commands.chips import list_targets_command
from tilewright_server.commands.inquiries import (
    debug_info,
    list_runs,
    models_command,
    run_text,
    show_certificate,
    target_command,
)
from tilewright_server.commands.jobs import (
    cancel_job,
    compile_command,
    list_jobs,
    optimize_command,
    profile_command,
    verify_command,
)
from tilewright_server.commands.records import run_record

COMMANDS: tuple[tuple[str, Callable[..., Awaitable[Any]]], ...] = (
    (names.OPTIMIZE, optimize_command),
    (names.PROFILE, profile_command),
    (names.COMPILE, compile_command),
    (names.VERIFY, verify_command),
    (names.SHOW_CERTIFICATE, show_certificate),
    (names.TARGET, target_command),
    (names.LIST_TARGETS, list_targets_command),
    (names.MODELS, models_command),
    (names.CANCEL_JOB, cancel_job),
    (names.LIST_JOBS, list_jobs),
    (names.RUNS, list_runs),
    (names.RUN_TEXT, run_text),
    (names.RUN_RECORD, run_record),
    (names.APPLY_CANDIDATE, apply_candidate),
    (names.DEBUG_INFO, debug_info),
)
