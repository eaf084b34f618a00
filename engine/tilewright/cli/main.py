"""Where the ``tilewright`` command starts."""

import sys

from tilewright.collection import collect_seldom

_SERVER = (["lsp"], ["lsp", "--stdio"])


def main() -> None:
    """Run the command line; every way out has an exit code of ``Exit``."""
    collect_seldom()
    if sys.argv[1:] in _SERVER:  # An editor waits: the other commands are not imported for it.
        from tilewright_server.__main__ import main as serve

        sys.exit(serve(sys.argv[2:]))

    from tilewright.cli.app import app
    from tilewright.cli.boundary import run

    run(app)
