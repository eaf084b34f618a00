"""The key of an endpoint: from the environment or the system keyring, and kept out of texts."""

import os
from urllib.parse import urlsplit

from tilewright.errors import InputError
from tilewright.models.prices import is_local
from tilewright.models.settings import default_base_url
from tilewright.models.variables import BASE_URL, KEY

KEYRING_SERVICE = "tilewright"
REMOVED = "[key removed]"
_SHORTEST = 6


class Key:
    """A secret that shows itself only where ``reveal`` is called."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "Key(...)"

    def reveal(self) -> str:
        """The key itself, for the header of a request."""
        return self._value

    def remove_from(self, text: str) -> str:
        """A text without the key, unless that is so short that it would match by chance."""
        return text.replace(self._value, REMOVED) if len(self._value) >= _SHORTEST else text


def key_for(base_url: str) -> Key | None:
    """The key to send to an endpoint, None for none.

    The key of the environment belongs to the endpoint of the environment: a base URL that a
    project's settings name gets only what the keyring holds under that URL.

    Raises InputError for a key that cannot be sent.
    """
    value = os.environ.get(KEY, "").strip()
    if value and base_url == default_base_url():
        return _key(value, KEY)
    if is_local(base_url):
        return None
    kept = _from_keyring(base_url)
    return _key(kept, f"the keyring's entry for {base_url}") if kept else None


def _key(value: str, place: str) -> Key:
    """Raises InputError for what cannot be sent, without saying what it is."""
    if not (value.isascii() and value.isprintable() and " " not in value):
        raise InputError(
            f"{place} holds a character that no key has (a space, a line break, an accent); "
            "store the key again"
        )
    return Key(value)


def key_advice(base_url: str) -> str:
    """Where to put the key of an endpoint."""
    keyring = f"`keyring set {KEYRING_SERVICE} {base_url}`"
    if base_url == default_base_url():
        return f"set {KEY}, or store the key with {keyring}"
    return (
        f"store its key with {keyring}, or set {BASE_URL} to {base_url}: {KEY} is sent "
        f"to the endpoint of the environment alone, which is {_host(default_base_url())}"
    )


def _from_keyring(base_url: str) -> str | None:
    try:
        import keyring
        import keyring.errors
    except ImportError:
        return None
    try:
        return keyring.get_password(KEYRING_SERVICE, base_url)
    except keyring.errors.KeyringError:
        return None  # no keyring runs: the endpoint says that a key is missing, and so do we


def _host(base_url: str) -> str:
    return urlsplit(base_url).hostname or base_url
