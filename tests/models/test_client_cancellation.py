"""Cancellation of calls that are in flight or wait for their turn."""

import threading
import time

import pytest
from scripted_client import Setup, ask, wait_until
from scripted_server import (
    Answer,
    by_turn,
)

from tilewright.errors import Stopped
from tilewright.models.client import Client


def test_cancellation_closes_the_request_in_flight(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("late", delay_s=60)))
    client = setup.client(setup.choice(server), real_time=True)
    raised: list[BaseException] = []

    def call() -> None:
        try:
            client.complete(ask(setup.choice(server)))
        except Stopped as stopped:
            raised.append(stopped)

    thread = threading.Thread(target=call)
    thread.start()
    wait_until(lambda: bool(server.completions))
    cancelled = time.monotonic()
    client.cancel()
    thread.join(50)
    assert len(raised) == 1
    wait_until(lambda: bool(server.hung_up))
    assert server.hung_up[0] - cancelled < 30, "the reply would have come after 60 s"
    with pytest.raises(Stopped):
        client.complete(ask(setup.choice(server)))
    assert len(server.completions) == 1


def test_cancellation_at_any_moment_ends_every_call(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("late", delay_s=60)))
    for moment in range(12):
        client = setup.client(setup.choice(server), concurrency=3, real_time=True)
        begun, ended = threading.Barrier(7), threading.Semaphore(0)

        def call(
            n: int,
            client: Client = client,
            begun: threading.Barrier = begun,
            ended: threading.Semaphore = ended,
        ) -> None:
            begun.wait(60)
            try:
                client.complete(ask(setup.choice(server), sample=n))
            except Stopped:
                ended.release()

        for n in range(6):
            threading.Thread(target=call, args=(n,), daemon=True).start()
        begun.wait(60)
        time.sleep(moment * 0.002)
        client.cancel()
        assert all(ended.acquire(timeout=50) for _ in range(6)), moment


def test_cancellation_ends_calls_that_wait_for_their_turn(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("late", delay_s=60)))
    client = setup.client(setup.choice(server), concurrency=1, real_time=True)
    ended = threading.Semaphore(0)

    def call(n: int) -> None:
        try:
            client.complete(ask(setup.choice(server), sample=n))
        except Stopped:
            ended.release()

    for n in range(4):
        threading.Thread(target=call, args=(n,), daemon=True).start()
    wait_until(lambda: bool(server.completions))
    client.cancel()
    assert all(ended.acquire(timeout=50) for _ in range(4))
    assert len(server.completions) == 1
