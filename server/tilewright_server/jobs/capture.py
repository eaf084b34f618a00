"""Record the launches of a command."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright_server.context import ServerContext
from tilewright_server.jobs.engine_job import run_engine
from tilewright_server.jobs.manager import Job, JobState
from tilewright_server.snapshot import Snapshot


async def capture(server: ServerContext, job: Job, snapshot: Snapshot, command: str) -> bool:
    """Run the engine and say what was recorded; whether there is anything of the document."""
    outcome = await run_engine(server, job, snapshot, f"Capturing launches of `{command}`")
    job.result = outcome.result
    if job.state is JobState.STOPPING:
        job.state, job.message = JobState.CANCELLED, "stopped; nothing was recorded"
        return False
    if outcome.result is None:
        job.state, job.message = JobState.FAILED, str(outcome.error)
        return False
    own, job.message = recorded(outcome.result, snapshot.path or "", command)
    job.state = JobState.DONE if own else JobState.FAILED
    return own > 0


def recorded(result: Mapping[str, Any], path: str, command: str) -> tuple[int, str]:
    """How many launches are of a file's kernels, and a sentence on them and on the command."""
    kernels = [one for one in result.get("kernels") or () if isinstance(one, Mapping)]
    place = str(Path(path).resolve())
    own = [one for one in kernels if one.get("file") == place and one.get("launches")]
    count = sum(int(one["launches"]) for one in own)
    code = result.get("exit_code")
    ended = f"; `{command}` ended with exit code {code}" if code else ""
    if own:
        names = ", ".join(str(one.get("kernel")) for one in own)
        return count, f"{count} launches recorded of {names}, in {result.get('folder')}{ended}"
    if kernels:
        return (
            0,
            f"`{command}` launched no kernel of this file, but of {len(kernels)} others{ended}",
        )
    return 0, f"no launch was recorded: {result.get('none') or 'no reason is known'}{ended}"
