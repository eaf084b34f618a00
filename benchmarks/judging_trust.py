"""What the judge of results lets through and what it refuses, and how long it takes.

    python benchmarks/judging_trust.py [--device cuda] [--format markdown]

Every row is a kernel's arithmetic written with torch: an original, and a candidate that is as good,
or is not. Honest ones have to pass, the others have to fail, over several seeds and sizes. Needs
torch alone. Exits with 1 where a verdict is not the one wanted.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch

from tilewright.worker.compare.comparison import judge
from tilewright.worker.inputs import generation

Tensors = list[torch.Tensor]
Function = Callable[..., torch.Tensor]
SEEDS = 5
LARGE = 64 << 20


@dataclass(frozen=True)
class Case:
    """An original and a candidate; ``oracle`` is given doubles."""

    what: str
    change: str
    honest: bool
    oracle: Function
    original: Function
    candidate: Function
    inputs: Callable[[int, str], Tensors]
    rtol: float
    atol: float
    scaled: bool = False


def drawn(*shapes: tuple[int, ...], dtype: torch.dtype) -> Callable[[int, str], Tensors]:
    def make(seed: int, device: str) -> Tensors:
        generator = torch.Generator().manual_seed(seed)
        return [torch.randn(s, generator=generator).to(device=device, dtype=dtype) for s in shapes]

    return make


def tf32(x: torch.Tensor) -> torch.Tensor:
    return ((x.float().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def parts(count: int, kept: torch.dtype) -> Function:
    """A product in single precision over parts of the inner dimension, summed in ``kept``."""

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(a.shape[0], b.shape[1], dtype=kept, device=a.device)
        for x, y in zip(a.float().chunk(count, 1), b.float().chunk(count, 0), strict=True):
            total = (total + x @ y).to(kept)
        return total.to(a.dtype)

    return product


def products() -> Iterator[Case]:
    kinds = (
        (torch.float32, "fp32", 1e-2),
        (torch.float16, "fp16", 2e-1),
        (torch.bfloat16, "bf16", 5e-1),
    )
    for dtype, name, rtol in kinds:
        for inner in (64, 1024):
            inputs = drawn((192, inner), (inner, 160), dtype=dtype)
            what = f"product, {name}, K={inner}"

            def original(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
                return (a.float() @ b.float()).to(a.dtype)

            def case(
                change: str, honest: bool, candidate: Function,
                what: str = what, inputs: Callable[[int, str], Tensors] = inputs,
                original: Function = original, rtol: float = rtol,
            ) -> Case:  # fmt: skip
                return Case(
                    what, change, honest, torch.matmul, original, candidate, inputs, rtol, rtol * 9
                )

            yield case("four parts of K, added in fp32", True, parts(4, torch.float32))
            yield case("K one tile of 16 at a time", True, parts(inner // 16, torch.float32))
            yield case("in double precision", True, parts(1, torch.float64))
            if dtype == torch.float16 or (dtype == torch.bfloat16 and inner > 64):
                yield case(f"added in {name}", False, parts(inner // 4, dtype))
            if dtype == torch.float32:
                yield case("operands in tf32", False, lambda a, b: tf32(a) @ tf32(b))
                yield case("added in fp16", False, parts(8, torch.float16))
            if dtype != torch.bfloat16:
                yield case(
                    "operands in bf16", False,
                    lambda a, b: (a.bfloat16().float() @ b.bfloat16().float()).to(a.dtype),
                )  # fmt: skip


def softmaxes() -> Iterator[Case]:
    def oracle(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1)

    def original(x: torch.Tensor) -> torch.Tensor:
        power = (x - x.amax(1, keepdim=True)).exp()
        return power / power.sum(1, keepdim=True)

    def by_two(x: torch.Tensor) -> torch.Tensor:
        power = ((x - x.amax(1, keepdim=True)) * 1.4426950408889634).exp2()
        return power / power.sum(1, keepdim=True)

    def reciprocal(x: torch.Tensor) -> torch.Tensor:
        power = (x - x.amax(1, keepdim=True)).exp()
        return power * (1 / power.sum(1, keepdim=True))

    for columns in (1500, 100_000):
        for change, honest, candidate in (
            ("powers of two", True, by_two),
            ("times the reciprocal", True, reciprocal),
            ("powers in fp16", False, lambda x: original(x.half()).float()),
            ("zeros", False, torch.zeros_like),
            ("the mean of all", False, lambda x: torch.full_like(x, 1 / x.shape[1])),
        ):
            yield Case(
                f"softmax, fp32, {columns} columns", change, honest, oracle, original, candidate,
                drawn((8, columns), dtype=torch.float32), 1e-2, 1e-2,
            )  # fmt: skip


def layernorms() -> Iterator[Case]:
    def original(x: torch.Tensor) -> torch.Tensor:
        off = x - x.mean(1, keepdim=True)
        return off / torch.sqrt((off * off).mean(1, keepdim=True) + 1e-5)

    def one_pass(x: torch.Tensor) -> torch.Tensor:
        mean = x.mean(1, keepdim=True)
        return (x - mean) / torch.sqrt((x * x).mean(1, keepdim=True) - mean * mean + 1e-5)

    def welford(x: torch.Tensor) -> torch.Tensor:
        mean, spread, seen = torch.zeros_like(x[:, :1]), torch.zeros_like(x[:, :1]), 0
        for block in torch.split(x, 64, 1):
            width = block.shape[1]
            own = block.mean(1, keepdim=True)
            spread += ((block - own) ** 2).sum(1, keepdim=True)
            spread += (own - mean) ** 2 * (seen * width / (seen + width))
            mean += (own - mean) * (width / (seen + width))
            seen += width
        return (x - mean) / torch.sqrt(spread / seen + 1e-5)

    def far(seed: int, device: str) -> Tensors:
        return [drawn((64, 700), dtype=torch.float32)(seed, device)[0] * 0.1 + 300]

    for what, inputs in (("centred", drawn((64, 700), dtype=torch.float32)), ("mean 300", far)):
        for change, honest, candidate in (
            ("Welford, 64 at a time", True, welford),
            ("in double precision", True, lambda x: original(x.double()).float()),
            ("mean of squares", what == "centred", one_pass),
            ("input in bf16", False, lambda x: original(x.bfloat16().float())),
        ):
            yield Case(
                f"layer norm, fp32, {what}", change, honest, original, original, candidate,
                inputs, 1e-1, 1e-1,
            )  # fmt: skip


def sums() -> Iterator[Case]:
    def lanes(x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(x.shape[0], 128, device=x.device, dtype=x.dtype)
        for block in torch.split(x, 128, 1):
            total += block
        return total.sum(1)

    inputs = drawn((100, 1 << 14), dtype=torch.float32)
    for change, honest, candidate in (
        ("128 lanes", True, lanes),
        ("in double precision", True, lambda x: x.double().sum(1).float()),
        ("input in bf16", False, lambda x: x.bfloat16().float().sum(1)),
        ("every other one, doubled", False, lambda x: 2 * x[:, ::2].sum(1)),
    ):
        yield Case(
            "row sums, fp32", change, honest, lambda x: x.sum(1), lambda x: x.sum(1), candidate,
            inputs, 1e-1, 1e-1,
        )  # fmt: skip


def attentions() -> Iterator[Case]:
    """Scores of thousands: the result of a row with two almost equal ones has their rounding."""

    def attention(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, is_binary: bool = False,
        kept: torch.dtype | None = None,
    ) -> torch.Tensor:  # fmt: skip
        scores = q @ k.transpose(-1, -2)
        scores = scores * (0.25 * math.log2(math.e)) if is_binary else scores * 0.25
        scores = scores.to(kept).to(scores.dtype) if kept else scores
        shifted = scores - scores.amax(-1, keepdim=True)
        part = torch.exp2(shifted) if is_binary else torch.exp(shifted)
        return (part @ v) / part.sum(-1, keepdim=True)

    def left_out(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return attention(q, k[:, :-64], v[:, :-64])

    def large(seed: int, device: str) -> Tensors:
        shape = (8, 1024, 16)
        return [x * 64.0 for x in drawn(shape, shape, shape, dtype=torch.float32)(seed, device)]

    for change, honest, candidate in (
        ("powers of two", True, partial(attention, is_binary=True)),
        ("in double precision", True, lambda *x: attention(*(y.double() for y in x)).float()),
        ("tf32 products", False, lambda q, k, v: attention(tf32(q), tf32(k), v)),
        ("scores in bf16", False, partial(attention, kept=torch.bfloat16)),
        ("last 64 keys left out", False, left_out),
    ):
        yield Case(
            "attention, fp32, large", change, honest, attention, attention, candidate, large,
            1e-4, 1e-5, scaled=True,
        )  # fmt: skip


def accepted(case: Case, device: str) -> tuple[int, float]:
    """(how many of the seeds it is accepted for, the median of its error ratios)."""
    count, ratios = 0, []
    for seed in range(SEEDS):
        inputs = case.inputs(seed, device)
        oracle = case.oracle(*(x.double() for x in inputs))
        named = {str(at): x for at, x in enumerate(inputs)}
        noisy = [case.oracle(*generation.nudged(named, turn).values()) for turn in (1, 2)]
        found = judge(
            oracle, case.original(*inputs), case.candidate(*inputs),
            rtol=case.rtol, atol=case.atol, noisy=noisy, scaled=case.scaled,
        )  # fmt: skip
        count += found["equal"]
        ratios.append(found["error_ratio"])
    return count, sorted(ratios)[SEEDS // 2]


def seconds(device: str, numel: int, dtype: torch.dtype) -> float:
    """Of one verdict on ``numel`` elements, the second of two."""
    y = torch.randn(numel // 4096, 4096, device=device)
    original, candidate = y.to(dtype), y.to(dtype)
    for _ in range(2):
        if device != "cpu":
            torch.cuda.synchronize()
        start = time.perf_counter()
        found = judge(y.double(), original, candidate, rtol=1e-2, atol=1e-2)
        assert found["equal"], found["message"]
        took = time.perf_counter() - start
    return took


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    torch.backends.cuda.matmul.allow_tf32 = False
    wrong = 0
    print("| original | candidate | wanted | accepted | error, times the original's |")
    print("| --- | --- | --- | --- | --- |")
    for case in (*products(), *softmaxes(), *layernorms(), *sums(), *attentions()):
        count, ratio = accepted(case, device)
        wanted = SEEDS if case.honest else 0
        wrong += count != wanted
        flag = "" if count == wanted else " **wrong**"
        told = "pass" if case.honest else "fail"
        print(f"| {case.what} | {case.change} | {told} | {count} of {SEEDS}{flag} | {ratio:.3g} |")
    sizes = (1 << 16, LARGE) if device != "cpu" else (1 << 12, 1 << 16, 1 << 22)
    for numel in sizes:
        took = seconds(device, numel, torch.float16)
        print(f"\none verdict on {numel} elements of fp16, oracle in fp64: {1e3 * took:.1f} ms")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
