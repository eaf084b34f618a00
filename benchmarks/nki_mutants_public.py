"""Faults put into kernels of a public repository, judged as those of ``nki_mutants.py``.

    python benchmarks/nki_mutants_public.py run CHECKOUT > benchmarks/nki_mutants_public.json
    python benchmarks/nki_mutants_public.py table

CHECKOUT holds ``sols/trn-*`` and ``harnesses/trn-*`` of ucb-bar/autocomp. The kernels stay there:
this file has the shapes, the host code and fp64 references, the result has counts. A tolerance is
that of the kernel's harness. A kernel that does not agree with its reference within it is left out.
"""

import ast
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from nki_mutants import (
    Arrays,
    Case,
    Mutant,
    Runner,
    differs,
    inputs_of,
    mutants,
    one_a_line,
    table,
)

STORED = Path(__file__).parent / "nki_mutants_public.json"
ENTRY = "solution"
PADDING = ((0, 0), (1, 1))
Reference = Callable[..., Any]


@dataclass(frozen=True)
class Public:
    """How to call one kernel.

    Attributes:
        host: calls the kernel: ``host(kernel, *inputs)``.
        reference: fp64 output (or outputs) of the same inputs.
        positive: places of the arguments that are not negative.
    """

    path: str
    shapes: Sequence[tuple[int, ...]]
    host: Callable[..., Any]
    reference: Reference
    rtol: float
    atol: float
    positive: Sequence[int] = ()


# --- references ----------------------------------------------------------------------------------


def rmsnorm(x: Any, scale: Any) -> Any:
    return x / np.sqrt(np.mean(x * x, axis=1, keepdims=True)) * scale


def layernorm(x: Any, scale: Any, shift: Any) -> Any:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + 1e-5) * scale + shift


def mamba(delta: Any, u: Any, a: Any, b: Any, c: Any) -> Any:
    found = np.zeros_like(delta)
    state = np.zeros((*delta.shape[:2], a.shape[1]))
    for t in range(delta.shape[2]):
        step = delta[:, :, t, None]
        state = np.exp(-step * a) * state + step * u[:, :, t, None] * b[:, None, :, t]
        found[:, :, t] = np.sum(state * c[:, None, :, t], axis=2)
    return found


def weights(scores: Any) -> Any:
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def attention(q: Any, k: Any, v: Any) -> Any:
    return weights(q.T @ k) @ v.T


def scaled_attention(q: Any, k: Any, v: Any) -> Any:
    return weights(q @ k.T * 0.125) @ v


def causal_attention(q: Any, k: Any, v: Any) -> Any:
    """Output, logarithm of the sum of exponentials, and maximum, of queries (length, head)."""
    scores = np.where(np.tri(q.shape[-2], dtype=bool), q @ k, -9984.0)
    most = scores.max(axis=-1, keepdims=True)
    total = np.exp(scores - most).sum(axis=-1, keepdims=True)
    return weights(scores) @ v, np.log(total) + most, most


def unnormalized_attention(q: Any, k: Any, v: Any) -> Any:
    """As ``causal_attention``, but the first output is not divided by the sum."""
    out, total, most = causal_attention(q, k, v)
    return out * np.exp(total - most), total, most


def narrow(x: Any) -> Any:
    """Values of fp32 rounded to bf16, to nearest even."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32).astype(np.float64)


def narrow_product(a: Any, b: Any) -> Any:
    return narrow(a).T @ narrow(b)


def maxpool(x: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, (3, 3)).max(axis=(2, 3))


def rope(x: Any, cos: Any, sin: Any) -> Any:
    upper, lower = np.split(x, 2)
    return np.concatenate([upper * cos - lower * sin, lower * cos + upper * sin])


def depthwise(image: Any, filters: Any) -> Any:
    padded = np.pad(image, ((0, 0), (0, 0), (0, 0), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, filters.shape[-1], axis=3)
    return np.einsum("nchwk,ck->nchw", windows, filters[:, 0, 0])


# --- host code -----------------------------------------------------------------------------------


def plain(kernel: Any, *inputs: Any) -> Any:
    return kernel(*inputs)


def with_epsilon(kernel: Any, x: Any, scale: Any, shift: Any) -> Any:
    return kernel(x, 1e-5, scale, shift)


def negative_rates(kernel: Any, delta: Any, u: Any, a: Any, b: Any, c: Any) -> Any:
    return kernel(delta, u, -a, b, c)


def repeated_rates(kernel: Any, delta: Any, u: Any, a: Any, b: Any, c: Any) -> Any:
    return kernel(delta, u, -a, np.repeat(b, 128, axis=1), np.repeat(c, 128, axis=1))


def causal(kernel: Any, q: Any, k: Any, v: Any) -> Any:
    heads = {"num_heads": q.shape[0]} if q.ndim == 3 else {}
    return kernel(q, k, v, np.float32, np.float32, seq_len=q.shape[-2], **heads)


def causal_by_mask(kernel: Any, q: Any, k: Any, v: Any) -> Any:
    mask = np.tri(q.shape[-2], dtype=np.float32)
    heads = {"num_heads": q.shape[0]} if q.ndim == 3 else {}
    return kernel(q, k, v, mask, np.float32, np.float32, seq_len=q.shape[-2], **heads)


def causal_by_columns(kernel: Any, q: Any, k: Any, v: Any) -> Any:
    """``causal`` with each tile of 128 queries transposed."""
    tiles = q.reshape(q.shape[0], -1, 128, 128).swapaxes(2, 3)
    return causal(kernel, np.ascontiguousarray(tiles).reshape(q.shape), k, v)


def keywords(kernel: Any, *inputs: Any, **options: Any) -> Any:
    return kernel(*inputs, **options)


ROWS = ((200, 600), (600,))
RATES = ((1, 128, 1024), (1, 128, 1024), (128, 2), (1, 2, 1024), (1, 2, 1024))
HEAD = ((128, 1024),) * 3
SMALL_HEAD = ((256, 64),) * 3
CAUSAL = ((1024, 128), (128, 1024), (1024, 128))
HEADS = tuple((1, *shape) for shape in CAUSAL)
ANGLES = ((128, 200), (64, 200), (64, 200))
IMAGE = ((2, 256, 1, 20), (256, 1, 1, 3))
PRODUCT = ((256, 256), (256, 1024))
wide = partial(keywords, mixed_precision=False)
pooled = partial(keywords, pool_size=3)
turned = partial(keywords, dim=0)
summed = partial(keywords, axis=-1, f_size=128)
filtered = partial(keywords, padding=PADDING)


def both(name: str, shapes: Any, host: Any, reference: Any, rtol: float, atol: float) -> Any:
    """The same kernel of both packages."""
    part, _, base = name.partition("/")
    for flavour in ("nki1", "nki2"):
        yield Public(f"{part}-{flavour}/{base}", shapes, host, reference, rtol, atol)


KERNELS: Sequence[Public] = (
    *both("trn-tutorial/0_rmsnorm", ROWS, plain, rmsnorm, 1e-2, 1e-4),
    *both("trn-tutorial/1_layernorm", (*ROWS, (600,)), with_epsilon, layernorm, 5e-3, 1e-3),
    Public("trn-tutorial-nki1/2_gemm", PRODUCT, plain, lambda a, b: a.T @ b, 1e-3, 1e-2),
    Public("trn-tutorial-nki2/2_gemm", PRODUCT, plain, narrow_product, 1e-3, 1e-2),
    Public("trn-tutorial-nki1/3_mamba", RATES, negative_rates, mamba, 1e-3, 1e-3, (0, 2)),
    Public("trn-tutorial-nki2/3_mamba", RATES, repeated_rates, mamba, 1e-3, 1e-3, (0, 2)),
    *both("trn-tutorial/4_attention", HEAD, plain, attention, 1e-5, 1e-2),
    Public("trn-tutorial-nki1/5_sdattention", SMALL_HEAD, wide, scaled_attention, 1e-3, 1e-4),
    Public("trn-tutorial-nki2/5_sdattention", SMALL_HEAD, plain, scaled_attention, 1e-3, 1e-4),
    *both("trn-advanced/0_cumsum", ((200, 300),), summed, partial(np.cumsum, axis=1), 1e-2, 1e-4),
    *both("trn-advanced/1_transpose", ((256, 384),), turned, lambda x: x.T[None], 1e-2, 1e-4),
    *both("trn-advanced/2_maxpool", ((200, 150),), pooled, maxpool, 1e-2, 1e-4),
    *both("trn-advanced/3_rope", ANGLES, plain, rope, 1e-2, 1e-4),
    *both("trn-advanced/4_conv1d", IMAGE, filtered, depthwise, 1e-2, 1e-4),
    Public("trn-advanced-nki1/6_csa_2048", CAUSAL, causal, unnormalized_attention, 1e-3, 1e-2),
    Public("trn-advanced-nki1/8_mha", HEADS, causal_by_columns, unnormalized_attention, 1e-3, 1e-2),
    Public("trn-advanced-nki2/8_mha", HEADS, causal_by_mask, unnormalized_attention, 1e-3, 1e-2),
)


# --- texts ---------------------------------------------------------------------------------------


def whole_text(checkout: Path, path: str) -> str:
    """A kernel after the imports and the undecorated functions of its harness, without PyTorch."""
    harness = (checkout / "harnesses" / f"{path}_test.py").read_text()
    before = [
        ast.unparse(node)
        for node in ast.parse(harness).body
        if _is_import(node) or (isinstance(node, ast.FunctionDef) and _is_helper(node))
    ]
    return "\n".join([*before, (checkout / "sols" / f"{path}_ref.py").read_text()])


def _is_import(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not (node.module or "").startswith(("torch", "scipy"))
    return isinstance(node, ast.Import) and not node.names[0].name.startswith("torch")


def _is_helper(node: ast.FunctionDef) -> bool:
    return not node.decorator_list and node.name in ("div_ceil", "normalize_dim", "n_elts")


def case_of(checkout: Path, public: Public) -> Case:
    return Case(
        public.path, whole_text(checkout, public.path), ENTRY, public.shapes,
        tuple(place in public.positive for place in range(len(public.shapes))),
        public.rtol, public.atol, public.host,
    )  # fmt: skip


def agrees(runner: Runner, case: Case, reference: Reference) -> str:
    """Empty, or why the unchanged kernel cannot serve: its faults, or its distance from fp64."""
    inputs = inputs_of(case, "normal", 1)
    for reverse in (False, True):
        got = runner.run(runner.load(case), inputs, reverse)
        if got.outputs is None or got.faults:
            return f"faults {' '.join(got.faults)}"
        want = reference(*(np.asarray(x, dtype=np.float64) for x in inputs))
        outputs: Arrays = list(want) if isinstance(want, tuple) else [want]
        if differs(got.outputs, outputs, case.rtol, case.atol):
            pairs = zip(got.outputs, outputs, strict=False)
            most = max(float(np.max(np.abs(g - w))) if g.shape == w.shape else -1 for g, w in pairs)
            return f"differs from the reference by {most:.2g}"
    return ""


# --- counts --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count:
    """Equal mutants of one kernel: of one kind of fault, found in the same ways."""

    kernel: str
    kind: str
    changes_results: bool
    found_by: str
    count: int


def counts(found: Sequence[Mutant]) -> list[Count]:
    groups = Counter((m.kernel, m.kind, m.changes_results, m.found_by) for m in found)
    return [Count(*group, n) for group, n in groups.items()]


def as_mutants(stored: Sequence[Count]) -> Iterator[Mutant]:
    for c in stored:
        for _ in range(c.count):
            yield Mutant(c.kernel, c.kind, 0, "", c.changes_results, c.found_by, "")


def run(checkout: Path, most: int, wanted: str) -> Iterator[Mutant]:
    for public in KERNELS:
        if wanted not in public.path:
            continue
        case = case_of(checkout, public)
        why = agrees(Runner(), case, public.reference)
        if why:
            print(f"left out: {public.path}: {why}", file=sys.stderr)
            continue
        for mutant in mutants([case], most):
            if mutant.changes_results and not mutant.found_by:
                print(f"not found: {mutant}", file=sys.stderr)
            yield mutant


def main(argv: Sequence[str]) -> None:
    if argv[:1] == ["run"] and len(argv) > 1:
        most = int(argv[2]) if len(argv) > 2 else 12
        found = list(run(Path(argv[1]), most, argv[3] if len(argv) > 3 else ""))
        print(one_a_line(counts(found)))
    elif argv[:1] == ["table"]:
        stored = [Count(**c) for c in json.loads(STORED.read_text())]
        print(table(list(as_mutants(stored))))
    else:
        print(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
