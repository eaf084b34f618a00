"""The server's command line: stdio by default, TCP for debugging; logs to stderr or a file.

``python -m tilewright_server`` starts here, and ``tilewright lsp`` calls ``main``.
"""

import argparse
import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.collection import collect_seldom, share_one_arena
from tilewright_server.protocol_types import import_protocol_types

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer

# Of pydantic, which otherwise reads the metadata of every installed package to find some.
_NO_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"
_LEVELS = ("debug", "info", "warning", "error")


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the client leaves. 0 after an orderly shutdown, 1 after any other end."""
    options = _parser().parse_args(argv)
    _log(options.log_level, options.log_file)

    collect_seldom()
    share_one_arena()
    os.environ.setdefault(_NO_PLUGINS, "__all__")
    import_protocol_types()
    from tilewright_server.features import create_server

    return serve(create_server(), options.host, options.tcp)


def serve(server: "TilewrightServer", host: str = "", port: int | None = None) -> int:
    """Serve on stdio, or one client on a TCP port. pygls swallows the exit code; this keeps it."""
    if port is None:
        server.start_io()
    else:
        server.start_tcp(host, port)
    return 0 if server.protocol.is_shut_down else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tilewright lsp", description="The Tilewright language server."
    )
    parser.add_argument("--stdio", action="store_true", help="serve on stdin and stdout (default)")
    parser.add_argument("--tcp", type=int, metavar="PORT", help="serve one client on a TCP port")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on with --tcp")
    parser.add_argument("--log-level", choices=_LEVELS, default="warning")
    parser.add_argument("--log-file", metavar="FILE", help="log there instead of to stderr")
    return parser


def _log(level: str, file: str | None) -> None:
    """Stdout belongs to the protocol; pygls logs whole messages at INFO, so it stays above that."""
    logging.basicConfig(
        level=level.upper(),
        filename=file,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("pygls").setLevel(logging.WARNING)
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_unexpected)


def _is_unexpected(record: logging.LogRecord) -> bool:
    """False for errors that are answers, such as "the document has changed"."""
    from pygls.exceptions import JsonRpcException

    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, JsonRpcException)


if __name__ == "__main__":
    raise SystemExit(main())
