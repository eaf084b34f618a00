"""Where the ``tilewright`` command starts."""

import sys

from tilewright.collection import collect_seldom

_SERVER = (["lsp"], ["lsp", "--stdio"])


def main() -> None:
    """Run the command line; every way out has an exit code of ``Exit``."""
    collect_seldom()
    if sys.argv[1:] in _SERVER:  # An editor waits: the other commands are not imported for it.
        from tilewright_server.entry import run as serve

        sys.exit(serve(sys.argv[2:]))

    from tilewright.cli.app import app
    from tilewright.cli.boundary import run
    from tilewright.cli.output import write_anything

    write_anything()
    run(app)
