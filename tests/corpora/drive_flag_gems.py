"""Calls the operations that flag_gems takes over from torch, and a few fused ones of its own.

PYTHONPATH=build/corpora tilewright capture --writes -- python tests/corpora/drive_flag_gems.py

Needs a GPU: flag_gems looks for one when it is imported. Without one, ``--plain`` calls the same
operations as torch has them, to see that they are called rightly.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from drives import Drive, drive
from torch.nn import functional as F

Operation = Callable[[Drive], Any]
_SHAPE = (64, 1000)
_HALVES = (torch.float16, torch.bfloat16)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


UNARY = _words(
    "abs acos angle arcsinh atan ceil cos cosh erf exp exp2 expm1 log log10 logical_not isfinite "
    "isinf isnan isneginf neg reciprocal relu round rsqrt sigmoid signbit sin sqrt square tan tanh "
    "nan_to_num i0 abs_ asinh_ atan_ ceil_ cos_ digamma_ erf_ exp_ floor_ log1p_ neg_ relu_ sgn_ "
    "sigmoid_ sin_ sinh_ sqrt_ tanh_ zero_ normal_ uniform_ exponential_ t flip0 sum mean prod "
    "amax max min argmax argmin var std all any count_nonzero cumsum0 cumsum1 cummax0 cummin1 sort "
    "topk median nonzero unique triu tril isclose logit"
)
BINARY = _words(
    "add sub mul div floor_divide remainder pow maximum minimum atan2 copysign eq ne lt le gt ge "
    "hypot fmin logaddexp logical_and logical_or logical_xor allclose equal greater"
)
INTEGERS = _words(
    "bitwise_and bitwise_or bitwise_left_shift bitwise_right_shift add mul sub floor_divide "
    "remainder eq maximum"
)
ACTIVATIONS = _words(
    "celu elu gelu glu hardsigmoid hardswish leaky_relu logsigmoid relu6 selu silu softplus "
    "softshrink threshold softmax0 softmax1 log_softmax1 mish"
)


def _grad(d: Drive, *shape: int) -> Any:
    return d.floats(*(shape or _SHAPE), grad=True)


def _unary(name: str) -> Operation:
    special: dict[str, Operation] = {
        "flip0": lambda d: torch.flip(d.floats(*_SHAPE), (0,)),
        "t": lambda d: d.floats(*_SHAPE).t().contiguous(),
        "amax": lambda d: torch.amax(d.floats(*_SHAPE), 1),
        "topk": lambda d: torch.topk(d.floats(*_SHAPE), 8),
        "sort": lambda d: torch.sort(d.floats(*_SHAPE), dim=-1),
        "median": lambda d: torch.quantile(d.floats(16, 100).float(), 0.5, dim=1),
        "unique": lambda d: torch.unique(d.integers(50, 2000)),
        "isclose": lambda d: torch.isclose(d.floats(*_SHAPE), d.floats(*_SHAPE)),
        "angle": lambda d: torch.angle(d.floats(*_SHAPE)),
        "logit": lambda d: torch.logit(d.floats(*_SHAPE).sigmoid(), 1e-3),
        "nonzero": lambda d: torch.nonzero(d.floats(*_SHAPE) > 0),
        "any": lambda d: torch.any(d.floats(*_SHAPE) > 0, dim=1),
        "all": lambda d: torch.all(d.floats(*_SHAPE) > 0),
    }
    if name in special:
        return special[name]
    if name[:-1] in ("cumsum", "cummax", "cummin"):
        return lambda d: getattr(torch, name[:-1])(d.floats(*_SHAPE), dim=int(name[-1]))
    if name in ("sum", "mean", "prod", "max", "min", "var", "std", "argmax", "argmin"):
        return lambda d: [getattr(torch, name)(d.floats(*_SHAPE), *dim) for dim in ((), (1,), (0,))]
    if name.endswith("_"):
        return lambda d: getattr(d.floats(*_SHAPE), name)()
    return lambda d: getattr(torch, name)(d.floats(*_SHAPE))


def _binary(name: str) -> Operation:
    return lambda d: getattr(torch, name)(d.floats(*_SHAPE), d.floats(*_SHAPE))


def _integers(name: str) -> Operation:
    return lambda d: getattr(torch, name)(
        d.integers(7, *_SHAPE, low=1, dtype=torch.int32), d.integers(7, *_SHAPE, low=1).int()
    )


def _activation(name: str) -> Operation:
    if name[-1].isdigit() and name != "relu6":
        return lambda d: getattr(F, name[:-1])(_grad(d), dim=int(name[-1]))
    extra = (0.1, 20.0) if name == "threshold" else ()
    return lambda d: getattr(F, name)(_grad(d), *extra)


def _norm(name: str) -> Operation:
    def run(d: Drive) -> Any:
        x = _grad(d, 4, 32, 16, 16)
        weight, bias = _grad(d, 32), _grad(d, 32)
        if name == "batch_norm":
            mean, var = d.floats(32), d.floats(32).abs()
            return F.batch_norm(x, mean, var, weight, bias, training=True)
        if name == "group_norm":
            return F.group_norm(x, 8, weight, bias)
        if name == "rms_norm":
            return F.rms_norm(_grad(d), (1000,), _grad(d, 1000))
        return F.layer_norm(_grad(d), (1000,), _grad(d, 1000), _grad(d, 1000))

    return run


def _indices(d: Drive, *shape: int) -> Any:
    return d.integers(64, *shape)


MATRICES: dict[str, Operation] = {
    "mm": lambda d: torch.mm(_grad(d, 256, 512), _grad(d, 512, 128)),
    "mm.odd": lambda d: torch.mm(d.floats(127, 333), d.floats(333, 65)),
    "bmm": lambda d: torch.bmm(_grad(d, 4, 128, 64), _grad(d, 4, 64, 96)),
    "addmm": lambda d: torch.addmm(d.floats(128), d.floats(256, 512), d.floats(512, 128)),
    "baddbmm": lambda d: torch.baddbmm(
        d.floats(4, 64, 64), d.floats(4, 64, 32), d.floats(4, 32, 64)
    ),
    "addmv": lambda d: torch.addmv(d.floats(64), d.floats(64, 1000), d.floats(1000)),
    "mv": lambda d: torch.mv(d.floats(64, 1000), d.floats(1000)),
    "dot": lambda d: torch.dot(d.floats(4096), d.floats(4096)),
    "vdot": lambda d: torch.vdot(d.floats(4096), d.floats(4096)),
    "addr": lambda d: torch.addr(d.floats(64, 96), d.floats(64), d.floats(96)),
    "outer": lambda d: torch.outer(d.floats(64), d.floats(96)),
    "kron": lambda d: torch.kron(d.floats(8, 8), d.floats(16, 16)),
    "trace": lambda d: torch.trace(d.floats(64, 64)),
    "conv1d": lambda d: F.conv1d(d.floats(2, 8, 64), d.floats(16, 8, 3), padding=1),
    "conv2d": lambda d: F.conv2d(_grad(d, 2, 8, 32, 32), _grad(d, 16, 8, 3, 3), padding=1),
    "conv3d": lambda d: F.conv3d(d.floats(1, 4, 8, 8, 8), d.floats(8, 4, 3, 3, 3)),
    "conv_depthwise": lambda d: F.conv2d(
        d.floats(2, 8, 32, 32), d.floats(8, 1, 3, 3), padding=1, groups=8
    ),
    "sdpa": lambda d: F.scaled_dot_product_attention(
        *(d.floats(1, 4, 128, 64, grad=True) for _ in range(3)), is_causal=True
    ),
    "embedding": lambda d: F.embedding(_indices(d, 4, 32), _grad(d, 64, 128)),
}
LOSSES: dict[str, Operation] = {
    "cross_entropy": lambda d: F.cross_entropy(_grad(d), d.integers(1000, 64)),
    "nll_loss": lambda d: F.nll_loss(_grad(d), d.integers(1000, 64)),
    "nll_loss2d": lambda d: F.nll_loss(_grad(d, 2, 16, 8, 8), d.integers(16, 2, 8, 8)),
    "mse_loss": lambda d: F.mse_loss(d.floats(*_SHAPE), d.floats(*_SHAPE)),
    "margin_ranking_loss": lambda d: F.margin_ranking_loss(
        d.floats(1000), d.floats(1000), d.floats(1000).sign()
    ),
    "soft_margin_loss": lambda d: F.soft_margin_loss(d.floats(*_SHAPE), d.floats(*_SHAPE).sign()),
    "dropout": lambda d: F.dropout(_grad(d), 0.3, training=True),
    "prelu": lambda d: F.prelu(d.floats(4, 8, 100), d.floats(8)),
    "vector_norm": lambda d: torch.linalg.vector_norm(d.floats(*_SHAPE), 2, dim=1),
    "weight_norm": lambda d: torch._weight_norm(d.floats(64, 128), d.floats(64, 1), 0),
}
SHAPING: dict[str, Operation] = {
    "cat": lambda d: torch.cat([d.floats(*_SHAPE), d.floats(*_SHAPE)], 1),
    "stack": lambda d: torch.stack([d.floats(*_SHAPE), d.floats(*_SHAPE)]),
    "hstack": lambda d: torch.hstack([d.floats(*_SHAPE), d.floats(*_SHAPE)]),
    "vstack": lambda d: torch.vstack([d.floats(*_SHAPE), d.floats(*_SHAPE)]),
    "repeat": lambda d: d.floats(64, 100).repeat(2, 3),
    "repeat_interleave": lambda d: torch.repeat_interleave(d.floats(64, 100), 3, dim=0),
    "tile": lambda d: torch.tile(d.floats(64, 100), (2, 2)),
    "roll": lambda d: torch.roll(d.floats(*_SHAPE), 7, 1),
    "pad": lambda d: F.pad(d.floats(*_SHAPE), (3, 5)),
    "reflection_pad1d": lambda d: F.pad(d.floats(2, 4, 100), (3, 5), mode="reflect"),
    "reflection_pad2d": lambda d: F.pad(d.floats(2, 4, 32, 32), (1, 2, 3, 4), mode="reflect"),
    "replication_pad1d": lambda d: F.pad(d.floats(2, 4, 100), (3, 5), mode="replicate"),
    "pixel_unshuffle": lambda d: F.pixel_unshuffle(d.floats(2, 4, 32, 32), 2),
    "diag": lambda d: torch.diag(d.floats(64)),
    "diag_embed": lambda d: torch.diag_embed(d.floats(8, 64)),
    "index_select": lambda d: torch.index_select(d.floats(*_SHAPE), 0, _indices(d, 32)),
    "index": lambda d: d.floats(*_SHAPE)[_indices(d, 32)],
    "index_add": lambda d: torch.index_add(
        d.floats(*_SHAPE), 0, _indices(d, 32), d.floats(32, 1000)
    ),
    "index_put": lambda d: d.floats(*_SHAPE).index_put_((_indices(d, 32),), d.floats(32, 1000)),
    "gather": lambda d: torch.gather(_grad(d), 0, _indices(d, 16, 1000)),
    "scatter": lambda d: torch.scatter(
        d.floats(*_SHAPE), 0, _indices(d, 16, 1000), d.floats(16, 1000)
    ),
    "scatter_add_": lambda d: d.floats(*_SHAPE).scatter_add_(
        0, _indices(d, 16, 1000), d.floats(16, 1000)
    ),
    "select_scatter": lambda d: torch.select_scatter(d.floats(*_SHAPE), d.floats(1000), 0, 3),
    "slice_scatter": lambda d: torch.slice_scatter(d.floats(*_SHAPE), d.floats(8, 1000), 0, 0, 8),
    "masked_fill": lambda d: d.floats(*_SHAPE).masked_fill(d.floats(*_SHAPE) > 0, 0.5),
    "masked_select": lambda d: torch.masked_select(d.floats(*_SHAPE), d.floats(*_SHAPE) > 0),
    "masked_scatter": lambda d: d.floats(*_SHAPE).masked_scatter(
        d.floats(*_SHAPE) > 0, d.floats(*_SHAPE)
    ),
    "where": lambda d: torch.where(d.floats(*_SHAPE) > 0, d.floats(*_SHAPE), d.floats(*_SHAPE)),
    "isin": lambda d: torch.isin(_indices(d, 1000), _indices(d, 10)),
    "one_hot": lambda d: F.one_hot(_indices(d, 100), 64),
    "bincount": lambda d: torch.bincount(_indices(d, 1000)),
    "unique_consecutive": lambda d: torch.unique_consecutive(_indices(d, 1000).sort().values),
    "copy_": lambda d: d.floats(*_SHAPE).half().copy_(d.floats(*_SHAPE)),
    "to": lambda d: d.floats(*_SHAPE).to(torch.int32),
}
MAKING: dict[str, Operation] = {
    "arange": lambda d: torch.arange(1000, device=d.device),
    "linspace": lambda d: torch.linspace(0, 1, 1000, device=d.device),
    "logspace": lambda d: torch.logspace(0, 1, 100, device=d.device),
    "eye": lambda d: torch.eye(64, device=d.device),
    "full": lambda d: torch.full(_SHAPE, 2.5, device=d.device),
    "full_like": lambda d: torch.full_like(d.floats(*_SHAPE), 2.5),
    "ones": lambda d: torch.ones(_SHAPE, device=d.device),
    "zeros": lambda d: torch.zeros(_SHAPE, device=d.device),
    "rand": lambda d: torch.rand(_SHAPE, device=d.device),
    "randn": lambda d: torch.randn(_SHAPE, device=d.device),
    "randperm": lambda d: torch.randperm(1000, device=d.device),
    "fill_": lambda d: d.floats(*_SHAPE).fill_(3.0),
    "clamp": lambda d: torch.clamp(d.floats(*_SHAPE), -0.5, 0.5),
    "clamp.tensor": lambda d: torch.clamp(d.floats(*_SHAPE), d.floats(*_SHAPE), d.floats(*_SHAPE)),
    "lerp": lambda d: torch.lerp(d.floats(*_SHAPE), d.floats(*_SHAPE), 0.3),
    "addcmul": lambda d: torch.addcmul(*(d.floats(*_SHAPE) for _ in range(3))),
    "addcdiv": lambda d: torch.addcdiv(
        d.floats(*_SHAPE), d.floats(*_SHAPE), d.floats(*_SHAPE).abs() + 1
    ),
    "add.scalar": lambda d: torch.add(d.floats(*_SHAPE), 2.0, alpha=0.5),
    "mul.broadcast": lambda d: torch.mul(d.floats(*_SHAPE), d.floats(1000)),
    "mul.strided": lambda d: torch.mul(d.floats(1000, 64).t(), d.floats(*_SHAPE)),
    "pow.scalar": lambda d: torch.pow(d.floats(*_SHAPE), 3),
    "polar": lambda d: torch.polar(d.floats(*_SHAPE).float().abs(), d.floats(*_SHAPE).float()),
    "multinomial": lambda d: torch.multinomial(d.floats(8, 100).softmax(-1), 4),
    "max_pool2d": lambda d: F.max_pool2d(_grad(d, 2, 8, 32, 32), 2),
    "avg_pool2d": lambda d: F.avg_pool2d(_grad(d, 2, 8, 32, 32), 2),
    "upsample_nearest2d": lambda d: F.interpolate(d.floats(2, 4, 16, 16), scale_factor=2),
    "upsample_nearest1d": lambda d: F.interpolate(d.floats(2, 4, 16), scale_factor=2),
    "upsample_nearest3d": lambda d: F.interpolate(d.floats(1, 2, 8, 8, 8), scale_factor=2),
    "upsample_linear1d": lambda d: F.interpolate(d.floats(2, 4, 16), scale_factor=2, mode="linear"),
    "upsample_bicubic2d": lambda d: F.interpolate(
        d.floats(2, 4, 16, 16), scale_factor=2, mode="bicubic"
    ),
    "upsample_bicubic2d_aa": lambda d: F.interpolate(
        d.floats(2, 4, 16, 16), scale_factor=0.5, mode="bicubic", antialias=True
    ),
}


def _gems() -> Any:
    import flag_gems

    return flag_gems


FUSED: dict[str, Operation] = {
    "silu_and_mul": lambda d: _gems().silu_and_mul(_grad(d), _grad(d)),
    "gelu_and_mul": lambda d: _gems().gelu_and_mul(_grad(d), _grad(d), "none"),
    "gelu_and_mul.tanh": lambda d: _gems().gelu_and_mul(
        _grad(d), _grad(d), "tanh"
    ),
    "geglu": lambda d: _gems().geglu(d.floats(64, 1024)),
    "reglu": lambda d: _gems().reglu(d.floats(64, 1024)),
    "swiglu": lambda d: _gems().swiglu(d.floats(64, 1024)),
    "skip_layer_norm": lambda d: _gems().skip_layer_norm(
        d.floats(*_SHAPE), d.floats(*_SHAPE), (1000,), d.floats(1000), d.floats(1000)
    ),
    "fused_add_rms_norm": lambda d: _gems().fused_add_rms_norm(
        d.floats(*_SHAPE), d.floats(*_SHAPE), (1000,), d.floats(1000)
    ),
    "rms_norm": lambda d: _gems().rms_norm(_grad(d), (1000,), _grad(d, 1000)),
    "outer": lambda d: _gems().outer(_grad(d, 64), _grad(d, 96)),
    "instance_norm": lambda d: _gems().instance_norm(
        _grad(d, 4, 8, 100), _grad(d, 8), _grad(d, 8)
    ),
    "weight_norm": lambda d: _gems().weight_norm(_grad(d, 64, 128), _grad(d, 64, 1), 0),
    "cross_entropy_loss": lambda d: _gems().cross_entropy_loss(_grad(d), d.integers(1000, 64)),
    "topk_softmax": lambda d: _gems().topk_softmax(
        d.floats(64, 2, dtype=torch.float32), _indices(d, 64, 2).int(), _indices(d, 64, 2).int(),
        d.floats(64, 8, dtype=torch.float32),
    ),
    "apply_rotary_pos_emb": lambda d: _gems().apply_rotary_pos_emb(
        d.floats(2, 64, 8, 64), d.floats(2, 64, 4, 64), d.floats(64, 32), d.floats(64, 32)
    ),
    "moe_sum": lambda d: _gems().moe_sum(d.floats(64, 2, 128), d.floats(64, 128)),
    "reshape_and_cache_flash": lambda d: _gems().reshape_and_cache_flash(
        d.floats(16, 4, 64), d.floats(16, 4, 64), d.floats(8, 16, 4, 64), d.floats(8, 16, 4, 64),
        d.integers(128, 16), "auto", d.floats(1).abs().float(), d.floats(1).abs().float(),
    ),
}  # fmt: skip


def _all() -> Iterator[tuple[str, Operation, tuple[torch.dtype, ...]]]:
    """(name, operation, element types), the most telling first."""
    full, half, few = (torch.float32,), (torch.float16,), (torch.float32, torch.bfloat16)
    named = [(MATRICES, (torch.float16, torch.float32)), (FUSED, few), (LOSSES, few)]
    for table, dtypes in [*named, (SHAPING, full), (MAKING, full)]:
        for name, operation in table.items():
            yield name, operation, dtypes
    for name in ("layer_norm", "group_norm", "batch_norm", "rms_norm"):
        yield name, _norm(name), few
    for name in ACTIVATIONS:
        yield name, _activation(name), few
    for name in UNARY:
        yield name, _unary(name), full
    for name in BINARY:
        yield name, _binary(name), few
    for name in INTEGERS:
        yield f"{name}.int", _integers(name), full
    for name in ("relu", "exp", "tanh", "sum", "softmax"):
        yield f"{name}.half", _unary(name) if name != "softmax" else _activation("softmax1"), half


def main() -> None:
    plain = "--plain" in sys.argv and bool(sys.argv.remove("--plain") or True)
    d = drive(__doc__ or "", seconds=130)
    surroundings = contextlib.nullcontext() if plain else _gems().use_gems()
    with surroundings:
        for name, operation, dtypes in _all():
            if plain and operation in FUSED.values():
                continue
            for dtype in dtypes:
                d.dtypes = (dtype,)
                d.call(f"{name} {str(dtype).removeprefix('torch.')}", lambda o=operation: o(d))
    d.report()


if __name__ == "__main__":
    main()
