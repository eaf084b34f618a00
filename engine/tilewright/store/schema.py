"""The tables, as numbered migrations. A migration is never changed once released; add another."""

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE run (
        id TEXT PRIMARY KEY,
        key TEXT NOT NULL,
        path TEXT NOT NULL,
        request TEXT NOT NULL,
        seed INTEGER NOT NULL,
        started TEXT NOT NULL,
        finished TEXT,
        result TEXT
    );
    CREATE INDEX run_by_key ON run (key, finished);
    CREATE TABLE unit (
        run TEXT NOT NULL REFERENCES run (id),
        key TEXT NOT NULL,
        kind TEXT NOT NULL,
        number INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        started TEXT NOT NULL,
        finished TEXT,
        input TEXT NOT NULL,
        value TEXT,
        PRIMARY KEY (run, key)
    );
    """,
    """
    CREATE TABLE text (
        hash TEXT PRIMARY KEY,
        text TEXT NOT NULL
    );
    CREATE TABLE run_text (
        run TEXT NOT NULL REFERENCES run (id),
        hash TEXT NOT NULL REFERENCES text (hash),
        PRIMARY KEY (run, hash)
    );
    CREATE INDEX run_of_text ON run_text (hash);
    CREATE TABLE progress (
        run TEXT NOT NULL REFERENCES run (id),
        name TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (run, name)
    );
    ALTER TABLE unit ADD COLUMN broken TEXT;
    """,
    """
    CREATE TABLE memory (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        key TEXT NOT NULL,
        project TEXT NOT NULL,
        value TEXT NOT NULL,
        UNIQUE (kind, id)
    );
    CREATE INDEX memory_of_project ON memory (project);
    """,
)
