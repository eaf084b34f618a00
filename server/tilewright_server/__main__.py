"""``python -m tilewright_server``, and what ``tilewright lsp`` calls."""

from tilewright_server.entry import run as main

__all__ = ["main"]

if __name__ == "__main__":
    raise SystemExit(main())
