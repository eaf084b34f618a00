"""``python -m tilewright_server``."""

from tilewright_server.entry import run

if __name__ == "__main__":
    raise SystemExit(run())
