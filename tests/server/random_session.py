"""Random edits and requests to a server, each answer compared with a reference model of the text.

As a command it is the long form of ``test_random_session.py``:

    python tests/server/random_session.py --messages 100000 --seed 1

It prints what was sent and refused, and the server's memory after each tenth of the session; the
exit code is 1 if anything was wrong.
"""

import argparse
import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

SERVER = (sys.executable, "-m", "tilewright_server")
EXAMPLES = Path(__file__).parents[2] / "examples"
SEEDS = tuple(EXAMPLES / name for name in ("matmul.py", "linear_gelu.py", "softmax.py"))
ENCODINGS = ("utf-8", "utf-16", "utf-32")
PIECES = (
    "", "\n", "\r\n", "\r", "x", "🎉", "é", "\u2028", "\f", "\x85", "ß = 1\n", "(", ")", '"""', "#",
    "    ", "tl.load(", "BLOCK_M", "@triton.jit\n", "def f(a, B: tl.constexpr):\n    pass\n",
    "kernel[(1,)](x, n, BLOCK=32)\n", "  # tilewright: ignore[no_swizzling]\n", "\U0001d4b3", "\t",
)  # fmt: skip
COMMENTS = (" ", "  # 🎉é", "\n", "\r\n    # ß", "  # \u2028 \f \x85", "\r# é", "\n\n# \U0001d4b3")
TOKEN_WIDTH = 5
_SEMANTIC = {
    "dynamicRegistration": False,
    "requests": {"range": True, "full": {"delta": True}},
    "tokenTypes": [],
    "tokenModifiers": [],
    "formats": ["relative"],
}


class ModelText:
    """A text as LSP sees it, written for plainness: every place is looked up by walking."""

    def __init__(self, text: str, encoding: str) -> None:
        self.text, self.encoding = text, encoding

    def width(self, character: str) -> int:
        """Units of one character."""
        if self.encoding == "utf-32":
            return 1
        if self.encoding == "utf-16":
            return len(character.encode("utf-16-le")) // 2
        return len(character.encode())

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Line and column of every offset of the text; between ``\\r`` and ``\\n`` it is None's."""
        found, line, column = [], 0, 0
        for n, character in enumerate(self.text):
            found.append((line, column))
            is_end = character == "\n" or (character == "\r" and self.text[n + 1 : n + 2] != "\n")
            line, column = (line + 1, 0) if is_end else (line, column + self.width(character))
        return [*found, (line, column)]

    @cached_property
    def offsets(self) -> dict[tuple[int, int], int]:
        """Offsets by their places."""
        return {place: n for n, place in enumerate(self.places)}

    def replaced(self, start: int, end: int, new: str) -> "ModelText":
        return ModelText(self.text[:start] + new + self.text[end:], self.encoding)

    def slice(self, place: Any) -> str:
        """What an LSP range covers. Raises ``ValueError`` for one that is none of this text."""
        ends = [(place[end]["line"], place[end]["character"]) for end in ("start", "end")]
        if any(end not in self.offsets for end in ends):
            raise ValueError(f"{place} is no place of the text")
        first, last = (self.offsets[end] for end in ends)
        if first > last:
            raise ValueError(f"{place} ends before it starts")
        return self.text[first:last]


@dataclass
class Outcome:
    """What a session did, and what was wrong in it."""

    sent: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    checked_ranges: int = 0
    faults: list[str] = field(default_factory=list)
    memory_mib: list[float] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "messages": sum(self.sent.values()),
            "sent": dict(self.sent),
            "refused": dict(self.refused),
            "checked_ranges": self.checked_ranges,
            "faults": self.faults[:20],
            "memory_mib": self.memory_mib,
        }


class RandomSession:
    """One server and one document, with the text that it should have."""

    def __init__(self, seed: int, encoding: str, command: tuple[str, ...] = SERVER) -> None:
        self._chance = random.Random(seed)
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._number = 0
        self._version = 0
        self._uri = ""
        self._model = ModelText("", encoding)
        self._tokens: tuple[str, list[int]] | None = None
        self.outcome = Outcome()
        self._initialize(encoding)

    def run(self, messages: int) -> Outcome:
        """Send so many messages, and end the server in order."""
        marks = {*(messages * tenth // 10 for tenth in range(1, 10)), messages - 1}
        while (sent := sum(self.outcome.sent.values())) < messages:
            if not self._uri or self._chance.random() < 0.002 or len(self._model.text) > 12_000:
                self._open()
            elif self._chance.random() < 0.5:
                self._exchange() if self._chance.random() < 0.15 else self._edit()
            else:
                self._ask()
            if sent in marks:
                self.outcome.memory_mib.append(self._memory())
                marks.discard(sent)
        self._compare()
        self._request("shutdown", None)
        self._notify("exit", None)
        _, log = self._server.communicate(timeout=60)
        if self._server.returncode != 0:
            self._fault(f"the server ended with {self._server.returncode}")
        said = log.decode(errors="replace")
        if re.search(r"failed\r?\nTraceback", said):
            self._fault(f"an internal error: {said[-1500:]}")
        return self.outcome

    def _fault(self, text: str) -> None:
        self.outcome.faults.append(f"version {self._version}: {text}")

    def _initialize(self, encoding: str) -> None:
        document = {
            "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
            "rename": {"prepareSupport": True},
            "semanticTokens": _SEMANTIC,
            "diagnostic": {},
            "codeAction": {"resolveSupport": {"properties": ["edit"]}, "dataSupport": True},
        }
        capabilities = {
            "general": {"positionEncodings": [encoding]},
            "textDocument": document,
            "workspace": {"workspaceEdit": {"documentChanges": True}},
        }
        options = {"compiled": {"run": "off"}, "profileOnSave": False, "trusted": False}
        answer = self._request(
            "initialize",
            {
                "processId": None,
                "rootUri": None,
                "capabilities": capabilities,
                "initializationOptions": options,
            },
        )
        if answer["capabilities"]["positionEncoding"] != encoding:
            self._fault(f"{answer['capabilities']['positionEncoding']} instead of {encoding}")
        self._notify("initialized", {})

    def _open(self) -> None:
        if self._uri:
            self._compare()
            self._notify("textDocument/didClose", {"textDocument": {"uri": self._uri}})
        seed = self._chance.choice(SEEDS)
        self._version += 1
        self._tokens = None
        self._uri = self._chance.choice(("untitled:Untitled-1", "file:///nowhere/kernel.py"))
        self._model = ModelText(seed.read_text(), self._model.encoding)
        item = {"uri": self._uri, "languageId": "python", "version": self._version}
        self._notify("textDocument/didOpen", {"textDocument": {**item, "text": self._model.text}})

    def _exchange(self) -> None:
        """The whole text for one that parses, or almost."""
        text = self._chance.choice(SEEDS).read_text()
        lines = text.split("\n")
        lines.insert(self._chance.randrange(len(lines)), self._chance.choice(("", "# 🎉é", "\f")))
        self._model = ModelText("\n".join(lines), self._model.encoding)
        self._change([{"text": self._model.text}])

    def _edit(self) -> None:
        """One change or several in one message: insertions, deletions, exchanged lines."""
        if self._chance.random() < 0.7:
            self._add_comment()
            return
        changes = []
        for _ in range(self._chance.choice((1, 1, 1, 2, 4))):
            places = self._model.places
            first = self._chance.randrange(len(places))
            last = min(first + self._chance.choice((0, 0, 0, 1, 3, 40)), len(places) - 1)
            # A place between the two characters of one line end is no place of LSP's.
            while self._model.text[first - 1 : first + 1] == "\r\n":
                first -= 1
            while self._model.text[last - 1 : last + 1] == "\r\n":
                last += 1
            start, end = places[first], places[last]
            new = self._chance.choice(PIECES)
            if self._chance.random() < 0.1:
                lines = self._model.text.splitlines(keepends=True)
                new = self._chance.choice(lines) if lines else ""
            changes.append({"range": _range(start, end), "text": new})
            self._model = self._model.replaced(first, last, new)
        self._change(changes)

    def _add_comment(self) -> None:
        """More text at the end of a line, after which the file parses as before."""
        places = self._model.places
        ends = [n for n, c in enumerate(self._model.text) if c in "\r\n"]
        at = self._chance.choice(ends) if ends else 0
        if self._model.text[at - 1 : at + 1] == "\r\n":
            at -= 1
        new = self._chance.choice(COMMENTS)
        self._model = self._model.replaced(at, at, new)
        self._change([{"range": _range(places[at], places[at]), "text": new}])

    def _change(self, changes: list[dict[str, Any]]) -> None:
        self._version += 1
        identifier = {"uri": self._uri, "version": self._version}
        self._notify(
            "textDocument/didChange", {"textDocument": identifier, "contentChanges": changes}
        )

    def _ask(self) -> None:
        method = self._chance.choice(_ASKED)
        line, column = self._place()
        params: dict[str, Any] = {
            "textDocument": {"uri": self._uri},
            "position": {"line": line, "character": column},
        }
        if method == "textDocument/rename":
            params["newName"] = self._chance.choice(("TILE", "ß", "a b", "n"))
        elif method == "textDocument/references":
            params["context"] = {"includeDeclaration": True}
        elif method in ("textDocument/codeAction", "textDocument/inlayHint"):
            params["range"] = _range((line, column), (line, column))
            params["context"] = {"diagnostics": []}
        elif method.endswith("/full/delta"):
            params["previousResultId"] = self._tokens[0] if self._tokens else "none"
        answer = self._request(method, params)
        try:
            self._check(method, answer)
        except ValueError as error:
            self._fault(f"{method}: {error}")

    def _place(self) -> tuple[int, int]:
        """Any place, or one in a name."""
        places = self._model.places
        names = [found.start() for found in re.finditer(r"[A-Za-z_]\w+", self._model.text)]
        if names and self._chance.random() < 0.7:
            return places[self._chance.choice(names)]
        return self._chance.choice(places)

    def _check(self, method: str, answer: Any) -> None:
        """Every range of an answer lies in the text, and those of names cover names.

        Raises:
            ValueError: one does not.
        """
        if answer is None:
            return
        if method.startswith("textDocument/semanticTokens"):
            self._check_tokens(answer)
            return
        for place in _ranges(answer):
            self._model.slice(place)
            self.outcome.checked_ranges += 1
        if method == "textDocument/rename":
            self._check_rename(answer)
        elif method == "textDocument/prepareRename":
            _expect(self._model.slice(answer["range"]), answer["placeholder"])
        elif method == "textDocument/codeAction":
            self._check_actions(answer)

    def _check_rename(self, edit: Any) -> None:
        for change in edit["documentChanges"]:
            _expect(change["textDocument"]["version"], self._version)
            words = {self._model.slice(one["range"]) for one in change["edits"]}
            if len(words) != 1 or not words.pop().isidentifier():
                raise ValueError(f"a rename of {words}")

    def _check_actions(self, actions: list[Any]) -> None:
        for action in actions[:2]:
            if "data" not in action:
                continue
            resolved = self._request("codeAction/resolve", action)
            for change in (resolved.get("edit") or {}).get("documentChanges", ()):
                _expect(change["textDocument"]["version"], self._version)
                for edit in change["edits"]:
                    self._model.slice(edit["range"])
                    self.outcome.checked_ranges += 1

    def _check_tokens(self, answer: Any) -> None:
        if "edits" in answer:
            data = list((self._tokens or ("", []))[1])
            for edit in reversed(answer["edits"]):
                data[edit["start"] : edit["start"] + edit["deleteCount"]] = edit.get("data") or ()
        else:
            data = answer["data"]
        if "resultId" in answer:
            self._tokens = (answer["resultId"], data)
        places = self._model.offsets
        line = column = 0
        for n in range(0, len(data), TOKEN_WIDTH):
            ahead, over, length = data[n : n + 3]
            line, column = line + ahead, over if ahead else column + over
            if (line, column) not in places or (line, column + length) not in places:
                raise ValueError(f"a token at {line}:{column} of {length} units")
            word = self._model.text[places[line, column] : places[line, column + length]]
            if not word.isidentifier():
                raise ValueError(f"a token covers {word!r}")
            self.outcome.checked_ranges += 1

    def _compare(self) -> None:
        """The server's copy of the text is the model's."""
        info = self._request(
            "workspace/executeCommand", {"command": "tilewright.debugInfo", "arguments": []}
        )
        (document,) = info["documents"]
        _identity = (document["version"], document["hash"])
        expected = (self._version, _hash(self._model.text))
        if _identity != expected:
            self._fault(f"the server has {_identity} instead of {expected}")

    def _notify(self, method: str, params: Any) -> None:
        self.outcome.sent[method] += 1
        self._send({"method": method, "params": params})

    def _request(self, method: str, params: Any) -> Any:
        """The result; None for an error, which is counted by its message."""
        self.outcome.sent[method] += 1
        self._number += 1
        number = self._number
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == number and "method" not in message:
                break
            if "id" in message:
                self._send({"id": message["id"], "result": None})
        if "error" not in message:
            return message["result"]
        error = message["error"]
        if error["code"] not in _EXPECTED:
            self._fault(f"{method}: {error}")
        self.outcome.refused[f"{method} {error['code']}"] += 1
        return None

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._server.stdin is not None
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._server.stdin.flush()

    def _receive(self) -> Any:
        stream = self._server.stdout
        assert stream is not None
        length = 0
        while (line := stream.readline()).strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        if not length:
            assert self._server.stderr is not None
            raise RuntimeError(self._server.stderr.read().decode(errors="replace")[-2000:])
        return json.loads(stream.read(length))

    def _memory(self) -> float:
        """MiB that are resident in the server."""
        status = Path(f"/proc/{self._server.pid}/status").read_text()
        (line,) = [line for line in status.split("\n") if line.startswith("VmRSS:")]
        return round(int(line.split()[1]) / 1024, 1)


# The document changed meanwhile; a rename that is refused with its reason.
_EXPECTED = (-32802, -32801, -32803)
_ASKED = (
    "textDocument/diagnostic",
    "textDocument/hover",
    "textDocument/codeAction",
    "textDocument/codeLens",
    "textDocument/inlayHint",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/full/delta",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/prepareRename",
    "textDocument/rename",
    "textDocument/prepareCallHierarchy",
)


def _range(start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    return {
        "start": {"line": start[0], "character": start[1]},
        "end": {"line": end[0], "character": end[1]},
    }


def _expect(found: object, expected: object) -> None:
    if found != expected:
        raise ValueError(f"{found!r} instead of {expected!r}")


def _hash(text: str) -> str:
    from tilewright.evaluation.model import text_hash

    return text_hash(text)


def _ranges(answer: Any) -> Iterator[Any]:
    """Every LSP range in an answer."""
    if isinstance(answer, dict):
        if set(answer) == {"start", "end"}:
            yield answer
            return
        for value in answer.values():
            yield from _ranges(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from _ranges(value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wrong = False
    for number, encoding in enumerate(ENCODINGS):
        outcome = RandomSession(options.seed + number, encoding).run(
            options.messages // len(ENCODINGS)
        )
        sys.stdout.write(json.dumps({"encoding": encoding, **outcome.to_json()}) + "\n")
        sys.stdout.flush()
        wrong = wrong or bool(outcome.faults)
    return int(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
