"""What three kinds of advice gain on a GPU, by the sizes that the source or a launch states.

    python benchmarks/advice_sizes.py OUT.json [--seconds N]

`reduction_tree_suboptimal`: a row kernel that reduces its tile in each iteration of a loop against
one that carries the tile and reduces it once, for each width, number of iterations and loop body.
`multi_pass_row`: a row that is normalized in two or three passes over it, in blocks as long as the
row or in several, against one pass that keeps the row; the best of `ROW_WARPS` for each.
`missing_autotune`: a product and a flash attention with stated tiles and Triton's default warps
and stages, against the best of all tiles, warps and stages that were tried. Times are medians of
CUDA events with L2 flushed before each call. What does not compile or exceeds shared memory is
left out and counted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import triton
from advice_sizes_kernels import (
    attention,
    normalized_at_once,
    normalized_in_passes,
    product,
    reduced_in_loop,
    reduced_once,
)
from triton.testing import do_bench

Row = dict[str, Any]

WIDTHS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
TURNS = (2, 4, 8, 16, 64)
BODIES = ("sum", "three sums", "maximum", "sum beside a store")
ELEMENTS = 1 << 27

ROWS = (256, 512, 1024, 2048, 3072, 4096, 8192, 16384, 32768)
ROW_BLOCKS = (None, 1024)
"""A block as long as the row, and a fixed one."""
ROW_WARPS = (4, 8, 16)

PRODUCTS = ((1024, 1024, 1024), (4096, 4096, 4096), (8192, 1024, 4096), (16, 4096, 4096))
PRODUCT_TILES = (
    (16, 16, 16),
    (16, 64, 32),
    (16, 128, 64),
    (32, 32, 32),
    (32, 64, 32),
    (64, 32, 32),
    (64, 64, 32),
    (64, 64, 64),
    (64, 128, 32),
    (128, 64, 32),
    (128, 64, 64),
    (128, 128, 32),
    (128, 128, 64),
    (128, 256, 64),
)
ATTENTIONS = ((32, 1024, 64), (16, 4096, 64), (32, 1024, 128), (16, 4096, 128))
ATTENTION_TILES = (
    (16, 16),
    (32, 16),
    (32, 32),
    (64, 16),
    (64, 32),
    (32, 64),
    (64, 64),
    (128, 32),
    (128, 64),
    (64, 128),
    (128, 128),
)
DEFAULT = (4, 3)
"""Triton's own number of warps and of stages on NVIDIA."""
TUNED = ((2, 3), (4, 2), (4, 3), (4, 4), (8, 2), (8, 3), (8, 4))


def _time(call: Callable[[], Any]) -> float | None:
    """Milliseconds of one call in the median; None where it does not fit the chip."""
    try:
        call()
        return float(f"{do_bench(call, warmup=3, rep=15, return_mode='median'):.4g}")
    except (triton.runtime.errors.OutOfResources, triton.compiler.errors.CompilationError):
        return None


def reductions() -> Iterator[Row]:
    """Both versions of the row kernel at each width, number of turns and body."""
    for body, width, turns in itertools.product(range(len(BODIES)), WIDTHS, TURNS):
        rows = max(min(16384, ELEMENTS // (width * turns)), 512)
        x = torch.randn(rows * width * turns, device="cuda").half()
        y = torch.empty_like(x)
        out = torch.empty(rows, device="cuda")
        again = torch.empty(rows, device="cuda")

        def run(kernel: Any, into: torch.Tensor) -> None:
            kernel[(rows,)](x, y, into, turns, BLOCK=width, BODY=body)  # noqa: B023

        before = _time(lambda: run(reduced_in_loop, out))  # noqa: B023
        after = _time(lambda: run(reduced_once, again))  # noqa: B023
        torch.testing.assert_close(out, again, rtol=1e-3, atol=1e-1)
        if before and after:
            yield {
                "advice": "reduction_tree_suboptimal",
                "body": BODIES[body],
                "width": width,
                "turns": turns,
                "rows": rows,
                "ms": before,
                "best_ms": after,
                "ratio": round(before / after, 3),
            }


def rows_in_passes() -> Iterator[Row]:
    """Rows of each length in two and three passes, and in one, where a pass has one or more turns.

    ``ratio`` is the time of the passes by that of one.
    """
    cases = itertools.product((torch.float16, torch.float32), ROWS, (False, True), ROW_BLOCKS)
    for dtype, length, centered, block in cases:
        whole = triton.next_power_of_2(length)
        if block is not None and block >= whole:
            continue
        rows = min(65536, ELEMENTS // length)
        x = torch.randn(rows, length, device="cuda", dtype=dtype)
        y, again = torch.empty_like(x), torch.empty_like(x)

        def best(kernel: Any, into: torch.Tensor, block: int) -> float | None:
            times = [
                _time(
                    lambda: kernel[(rows,)](  # noqa: B023
                        x,  # noqa: B023
                        into,
                        length,  # noqa: B023
                        BLOCK=block,
                        CENTERED=centered,  # noqa: B023
                        num_warps=warps,  # noqa: B023
                    )
                )
                for warps in ROW_WARPS
            ]
            return min((ms for ms in times if ms is not None), default=None)

        before = best(normalized_in_passes, y, block or whole)
        after = best(normalized_at_once, again, whole)
        torch.testing.assert_close(y, again, rtol=1e-2, atol=1e-2)
        if before and after:
            yield {
                "advice": "multi_pass_row",
                "passes": 2 + centered,
                "type": str(dtype).removeprefix("torch."),
                "length": length,
                "block": block or whole,
                "rows": rows,
                "ms": before,
                "best_ms": after,
                "ratio": round(before / after, 3),
            }


def products() -> Iterator[Row]:
    """Each stated tile of the product against the best of all."""
    for m, n, k in PRODUCTS:
        a = torch.randn(m, k, device="cuda").half()
        b = torch.randn(k, n, device="cuda").half()
        c = torch.empty(m, n, device="cuda").half()

        def call(tile: tuple[int, ...], options: tuple[int, int]) -> Callable[[], Any]:
            bm, bn, bk = tile
            grid = (math.ceil(m / bm) * math.ceil(n / bn),)  # noqa: B023
            return lambda: product[grid](
                *(a, b, c, m, n, k, bm, bn, bk, 8),  # noqa: B023
                num_warps=options[0],
                num_stages=options[1],
            )

        yield from _against_best(f"product {m} x {n} x {k}", PRODUCT_TILES, call)


def attentions() -> Iterator[Row]:
    """Each stated tile of the attention against the best of all."""
    for heads, length, width in ATTENTIONS:
        q, k, v = (torch.randn(heads, length, width, device="cuda").half() for _ in range(3))
        out = torch.empty_like(q)

        def call(tile: tuple[int, ...], options: tuple[int, int]) -> Callable[[], Any]:
            grid = (math.ceil(length / tile[0]), heads)  # noqa: B023
            return lambda: attention[grid](
                *(q, k, v, out, length, 0.1, width, *tile),  # noqa: B023
                num_warps=options[0],
                num_stages=options[1],
            )

        yield from _against_best(f"attention {heads} x {length} x {width}", ATTENTION_TILES, call)


def _against_best(
    problem: str,
    tiles: tuple[tuple[int, ...], ...],
    call: Callable[[tuple[int, ...], tuple[int, int]], Callable[[], Any]],
) -> Iterator[Row]:
    times = {
        (tile, options): ms
        for tile in tiles
        for options in TUNED
        if (ms := _time(call(tile, options))) is not None
    }
    (best, best_options), best_ms = min(times.items(), key=lambda item: item[1])
    for tile in tiles:
        ms = times.get((tile, DEFAULT))
        if ms is not None:
            yield {
                "advice": "missing_autotune",
                "problem": problem,
                "tile": tile,
                "ms": ms,
                "best_tile": best,
                "best_options": best_options,
                "best_ms": best_ms,
                "tried": len(times),
                "ratio": round(ms / best_ms, 3),
            }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=500.0)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    rows: list[Row] = []
    complete = True
    for row in itertools.chain(rows_in_passes(), attentions(), products(), reductions()):
        rows.append(row)
        if time.monotonic() > end:
            complete = False
            break
    facts = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "complete": complete,
    }
    named = "".join(f" {json.dumps(name)}: {json.dumps(fact)},\n" for name, fact in facts.items())
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    options.out.write_text(f'{{\n{named} "rows": [\n{lines}\n ]\n}}\n')
    print(f"{len(rows)} rows, complete: {complete}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
