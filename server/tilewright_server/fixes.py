"""Rewrites applied to a text, off the event loop, each once: what a quick fix would do."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from tilewright.analysis.model import Issue
from tilewright.lru import LruDict
from tilewright.python_syntax import parse
from tilewright.rewrites.model import Refusal, Rewrite
from tilewright.source.text import Range
from tilewright_server.analysis_cache import Analysis
from tilewright_server.backend import ONE_AT_A_TIME

_REMEMBERED = 64

_Key = tuple[str, str, str, Range]


class FixService:
    """Results of rewrites by text, context, rewrite and place."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._done: LruDict[_Key, asyncio.Future[str | Refusal]] = LruDict(_REMEMBERED)

    async def apply(self, analysis: Analysis, issue: Issue, rewrite: Rewrite) -> str | Refusal:
        """The whole new text, or why there is none."""
        module = analysis.module
        key = (module.content_hash, repr(analysis.context), rewrite.name, issue.range)
        found = self._done.get(key)
        if found is None or found.cancelled():
            loop = asyncio.get_running_loop()
            found = loop.run_in_executor(self._pool, rewrite_text, analysis, issue, rewrite)
            self._done.put(key, found)
        return await asyncio.shield(found)


def rewrite_text(analysis: Analysis, issue: Issue, rewrite: Rewrite) -> str | Refusal:
    """Apply a rewrite; a result that does not parse or changes nothing is refused."""
    with ONE_AT_A_TIME:
        new = rewrite.apply(analysis.module, issue, analysis.context)
    if isinstance(new, Refusal):
        return new
    if new == analysis.module.text:
        return Refusal("This fix would change nothing here.")
    try:
        parse(new)
    except (SyntaxError, ValueError):
        return Refusal("The rest of the file does not parse; fix that first.")
    return new
