"""From an edit to its diagnostics, next to other language servers; writes ``docs/editor-speed.md``.

All servers get the same files and the same edits in one run; Tilewright and ruff, whose times are
compared, edit by edit in turn. In order:

    make bench-lsp
    python benchmarks/lsp/measure.py --environment build/lsp-servers [--only tilewright,ruff]
"""

import argparse
import datetime
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from lsp.figures import quantiles  # noqa: E402
from lsp.servers import OURS, PEER, Server, environment, servers  # noqa: E402
from lsp.session import Session  # noqa: E402
from lsp.texts import Document, Edit, documents, edits, typed  # noqa: E402

_WARM_UP = 3
_PAUSE_S = 0.05
_KEY_S = 0.1
_SLOW_SHARE = 5
_WITH_SLOW_SERVERS = "1,674 lines"
_PATIENCE_S = 20.0


def main() -> int:
    options = _options()
    if not (options.corpora / "liger_kernel").is_dir():
        print(f"{options.corpora} holds no corpora: make corpora", file=sys.stderr)
        return 2
    chosen = [s for s in servers(options.environment) if s.name in options.only]
    missing = [s.command[0] for s in chosen if not Path(s.command[0]).exists()]
    if missing:
        print(f"not there: {', '.join(missing)}; make bench-lsp installs them", file=sys.stderr)
        return 2
    began = time.monotonic()
    result = _measure(options, chosen)
    result["took_s"] = round(time.monotonic() - began)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    every = f"{OURS},{PEER},basedpyright,python-lsp-server,jedi-language-server"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", type=Path, default=ROOT / "build" / "lsp-servers")
    parser.add_argument("--corpora", type=Path, default=ROOT / "build" / "corpora")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench-lsp.json")
    parser.add_argument("--only", type=lambda names: names.split(","), default=every.split(","))
    parser.add_argument("--files", type=lambda names: names.split("/"), help="by name, with /")
    parser.add_argument("--strokes", type=int, default=20)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--typed", type=int, default=40, help="keys, ten a second")
    return parser.parse_args()


def _measure(options: argparse.Namespace, chosen: Sequence[Server]) -> dict[str, Any]:
    found = documents(options.corpora)
    found = tuple(d for d in found if options.files is None or d.name in options.files)
    result: dict[str, Any] = {
        "when": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "where": _machine(),
        "load_before": os.getloadavg()[0],
        "files": {d.name: {"lines": d.lines, "kernels": d.kernels} for d in found},
        "latency": [],
        "use": [],
        "start": [],
    }
    with tempfile.TemporaryDirectory() as folder, environment(Path(folder)):
        for document in found:
            slow = document.name == _WITH_SLOW_SERVERS
            here = [server for server in chosen if slow or not server.is_slow]
            result["start"] += _starts(here, document, options.starts, Path(folder))
            for pulls in (False, True):
                for group in _groups([s for s in here if s.pulls or not pulls]):
                    result["latency"] += _edited(
                        group, document, edits(options.corpora), options.strokes, pulls,
                        Path(folder),
                    )  # fmt: skip
            for server in here:
                result["use"].append(_typed(server, document, options.typed, Path(folder)))
    result["load_after"] = os.getloadavg()[0]
    return result


def _groups(chosen: Sequence[Server]) -> Iterator[list[Server]]:
    """The quick servers together, each slow one by itself: its background work would disturb."""
    quick = [server for server in chosen if not server.is_slow]
    if quick:
        yield quick
    for server in chosen:
        if server.is_slow:
            yield [server]


def _starts(
    chosen: Sequence[Server], document: Document, times: int, folder: Path
) -> list[dict[str, Any]]:
    """Spawn to the answer of ``initialize``, and to the first diagnostics of an open file."""
    found = {server.name: ([], [], [], []) for server in chosen}  # type: dict[str, tuple[list[float], ...]]
    for _ in range(times):
        for server in chosen:
            with _session(server, folder, pulls=server.pulls) as session:
                walls = found[server.name]
                walls[0].append(session.initialize())
                walls[2].append(session.usage().cpu_s)
                walls[1].append(session.open("bench.py", document.text))
                walls[3].append(session.usage().cpu_s)
    return [
        {
            "server": name,
            "file": document.name,
            "initialize_ms": quantiles(initialize),
            "diagnostics_ms": quantiles(first),
            "initialize_cpu_s": round(sorted(cpu)[len(cpu) // 2], 2),
            "diagnostics_cpu_s": round(sorted(cpu_first)[len(cpu_first) // 2], 2),
        }
        for name, (initialize, first, cpu, cpu_first) in found.items()
    ]


def _edited(
    group: Sequence[Server],
    document: Document,
    wanted: Mapping[str, Edit],
    strokes: int,
    pulls: bool,
    folder: Path,
) -> list[dict[str, Any]]:
    rows = []
    for name, edit in wanted.items():
        with ExitStack() as stack:
            sessions = [stack.enter_context(_session(s, folder, pulls=pulls)) for s in group]
            for session in sessions:
                session.initialize()
                session.open("bench.py", document.text)
                session.settle(1.0)
            count = strokes // _SLOW_SHARE if group[0].is_slow else strokes
            samples = _strokes(sessions, document, edit, count)
        for server, (wall, cpu, missing) in zip(group, samples, strict=True):
            rows.append(
                {
                    "server": server.name,
                    "file": document.name,
                    "edit": name,
                    "mode": "pull" if pulls else "push",
                    "ms": quantiles(wall),
                    "cpu_ms": round(cpu, 2),
                    "missing": missing,
                }
            )
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def _strokes(
    sessions: Sequence[Session], document: Document, edit: Edit, strokes: int
) -> list[tuple[list[float], float, int]]:
    """Per session: seconds of each stroke, processor milliseconds a stroke, unanswered strokes."""
    wall: list[list[float]] = [[] for _ in sessions]
    missing = [0] * len(sessions)
    used = [0.0] * len(sessions)
    for k in range(strokes + _WARM_UP):
        stroke = edit(document, k)
        for n, session in enumerate(sessions):
            if k == _WARM_UP:
                used[n] = session.usage().cpu_s
            try:
                took = session.edit(stroke.change)
                if k >= _WARM_UP:
                    wall[n].append(took)
            except TimeoutError:
                missing[n] += 1
            session.settle(_PAUSE_S)
            if stroke.undo is not None:
                session.change(stroke.undo)
                session.settle(4 * _PAUSE_S)
    cpu = [1e3 * (s.usage().cpu_s - u) / strokes for s, u in zip(sessions, used, strict=True)]
    return list(zip(wall, cpu, missing, strict=True))


def _typed(server: Server, document: Document, keys: int, folder: Path) -> dict[str, Any]:
    """Processor time and memory of a server while someone types, ten keys a second."""
    with _session(server, folder, pulls=False) as session:
        session.initialize()
        session.open("bench.py", document.text)
        session.settle(2.0)
        opened = session.usage()
        for change in typed(document, keys):
            session.change(change)
            session.settle(_KEY_S)
        session.settle(1.5)
        after = session.usage()
    row = {
        "server": server.name,
        "file": document.name,
        "keys": keys,
        "cpu_s": round(after.cpu_s - opened.cpu_s, 2),
        "cpu_start_s": round(opened.cpu_s, 2),
        "pss_mib": round(after.pss_mib, 1),
        "rss_mib": round(after.rss_mib, 1),
        "peak_mib": round(after.peak_mib, 1),
    }
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


def _session(server: Server, folder: Path, *, pulls: bool) -> Session:
    return Session(server, folder, pulls=pulls, patience_s=_PATIENCE_S)


def _machine() -> str:
    model = ""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return f"{os.cpu_count()} cores of {model}, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main())
