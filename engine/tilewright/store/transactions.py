"""Changes of the store's file that are made as a whole, and removed rows that leave no bytes."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All statements of the block or none; no other process writes meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def overwrite(connection: sqlite3.Connection) -> str:
    """Write the file anew: rows that are deleted, or were replaced, stay readable till then.

    Returns:
        Why their bytes are still there, and the way out; "" if they are gone.
    """
    try:
        connection.execute("VACUUM")
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        why = "another process uses it" if busy else ""
    except sqlite3.OperationalError as error:
        why = str(error)
    return why and (
        f"their bytes are still in the file ({why}); run the command again when no run is in "
        "progress"
    )
