"""The commands that start, stop and list jobs; each answers at once, with ``{"job": id}``."""

from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tilewright_server import consent, wording
from tilewright_server.background_compile import compilable, compile_targets, start_inspecting
from tilewright_server.commands.arguments import (
    CancelArguments,
    CertificateArguments,
    OptimizeArguments,
    ProfileArguments,
    read_arguments,
)
from tilewright_server.jobs.manager import Job, JobKind, JobState
from tilewright_server.jobs.optimize import optimize
from tilewright_server.jobs.profile import profile, replace_running
from tilewright_server.jobs.verify import verify
from tilewright_server.models import Choice
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot


def refuse(server: TilewrightServer, reason: str) -> dict[str, Any]:
    """The answer where no job was started; the person sees why."""
    server.warn(f"Tilewright: {reason}")
    return {"job": None, "reason": reason}


def why_not(server: TilewrightServer, snapshot: Snapshot | None) -> str | None:
    """Why no engine may run on a document; None if one may."""
    if not server.settings.trusted:
        return "this workspace is not trusted, so none of its code is run"
    if snapshot is None:
        return "the document is not open"
    if snapshot.cell is not None:
        return "kernels of a notebook are read and not run; move them to a Python file"
    if snapshot.path is None:
        return "save the file first: the engine looks for a spec next to it"
    return None


def runnable(server: TilewrightServer, uri: str) -> Snapshot | dict[str, Any]:
    """A document that an engine may run on, or the answer that refuses it."""
    snapshot = server.snapshot(uri)
    reason = why_not(server, snapshot)
    if reason is not None or snapshot is None:
        return refuse(server, str(reason))
    return snapshot


async def profile_command(server: TilewrightServer, *arguments: Any) -> dict[str, Any]:
    """Profile a document's kernels, also where facts are known: asking again measures again."""
    wanted = read_arguments(ProfileArguments, arguments)
    snapshot = runnable(server, wanted.uri)
    if not isinstance(snapshot, Snapshot):
        return snapshot
    replace_running(server, wanted.uri)

    async def work(job: Job) -> None:
        job.target = wanted.target or await server.pick_target(snapshot)
        await profile(server, job, snapshot)

    return {"job": server.jobs.start(Job(JobKind.PROFILE, wanted.uri, wanted.target), work).id}


async def compile_command(server: TilewrightServer, *arguments: Any) -> dict[str, Any]:
    """Compile a document's kernels, also where all is known: what it imports may have changed."""
    wanted = read_arguments(ProfileArguments, arguments)
    snapshot = runnable(server, wanted.uri)
    if not isinstance(snapshot, Snapshot):
        return snapshot
    if not compilable(await server.parse(snapshot)):
        return refuse(server, "there is no Triton kernel in this file")
    targets = await compile_targets(server, snapshot)
    chosen = (wanted.target,) if wanted.target else targets
    return {"job": start_inspecting(server, snapshot, chosen, quiet=False).id}


async def optimize_command(server: TilewrightServer, *arguments: Any) -> dict[str, Any]:
    """One optimization at a time for a document; a second start is refused."""
    wanted = read_arguments(OptimizeArguments, arguments)
    snapshot = runnable(server, wanted.uri)
    if not isinstance(snapshot, Snapshot):
        return snapshot
    if wanted.version is not None and wanted.version != snapshot.version:
        return refuse(server, "the file changed before the command arrived; run it again")
    if server.jobs.active(JobKind.OPTIMIZE, wanted.uri):
        return refuse(server, "this file is being optimized already; cancel that first")

    async def work(job: Job) -> None:
        job.target = wanted.target or await _choose(server, snapshot)
        if job.target is None:
            job.state, job.message = JobState.CANCELLED, "no target was chosen"
            return
        choice, job.models = await consent.choose(server, snapshot)
        if choice is Choice.CANCEL:
            job.state, job.message = JobState.CANCELLED, "cancelled; nothing was sent to a model"
            return
        await optimize(server, job, snapshot)

    job = Job(JobKind.OPTIMIZE, wanted.uri, wanted.target, wanted.kernel)
    return {"job": server.jobs.start(job, work).id}


async def _choose(server: TilewrightServer, snapshot: Snapshot) -> str | None:
    """The person's target, asked by buttons; the file's where there is no choice or no asking."""
    own, project = await server.pick_target(snapshot), await server.project(snapshot)
    targets = server.chip.offered(snapshot, await server.parse(snapshot), project)
    if len(targets) < 2 or not server.client.message_request:
        return own
    titles = {wording.target_label(target): target for target in targets}
    try:
        answer = await server.window_show_message_request_async(
            types.ShowMessageRequestParams(
                type=types.MessageType.Info,
                message="Optimize for which chip?",
                actions=[types.MessageActionItem(title) for title in titles],
            )
        )
    except JsonRpcException:
        return own
    return titles.get(answer.title) if answer is not None else None


NO_CERTIFICATE = (
    "this file has no certificate; `tilewright verify ORIGINAL FILE --certify` makes one, and so "
    "does an optimization that is applied"
)


async def verify_command(server: TilewrightServer, *arguments: Any) -> dict[str, Any]:
    """Repeat a kernel's certificate; one of a text that changed since is made anew."""
    wanted = read_arguments(CertificateArguments, arguments)
    snapshot = runnable(server, wanted.uri)
    if not isinstance(snapshot, Snapshot):
        return snapshot
    if server.jobs.active(JobKind.VERIFY, wanted.uri):
        return refuse(server, "this file is being verified already; cancel that first")
    found = await server.certificates.certificates_of(snapshot, await server.analyze(snapshot))
    proof = found.choose(wanted.kernel, wanted.certificate)
    if proof is None or proof.place is None:
        return refuse(server, NO_CERTIFICATE)
    job = Job(JobKind.VERIFY, wanted.uri, None, text_hash=snapshot.hash)
    job.certificate, job.renews = str(Path(proof.place)), not proof.is_current
    return {"job": server.jobs.start(job, lambda job: verify(server, job, snapshot)).id}


async def cancel_job(server: TilewrightServer, *arguments: Any) -> dict[str, Any]:
    """Stop a job; answers whether there was such a job and it was not over."""
    return {"cancelled": server.jobs.cancel(read_arguments(CancelArguments, arguments).job)}


async def list_jobs(server: TilewrightServer, *_: Any) -> list[dict[str, Any]]:
    """The jobs that run and the last that ran, oldest first."""
    return [job.to_json() for job in server.jobs.all()]
