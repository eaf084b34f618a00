"""The names of the environment variables that say where models are and with which keys."""

BASE_URL = "OPENAI_BASE_URL"
KEY = "OPENAI_API_KEY"
STORED_KEYS = "TILEWRIGHT_MODEL_KEYS"
"""Set by an editor that stores keys: a JSON object of keys by endpoint."""
