"""``tilewright.runRecord``: what the engine's record of a run adds to what was seen of it."""

import logging
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tilewright_server.commands.arguments import read_arguments
from tilewright_server.jobs.engine_job import environment
from tilewright_server.jobs.local_gpu import ask_engine
from tilewright_server.server import TilewrightServer

logger = logging.getLogger(__name__)


class RecordArguments(BaseModel):
    """``record`` is the run's id in the engine's store."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    record: str = Field(pattern=r"^\w+$")


async def run_record(server: TilewrightServer, *arguments: Any) -> dict[str, Any] | None:
    """``roof`` and ``estimates`` as ``tilewright show`` tells them; None where it does not."""
    record = read_arguments(RecordArguments, arguments).record
    command = (*server.engine_command, "show", record)
    try:
        shown = await ask_engine(command, environment(server.settings))
        return {"roof": shown["roof"], "estimates": shown["estimates"]}
    except (KeyError, TypeError, ValueError) as error:
        logger.warning("the record of run %s cannot be read: %s", record, error)
        return None
