"""The semantic tokens that a client was sent last of each document."""

from itertools import count

from tilewright.lru import LruDict


class SentTokens:
    """What clients were sent last of each document, for the difference to it."""

    def __init__(self) -> None:
        self._sent: LruDict[str, tuple[str, list[int]]] = LruDict(64)
        self._numbers = count(1)

    def keep(self, uri: str, data: list[int]) -> str:
        """Remember an answer; its id."""
        known = self._sent.get(uri)
        if known is not None and known[1] == data:
            return known[0]
        result_id = str(next(self._numbers))
        self._sent.put(uri, (result_id, data))
        return result_id

    def known(self, uri: str, result_id: str) -> list[int] | None:
        """The answer of an id, if it is the last one."""
        found = self._sent.get(uri)
        return found[1] if found is not None and found[0] == result_id else None
