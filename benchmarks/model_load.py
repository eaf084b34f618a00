"""Many proposals in flight: what they cost the engine, and how long the language server takes then.

A server on this machine answers each call after 5 s. A process asks it as the engine does (build
the prompt, call, parse the reply), 50 calls at a time. Meanwhile the diagnostics
of an edited file and a hover after each edit are timed, in turn with the same while no model is
asked, in alternating order.

    python benchmarks/model_load.py [--in-flight 50] [--together] [--rounds 4] [--json out.json]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rpc import Client

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
sys.path.insert(0, str(HERE.parent / "tests" / "models"))

KERNELS = ("matmul", "softmax", "layernorm", "linear_gelu")
THINK_S = 0.05
_SPREAD_S = 5.0
_SETTLE_S = 4.0


def main() -> int:
    options = _options()
    if options.child is not None:
        print(json.dumps(_engine(options)), flush=True)
        return 0
    with tempfile.TemporaryDirectory(prefix="tw-load-") as name:
        folder = Path(name)
        result = _under_load(folder, options)
    _show(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2), encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--in-flight", type=int, default=50)
    parser.add_argument("--together", action="store_true", help="all replies at one moment")
    parser.add_argument("--rounds", type=int, default=4, help="of each, with load and without")
    parser.add_argument("--seconds", type=float, default=20.0, help="of a round")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


# The engine's side of many proposals.


def _engine(options: argparse.Namespace) -> dict[str, Any]:
    """Keep so many proposals in flight; measured from when the first replies have come."""
    import threading

    from tilewright.models.client import Client as Models
    from tilewright.priority import give_way

    ensemble = _ensemble(options)
    models, stop = Models(ensemble), threading.Event()
    done: list[int] = []
    briefings = [_briefing(kernel) for kernel in KERNELS]
    choice = ensemble.choices[0]

    def propose(slot: int) -> None:
        sample = slot
        give_way()  # as every thread of the engine does that waits for a model
        while not stop.is_set():
            if _proposal(models, choice, briefings[slot % len(briefings)], sample):
                done.append(sample)
            sample += options.in_flight

    threads = [
        threading.Thread(target=propose, args=(slot,), daemon=True)
        for slot in range(options.in_flight)
    ]
    for thread in threads:
        thread.start()
        if not options.together:
            time.sleep(_SPREAD_S / len(threads))
    time.sleep(_SETTLE_S)
    print("ready", flush=True)
    before, cpu, wall, count = models.spent, time.process_time(), time.perf_counter(), len(done)
    time.sleep(options.seconds)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    spent = models.spent
    stop.set()
    models.cancel()
    return {
        "cpu_s": cpu,
        "wall_s": wall,
        "proposals": len(done) - count,
        "tokens_in": spent.tokens_in - before.tokens_in,
        "tokens_out": spent.tokens_out - before.tokens_out,
    }


def _ensemble(options: argparse.Namespace) -> Any:
    from tilewright.models.model import ModelChoice, Role
    from tilewright.models.settings import CallPolicy, Ensemble

    choice = ModelChoice("scripted", options.child)
    by_role = dict.fromkeys(Role, (choice,))
    policy = CallPolicy(cache=False)
    return Ensemble(by_role, concurrency=options.in_flight, policy=policy)


def _briefing(kernel: str) -> Any:
    """What the engine knows of an example before anything of it was measured."""
    from tilewright.agents.briefing import Briefing
    from tilewright.analysis import analyze
    from tilewright.analysis.model import AnalysisContext
    from tilewright.problems.loading import find_problem
    from tilewright.source import parse_module
    from tilewright.targets.model import Target

    path = EXAMPLES / f"{kernel}.py"
    text = path.read_text(encoding="utf-8")
    problem = find_problem(path)
    assert problem is not None
    context = AnalysisContext(Target("cuda", "90"), (3, 6))
    issues = analyze(parse_module(text, str(path)), context)
    words = (path.with_suffix(".yaml")).read_text(encoding="utf-8")
    return Briefing(str(path), text, text, context, problem.entry, words, issues)


def _proposal(models: Any, choice: Any, briefing: Any, sample: int) -> bool:
    """One proposal as the engine makes it; False where the end cut it off."""
    from tilewright.agents import optimizer
    from tilewright.errors import Stopped
    from tilewright.knowledge.stages import Stage
    from tilewright.models.model import CallRequest, Role

    prompt = optimizer.build(briefing, Stage.FUSION)
    try:
        reply = models.complete(CallRequest(Role.OPTIMIZER, choice, prompt.messages(), sample))
    except Stopped:
        return False
    optimizer.parse(reply.text, briefing)
    return True


# The language server, with and without.


def _importable() -> Mapping[str, str]:
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))}


def _under_load(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from scripted_server import serve_process

    path = EXAMPLES / "matmul.py"
    quiet: dict[str, list[float]] = {"diagnostics": [], "hover": []}
    loaded: dict[str, list[float]] = {"diagnostics": [], "hover": []}
    engine: list[dict[str, Any]] = []
    with (
        serve_process(
            "model_load_replies:after_a_while", folder / "load.log", _importable()
        ) as server,
        Client([sys.executable, "-m", "tilewright", "lsp"]) as client,
    ):
        typing = Typing(client, path)
        typing.block(quiet=None, seconds=3.0)
        os.setpriority(os.PRIO_PROCESS, server.pid, 19)  # it stands for another machine
        for turn in range(options.rounds):
            if turn % 2 == 0:
                typing.block(quiet, options.seconds)
            child = _start(server.base_url, options)
            typing.block(loaded, options.seconds)
            engine.append(json.loads(child.communicate(timeout=120)[0]))
            if turn % 2 == 1:
                typing.block(quiet, options.seconds)
    return {
        "in_flight": options.in_flight,
        "engine": engine,
        "engine_cores": sum(e["cpu_s"] for e in engine) / sum(e["wall_s"] for e in engine),
        "server": {
            name: {"quiet": _quantiles(quiet[name]), "loaded": _quantiles(loaded[name])}
            for name in quiet
        },
    }


def _start(base_url: str, options: argparse.Namespace) -> "subprocess.Popen[str]":
    """The engine's process, once its proposals are in flight."""
    command = [
        sys.executable, str(HERE / "model_load.py"), "--child", base_url,
        "--in-flight", str(options.in_flight), "--seconds", str(options.seconds),
        *(["--together"] if options.together else []),
    ]  # fmt: skip
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    if child.stdout.readline().strip() != "ready":
        raise RuntimeError(f"the engine's process ended with exit code {child.wait()}")
    return child


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


class Typing:
    """A user who types into a file and looks at the diagnostics and a hover after each key."""

    def __init__(self, client: Client, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        self._client, self._uri, self._stroke = client, path.as_uri(), 0
        self._line = text.count("\n") // 2
        lines = text.split("\n")
        row = next(n for n, line in enumerate(lines) if "tl.arange(" in line)
        self._place = {"line": row, "character": lines[row].index("tl.arange(") + 4}
        open_file(client, self._uri, text)

    def block(self, quiet: dict[str, list[float]] | None, seconds: float) -> None:
        """Type for so long; the times go to a record."""
        end = time.perf_counter() + seconds
        document = {"textDocument": {"uri": self._uri}}
        while time.perf_counter() < end:
            began = time.perf_counter()
            type_line(self._client, self._uri, self._line, self._stroke)
            self._client.request("textDocument/diagnostic", document)
            answered = time.perf_counter()
            self._client.request("textDocument/hover", {**document, "position": self._place})
            hovered = time.perf_counter()
            self._stroke += 1
            if quiet is not None:
                quiet["diagnostics"].append(answered - began)
                quiet["hover"].append(hovered - answered)
            time.sleep(THINK_S)


def _quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """Milliseconds."""
    ordered = sorted(seconds)
    shares = {"median": 0.5, "p95": 0.95, "p99": 0.99}
    return {
        name: round(1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2)
        for name, share in shares.items()
    } | {"of": len(ordered)}


# Tables.


def _show(result: Mapping[str, Any]) -> None:
    cpu = sum(one["cpu_s"] for one in result["engine"])
    wall = sum(one["wall_s"] for one in result["engine"])
    proposals = sum(one["proposals"] for one in result["engine"])
    tokens = sum(one["tokens_in"] + one["tokens_out"] for one in result["engine"])
    print(f"\n{result['in_flight']} proposals in flight: {proposals / wall:.1f} proposals/s,")
    print(f"{tokens / wall:,.0f} tokens/s, {100 * cpu / wall:.1f} % of one core")
    print(f"({1e3 * cpu / max(proposals, 1):.1f} ms of CPU a proposal)\n")
    print("| language server (ms) | median | p95 | p99 | requests |")
    print("| --- | --- | --- | --- | --- |")
    for name, both in result["server"].items():
        for state, one in both.items():
            print(f"| {name}, {state} |", " | ".join(str(v) for v in one.values()), "|")
        print(f"{name}: p95 times {both['loaded']['p95'] / both['quiet']['p95']:.2f}")


if __name__ == "__main__":
    sys.exit(main())
