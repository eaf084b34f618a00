"""Whether a fix can be made with what is known, before anything is rewritten."""

from tilewright.analysis.model import Issue
from tilewright.rewrites.model import Rewrite
from tilewright_server import wording
from tilewright_server.analysis_cache import Analysis
from tilewright_server.context import ServerContext
from tilewright_server.jobs.manager import JobKind
from tilewright_server.snapshot import Snapshot

_CAPTURING = (JobKind.PROFILE, JobKind.COMPILE)


def lacking_launch(
    server: ServerContext,
    snapshot: Snapshot,
    analysis: Analysis,
    issue: Issue,
    rewrite: Rewrite,
) -> str | None:
    """Why a fix that depends on how the kernel is launched cannot be made yet; None if it can."""
    captured = {launch.kernel for launch in analysis.context.launches}
    if not rewrite.needs_launch or issue.kernel is None or issue.kernel in captured:
        return None
    profiled = server.facts.profiled(analysis, snapshot, issue.kernel)
    notes = profiled[0].notes if profiled else ()
    failure = server.facts.failure(JobKind.PROFILE, snapshot) or "; ".join(notes)
    return wording.lacking_launch(
        launched=issue.kernel in {kernel.name for kernel in analysis.module.entry_kernels()},
        trusted=server.settings.trusted,
        running=any(server.jobs.active(kind, snapshot.uri) for kind in _CAPTURING),
        on_save=server.settings.profile_on_save,
        tried=bool(profiled or failure),
        failure=failure,
    )
