"""Two threads that ask at once get the same answer as one that asks alone."""

import ast
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tilewright.analysis import AnalysisContext
from tilewright.analysis.flow import flow_of
from tilewright.analysis.tiles import tiles_of
from tilewright.source import parse_module

TEXT = (Path(__file__).parents[2] / "examples" / "matmul.py").read_text()
THREADS = 4


def test_threads_do_not_disturb_each_other() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for turn in range(10):
            module = parse_module(f"{TEXT}\n# {turn}\n")
            kernel = module.kernels[0]
            nodes = [n for n in flow_of(module, kernel).values if isinstance(n, ast.expr)]

            def ask(start: int, nodes: list[ast.expr] = nodes) -> dict[int, object]:
                tiles = tiles_of(module, kernel, AnalysisContext())  # noqa: B023
                order = [*nodes[start:], *nodes[:start]]
                return {id(n): tiles.facts_at(n).shape for n in order}

            with ThreadPoolExecutor(THREADS) as pool:
                step = len(nodes) // THREADS
                answers = list(pool.map(ask, range(0, step * THREADS, step)))
            alone = {id(n): tiles_of(module, kernel).facts_at(n).shape for n in nodes}
            assert all(answer == alone for answer in answers)
            assert sum(shape is not None for shape in alone.values()) > len(nodes) // 2
    finally:
        sys.setswitchinterval(interval)
