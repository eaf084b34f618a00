"""Judging candidates before it is their turn, where there are GPUs for several."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from tilewright.evaluation.model import Candidate


def unseen(candidates: Iterable[Candidate], seen: set[str]) -> Iterator[Candidate]:
    """Each candidate once, without those whose hash is in ``seen`` when it is their turn.

    One that has no text of its own is always new.
    """
    met: set[str] = set()
    for candidate in candidates:
        if candidate.unusable:
            yield candidate
        elif candidate.hash not in seen and candidate.hash not in met:
            met.add(candidate.hash)
            yield candidate


def ahead(
    candidates: Iterable[Candidate], look_at: Callable[[Candidate], None], count: int
) -> Iterator[Candidate]:
    """The candidates in their order, each once ``look_at`` is done with it; ``count`` at a time.

    Whoever takes no more of them need not wait: what is under way ends by itself.
    """
    pool = ThreadPoolExecutor(count)
    waiting: deque[tuple[Candidate, Future[None]]] = deque()
    try:
        for candidate in candidates:
            waiting.append((candidate, pool.submit(look_at, candidate)))
            if len(waiting) == count:
                yield _next(waiting)
        while waiting:
            yield _next(waiting)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _next(waiting: deque[tuple[Candidate, Future[None]]]) -> Candidate:
    candidate, done = waiting.popleft()
    done.result()
    return candidate
