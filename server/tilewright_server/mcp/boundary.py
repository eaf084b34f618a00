"""The one place in the MCP server where an unexpected error ends: logged, and the call refused."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from tilewright_server.mcp.refusal import RefusedError

logger = logging.getLogger(__name__)


@contextmanager
def guard(tool: str) -> Iterator[None]:
    """Turn a fault in a call into a refusal; the server goes on.

    Raises:
        RefusedError: the block's own, or in place of any other error.
    """
    try:
        yield
    except RefusedError:
        raise
    except Exception:
        logger.exception("the tool %s failed", tool)
        raise RefusedError(
            "a fault in Tilewright; the server's standard error has the traceback, please report "
            "it. Nothing is known of the candidate."
        ) from None
