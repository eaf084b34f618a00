"""The commands a client can execute. Each answers at once; long work is a job."""

from collections.abc import Awaitable, Callable
from typing import Any

from tilewright_server.commands import names
from tilewright_server.requests import lazy

COMMANDS: tuple[tuple[str, Callable[..., Awaitable[Any]]], ...] = (
    (names.OPTIMIZE, lazy("commands.jobs", "optimize_command")),
    (names.PROFILE, lazy("commands.jobs", "profile_command")),
    (names.COMPILE, lazy("commands.jobs", "compile_command")),
    (names.VERIFY, lazy("commands.jobs", "verify_command")),
    (names.SHOW_CERTIFICATE, lazy("commands.pages", "show_certificate")),
    (names.TARGET, lazy("commands.inquiries", "target_command")),
    (names.LIST_TARGETS, lazy("commands.chips", "list_targets_command")),
    (names.MODELS, lazy("commands.inquiries", "models_command")),
    (names.COMPARE, lazy("commands.pages", "compare_command")),
    (names.ADD_SPEC, lazy("commands.specs", "add_spec")),
    (names.COUNTERPART, lazy("commands.specs", "counterpart")),
    (names.CAPTURE, lazy("commands.captures", "capture_command")),
    (names.CAPTURE_COMMANDS, lazy("commands.captures", "capture_commands")),
    (names.EXPLAIN, lazy("commands.pages", "explain_command")),
    (names.CANCEL_JOB, lazy("commands.jobs", "cancel_job")),
    (names.LIST_JOBS, lazy("commands.jobs", "list_jobs")),
    (names.RUNS, lazy("commands.inquiries", "list_runs")),
    (names.RUN_TEXT, lazy("commands.inquiries", "run_text")),
    (names.RECORDED_RUNS, lazy("commands.records", "recorded_runs")),
    (names.OPEN_RUN, lazy("commands.records", "open_run")),
    (names.RUN_RECORD, lazy("commands.records", "run_record")),
    (names.APPLY_CANDIDATE, lazy("commands.apply", "apply_candidate")),
    (names.DEBUG_INFO, lazy("commands.inquiries", "debug_info")),
)
