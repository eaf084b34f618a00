"""``tilewright.verify``: repeat a kernel's certificate; answers ``{"job": id}`` at once."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright_server.commands.arguments import CertificateArguments, read_arguments
from tilewright_server.commands.start import refuse, why_not
from tilewright_server.jobs.manager import Job, JobKind
from tilewright_server.jobs.verify import verify

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer

NO_CERTIFICATE = (
    "this file has no certificate; `tilewright verify ORIGINAL FILE --certify` makes one, and so "
    "does an optimization that is applied"
)


async def verify_command(server: "TilewrightServer", *arguments: Any) -> dict[str, Any]:
    """A certificate of a text that changed since is made anew, against the same original."""
    wanted = read_arguments(CertificateArguments, arguments)
    snapshot = server.snapshot(wanted.uri)
    reason = why_not(server, snapshot)
    if reason is not None or snapshot is None:
        return refuse(server, str(reason))
    if server.jobs.active(JobKind.VERIFY, wanted.uri):
        return refuse(server, "this file is being verified already; cancel that first")
    found = await server.certificates.of(snapshot, await server.analyze(snapshot))
    proof = found.choose(wanted.kernel, wanted.certificate)
    if proof is None or proof.place is None:
        return refuse(server, NO_CERTIFICATE)
    job = Job(JobKind.VERIFY, wanted.uri, None, text_hash=snapshot.hash)
    job.certificate, job.renews = str(Path(proof.place)), not proof.is_current
    return {"job": server.start_job(job, lambda job: verify(server, job, snapshot)).id}
