"""Replies on disk, by the content of their requests: asking again sends nothing."""

import hashlib
from dataclasses import replace

from pydantic import ValidationError

from tilewright.home import home
from tilewright.models.model import CallRequest, Reply
from tilewright.serialize import dump, load
from tilewright.targets.cache import ReportCache

_MOST = 65_536
_MEGABYTE = 1_000_000
_PRIVATE = 0o700


class Replies:
    """Below ``$TILEWRIGHT_HOME/replies``; only the user can read them.

    Args:
        megabytes: of all files together; the oldest are dropped.
    """

    def __init__(self, megabytes: int) -> None:
        folder = home() / "replies"
        folder.mkdir(mode=_PRIVATE, exist_ok=True)
        folder.chmod(_PRIVATE)
        self._cache = ReportCache(folder, _MOST, megabytes * _MEGABYTE, prune_every=16)

    def get(self, request: CallRequest) -> Reply | None:
        """The reply to the same request at the same endpoint, marked as one from the cache."""
        kept = self._cache.get(_key(request))
        if kept is None:
            return None
        try:
            reply = load(Reply, kept.get("reply"))
        except ValidationError:
            return None
        return replace(reply, from_cache=True, dollars=0.0, seconds=0.0)

    def put(self, request: CallRequest, reply: Reply) -> None:
        """Keep a reply; raises OSError where there is no room."""
        self._cache.put(_key(request), {"reply": dump(reply)})


def _key(request: CallRequest) -> str:
    return hashlib.sha256(f"{request.choice.base_url}\n{request.key()}".encode()).hexdigest()
