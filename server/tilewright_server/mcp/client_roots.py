"""The roots of a client: asked for with each call, in the way of the protocol's version."""

import logging
from typing import Any

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    ClientCapabilities,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    RootsCapability,
)
from pydantic import ValidationError

from tilewright_server.mcp.refusal import RefusedError
from tilewright_server.mcp.roots import Roots, from_uris

logger = logging.getLogger(__name__)

_PATIENCE_S = 10.0
_KEY = "roots"
_WANTED = ClientCapabilities(roots=RootsCapability())


async def roots_for(
    ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams, own: Roots
) -> Roots | InputRequiredResult:
    """The server's roots and the client's, where it has any; or the question for them.

    Raises:
        RefusedError: the client has roots and does not name them.
    """
    if not ctx.session.check_client_capability(_WANTED):
        return own
    if ctx.session.can_send_request:
        return own.meet(_folders(await _asked(ctx)))
    answer = (params.input_responses or {}).get(_KEY)
    if answer is None:
        # A client of this version is asked by an unfinished result, and calls again.
        return InputRequiredResult(input_requests={_KEY: ListRootsRequest()})
    if not isinstance(answer, ListRootsResult):
        raise RefusedError("the client answered the question for its roots with something else")
    return own.meet(_folders(answer))


async def _asked(ctx: ServerRequestContext[Any, Any]) -> ListRootsResult:
    try:
        return await ctx.session.send_request(
            ListRootsRequest(), ListRootsResult, request_read_timeout_seconds=_PATIENCE_S
        )
    except (MCPError, ValidationError) as error:
        logger.warning("roots/list: %s", error)
        raise RefusedError(
            "the client says that it has roots and does not list them, so nothing is read"
        ) from None


def _folders(result: ListRootsResult) -> tuple[str, ...]:
    return from_uris(str(root.uri) for root in result.roots)
