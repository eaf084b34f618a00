"""Clients of a scripted server, with a clock that does not wait."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from scripted_server import Answer, Script, ScriptedServer, serve

from tilewright.models.client import Client, Clock
from tilewright.models.model import CallRequest, Limits, Message, ModelChoice, Role
from tilewright.models.prices import Price
from tilewright.models.settings import CallPolicy, Ensemble

KEY = "sk-test-0123456789abcdef"
GOOD = Answer("def kernel(): ...", prompt_tokens=100, completion_tokens=10)


class FakeClock:
    """Seconds that pass when somebody waits."""

    def __init__(self) -> None:
        self.pauses: list[float] = []
        self._now = 1000.0
        self._lock = threading.Lock()

    def now(self) -> float:
        with self._lock:
            return self._now

    def wait(self, event: threading.Event, seconds: float) -> object:
        with self._lock:
            self.pauses.append(seconds)
            self._now += seconds
        return event.is_set()

    @property
    def clock(self) -> Clock:
        return Clock(self.now, self.wait)


class Setup:
    """Servers and clients of one test."""

    def __init__(self, stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
        self._stack = stack
        self._patch = monkeypatch
        self.time = FakeClock()

    def serve(self, script: Script, **more: object) -> ScriptedServer:
        """A server; its address and a key are in the environment from here on."""
        server = self._stack.enter_context(serve(script, **more))  # type: ignore[arg-type]
        self._patch.setenv("OPENAI_BASE_URL", server.base_url)
        return server

    def choice(self, server: ScriptedServer, **changed: object) -> ModelChoice:
        return ModelChoice("scripted", server.base_url, **changed)  # type: ignore[arg-type]

    def client(
        self,
        *choices: ModelChoice,
        limits: Limits | None = None,
        policy: CallPolicy | None = None,
        concurrency: int = 4,
        prices: dict[str, Price] | None = None,
        real_time: bool = False,
    ) -> Client:
        """A client without a cache unless the policy says otherwise."""
        ensemble = Ensemble(
            dict.fromkeys(Role, choices),
            limits or Limits(),
            concurrency,
            policy=policy or CallPolicy(cache=False),
            prices=prices or {},
        )
        client = Client(ensemble, clock=Clock() if real_time else self.time.clock)
        self._stack.callback(client.close)
        return client


def ask(choice: ModelChoice, text: str = "Make it fast.", **more: object) -> CallRequest:
    """A request of the optimizer."""
    messages = (Message("system", "You improve kernels."), Message("user", text))
    return CallRequest(Role.OPTIMIZER, choice, messages, **more)  # type: ignore[arg-type]


def wait_until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait until something is so; fails where it does not come about."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
