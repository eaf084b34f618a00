"""How long from a key stroke to its diagnostics, against parsing the same text with ``ast``.

Both are timed in turn in the same run, so that the ratio says something on a busy machine:

    python benchmarks/server_latency.py [FILE] [--strokes 100] [--json out.json]
"""

import argparse
import ast
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rpc import Client

DEFAULT_FILE = Path(__file__).parents[1] / "examples" / "matmul.py"
WARM_UP = 5


def main() -> int:
    options = _options()
    text = options.file.read_text(encoding="utf-8") * options.repeat
    with Client([sys.executable, "-m", "tilewright", "lsp"]) as client:
        samples, controls, found = _measure(client, options.file.resolve(), text, options.strokes)
    result = {
        "file": options.file.name,
        "lines": text.count("\n"),
        "diagnostics": found,
        "strokes": len(samples),
        "server_ms": _quantiles(samples),
        "ast_parse_ms": _quantiles(controls),
        "ratio_of_medians": statistics.median(samples) / statistics.median(controls),
    }
    print(json.dumps(result, indent=2))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2), encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=DEFAULT_FILE)
    parser.add_argument("--strokes", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=1, help="make the file so many times longer")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _measure(
    client: Client, path: Path, text: str, strokes: int
) -> tuple[list[float], list[float], int]:
    uri = path.as_uri()
    open_file(client, uri, text)
    line = text.count("\n") // 2
    samples, controls, found = [], [], 0
    for stroke in range(strokes + WARM_UP):
        started = time.perf_counter()
        type_line(client, uri, line, stroke)
        answer = client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        took = time.perf_counter() - started
        found = len(answer.get("items", ())) or found
        control = _control(text)
        if stroke >= WARM_UP:
            samples.append(took)
            controls.append(control)
    return samples, controls, found


def open_file(client: Client, uri: str, text: str) -> None:
    """Initialize a server and open a file; it is analyzed when this returns."""
    capabilities = {"textDocument": {"diagnostic": {"dynamicRegistration": False}}}
    params: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": capabilities}
    client.request("initialize", params)
    client.notify("initialized", {})
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})


def type_line(client: Client, uri: str, line: int, stroke: int) -> None:
    """Write a comment of its own into the middle, so that no text comes twice."""
    start = {"line": line, "character": 0}
    end = start if stroke == 0 else {"line": line + 1, "character": 0}
    change = {"range": {"start": start, "end": end}, "text": f"    # stroke {stroke}\n"}
    document = {"uri": uri, "version": stroke + 2}
    params = {"textDocument": document, "contentChanges": [change]}
    client.notify("textDocument/didChange", params)


def _control(text: str) -> float:
    started = time.perf_counter()
    ast.parse(text)
    return time.perf_counter() - started


def _quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """Milliseconds."""
    ordered = sorted(seconds)
    pick = {"median": 0.5, "p90": 0.9, "p99": 0.99}
    return {
        name: round(1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)
        for name, share in pick.items()
    }


if __name__ == "__main__":
    sys.exit(main())
