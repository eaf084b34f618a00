"""How fast the instant tier is: a whole package cold, and one edited line of a long file.

Against ``ast.parse`` of the same text, timed in turn in the same run:

    make corpora
    python benchmarks/instant_tier.py [--strokes 200] [--json out.json]
"""

import argparse
import ast
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tilewright.analysis import analyze
from tilewright.collection import collect_seldom
from tilewright.source import parse_module

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "build" / "corpora" / "liger_kernel"
LINES, KERNELS = 1700, 20
WARM_UP = 5
RUNS = 5

_PARSE_ALL = """
import ast, pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    ast.parse(path.read_text(encoding="utf-8"))
"""


def main() -> int:
    options = _options()
    if not CORPUS.is_dir():
        print(f"{CORPUS} is not there: make corpora", file=sys.stderr)
        return 2
    text = _long_file()
    collect_seldom()  # As the command line and the server do.
    result = {
        "package": _package(),
        "file": {"lines": text.count("\n"), "kernels": len(parse_module(text).kernels)},
        "edits": {
            name: _latency(text, edit, options.strokes)
            for name, edit in (
                ("in_a_kernel", _in_kernel),
                ("newline_in_a_kernel", _newline_in_kernel),
                ("in_host_code", _in_host),
            )
        },
    }
    print(json.dumps(result, indent=2))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2), encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strokes", type=int, default=200)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _package() -> dict[str, Any]:
    """The whole package, each time by a process of its own on one core."""
    check = [sys.executable, "-m", "tilewright", "check", "--isolated", str(CORPUS)]
    parse = [sys.executable, "-c", _PARSE_ALL, str(CORPUS)]
    ours, theirs = [], []
    for _ in range(RUNS):
        ours.append(_process(check))
        theirs.append(_process(parse))
    return {
        "files": len(list(CORPUS.rglob("*.py"))),
        "check_s": _quantiles(ours),
        "ast_parse_s": _quantiles(theirs),
        "ratio_of_medians": statistics.median(ours) / statistics.median(theirs),
    }


def _process(command: list[str]) -> float:
    started = time.perf_counter()
    ended = subprocess.run(["taskset", "-c", "0", *command], capture_output=True, check=False)
    if ended.returncode not in (0, 1):
        raise RuntimeError(ended.stderr.decode())
    return time.perf_counter() - started


def _long_file() -> str:
    """Real files one after another, those with most kernels a line first."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((CORPUS / "ops").glob("*.py"))]
    kernels = {text: len(parse_module(text).kernels) for text in texts}
    dense = sorted((t for t in texts if kernels[t]), key=lambda t: t.count("\n") / kernels[t])
    parts: list[str] = []
    for text in dense:
        parts.append(text)
        whole = "\n".join(parts)
        if whole.count("\n") >= LINES and sum(kernels[t] for t in parts) >= KERNELS:
            return whole
    raise RuntimeError("the corpus is too small")


Edit = Callable[[str, int], str]


def _analyzed(text: str) -> None:
    analyze(parse_module(text, "long.py"))


def _latency(text: str, edit: Edit, strokes: int) -> dict[str, Any]:
    """Each stroke edits the text that the stroke before left."""
    samples, controls = [], []
    for stroke in range(strokes + WARM_UP):
        text = edit(text, stroke)
        controls.append(_timed(partial(ast.parse, text)))
        samples.append(_timed(partial(_analyzed, text)))
    return {
        "ours_ms": _quantiles([s * 1e3 for s in samples[WARM_UP:]]),
        "ast_parse_ms": _quantiles([c * 1e3 for c in controls[WARM_UP:]]),
        "ratio_of_medians": statistics.median(samples) / statistics.median(controls),
    }


def _timed(what: Callable[[], object]) -> float:
    started = time.perf_counter()
    what()
    return time.perf_counter() - started


def _in_kernel(text: str, stroke: int) -> str:
    return _replaced(text, _kernel_line(text, stroke), lambda line: _with_note(line, stroke))


def _newline_in_kernel(text: str, stroke: int) -> str:
    return _replaced(text, _kernel_line(text, stroke), lambda line: f"{line}\n")


def _in_host(text: str, stroke: int) -> str:
    module = parse_module(text, "long.py")
    kernels = {id(k.node) for k in module.kernels}
    hosts = [f for f in module.host_functions.values() if id(f) not in kernels]
    body = hosts[stroke % len(hosts)].body
    line = (body[-1].end_lineno or body[-1].lineno) - 1
    return _replaced(text, line, lambda content: _with_note(content, stroke))


def _kernel_line(text: str, stroke: int) -> int:
    """The last line of a kernel, another kernel each time."""
    kernels = parse_module(text, "long.py").kernels
    return kernels[stroke % len(kernels)].range.end_line - 1


def _with_note(line: str, stroke: int) -> str:
    return f"{line.partition('  #')[0]}  # {stroke}"


def _replaced(text: str, line: int, change: Callable[[str], str]) -> str:
    lines: Iterator[tuple[int, str]] = enumerate(text.split("\n"))
    return "\n".join(change(content) if n == line else content for n, content in lines)


def _quantiles(samples: list[float]) -> dict[str, float]:
    ordered = sorted(samples)
    return {
        "median": round(statistics.median(ordered), 3),
        "p95": round(ordered[int(0.95 * (len(ordered) - 1))], 3),
        "least": round(ordered[0], 3),
    }


if __name__ == "__main__":
    sys.exit(main())
