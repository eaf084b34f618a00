"""Known operators as torch computes them: every usual reading of each, in float64.

A reading that a result agrees with is the one that was meant; only a result that agrees with none
is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional

Values = dict[str, Any]
Reading = tuple[str, torch.Tensor]
_EPSILONS = (0.0, 1e-6, 1e-5)
_BROADCAST = ("weight", "bias")
_LN2 = math.log(2.0)


def readings(operator: str, values: Values) -> Iterator[Reading]:
    """(the reading's name, its result) for each reading of an operator that fits the values.

    Args:
        values: arguments by role; tensors in float64, or whole numbers.
    """
    for name, compute in _READINGS[operator]:
        try:
            yield from ((f"torch.{name}", one) for one in compute(values))
        except (RuntimeError, IndexError, ValueError, TypeError):
            continue  # this reading does not fit the shapes


def _unary(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Values], list[Any]]:
    return lambda v: [function(v["x"])]


def _axes(function: Callable[[torch.Tensor, int], torch.Tensor]) -> Callable[[Values], list[Any]]:
    """Along the axis that is given, else along each."""

    def results(v: Values) -> list[Any]:
        x = v["x"]
        given = v.get("dim")
        axes = [given] if isinstance(given, int) else [*range(x.ndim - 1, -1, -1)]
        return [function(x, axis) for axis in axes]

    return results


def _reduced(
    function: Callable[..., torch.Tensor],
) -> Callable[[Values], list[Any]]:
    """Along the axis that is given, else along each and along all, with and without the axis."""

    def results(v: Values) -> list[Any]:
        x = v["x"]
        given = v.get("dim")
        given_axes = [given] if isinstance(given, int) else [*range(x.ndim)]
        axes: list[tuple[int, ...]] = [*((n,) for n in given_axes), tuple(range(x.ndim))]
        found = []
        for axis in axes:
            kept = function(x, axis)
            found += [kept, kept.squeeze(axis), kept.reshape(1)] if kept.numel() == 1 else [
                kept, kept.squeeze(axis)
            ]  # fmt: skip
        return found

    return results


def _largest_at(v: Values) -> list[Any]:
    return [v["x"].argmax(n) for n in _wanted_axes(v)] + [v["x"].argmax()]


def _wanted_axes(v: Values) -> list[int]:
    given = v.get("dim")
    return [given] if isinstance(given, int) else [*range(v["x"].ndim)]


def _scaled(y: torch.Tensor, v: Values) -> Iterator[torch.Tensor]:
    """With weight and bias, where given, and with a weight counted from one."""
    for shift in (0.0, 1.0) if "weight" in v else (0.0,):
        out = y * (v["weight"] + shift) if "weight" in v else y
        yield out + v["bias"] if "bias" in v else out


def _epsilons(v: Values) -> tuple[float, ...]:
    given = v.get("eps")
    return (float(given),) if isinstance(given, float | int) else _EPSILONS


def _rms_norm(v: Values) -> Iterator[torch.Tensor]:
    for eps in _epsilons(v):
        mean = v["x"].square().mean(-1, keepdim=True)
        for root in ((mean + eps).sqrt(), mean.sqrt() + eps):
            yield from _scaled(v["x"] / root, v)


def _layer_norm(v: Values) -> Iterator[torch.Tensor]:
    x = v["x"] - v["x"].mean(-1, keepdim=True)
    for eps in _epsilons(v):
        for unbiased in (False, True):
            spread = x.var(-1, keepdim=True, unbiased=unbiased)
            for root in ((spread + eps).sqrt(), spread.sqrt() + eps):
                yield from _scaled(x / root, v)


def _l2_norm(v: Values) -> Iterator[torch.Tensor]:
    for eps in _epsilons(v):
        total = v["x"].square().sum(-1, keepdim=True)
        yield v["x"] / (total + eps).sqrt()
        yield v["x"] / (total.sqrt() + eps)


def _gelu(v: Values) -> Iterator[torch.Tensor]:
    x = v["x"]
    yield functional.gelu(x)
    yield functional.gelu(x, approximate="tanh")
    yield x * torch.sigmoid(1.702 * x)


def _gated(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Values], list[Any]]:
    def both(v: Values) -> list[Any]:
        a, b = (v["x"], v["y"]) if "y" in v else v["x"].chunk(2, -1)
        found = [function(a) * b, a * function(b)]
        if "y" not in v:
            even, odd = v["x"][..., ::2], v["x"][..., 1::2]
            found += [function(even) * odd, even * function(odd)]
        return found

    return both


def _entropies(v: Values) -> Iterator[torch.Tensor]:
    """Of each row, their mean and their sum; also with the ignored label given."""
    given = v.get("ignore")
    ignored = given if isinstance(given, int) else -100
    for reduction in ("none", "mean", "sum"):
        one = functional.cross_entropy(
            v["x"], v["target"].long(), reduction=reduction, ignore_index=ignored
        )
        yield one
        yield one.reshape(1) if reduction != "none" else one.unsqueeze(-1)


def _products(v: Values) -> Iterator[torch.Tensor]:
    """A product with the second operand as it is or transposed, and what may be added to it."""
    for a in (v["x"], v["x"].mT):
        for b in (v["y"], v["y"].mT):
            if a.shape[-1] == b.shape[-2]:
                one = a @ b
                yield one + v["bias"] if "bias" in v else one


def _linear(v: Values) -> Iterator[torch.Tensor]:
    for weight in (v["y"], v["y"].mT):
        if v["x"].shape[-1] == weight.shape[-1]:
            one = v["x"] @ weight.mT
            yield one + v["bias"] if "bias" in v else one


def _attentions(v: Values) -> Iterator[torch.Tensor]:
    """By layout, scale, and with or without causality, of the first or of the last queries."""
    for heads_last in (False, True) if v["q"].ndim == 4 else (False,):
        q, k, w = (one.transpose(1, 2) if heads_last else one for one in (v["q"], v["k"], v["v"]))
        if q.ndim == 4 and k.shape[1] != q.shape[1] and q.shape[1] % k.shape[1] == 0:
            k, w = (one.repeat_interleave(q.shape[1] // k.shape[1], 1) for one in (k, w))
        scores = q @ k.mT
        given = v.get("scale")
        scales = [q.shape[-1] ** -0.5, 1.0]
        scales += [float(given), float(given) * _LN2] if isinstance(given, float | int) else []
        for scale in scales:
            for mask in _causal(*scores.shape[-2:]):
                masked = (scores * scale).masked_fill(~mask, float("-inf"))
                out = masked.softmax(-1) @ w
                yield out.transpose(1, 2) if heads_last else out


def _causal(m: int, n: int) -> Iterator[torch.Tensor]:
    whole = torch.ones(m, n, dtype=torch.bool)
    yield whole
    yield whole.tril()
    if m <= n:
        yield whole.tril(n - m)


def _threshold(v: Values) -> float:
    return float(v["limit"])


def _embedding(v: Values) -> list[Any]:
    return [v["table"][v["index"].long()]]


def _softcap(v: Values) -> list[Any]:
    return [_threshold(v) * torch.tanh(v["x"] / _threshold(v))]


def _hardshrink(v: Values) -> list[Any]:
    return [functional.hardshrink(v["x"], _threshold(v))]


def _cumulative(v: Values) -> list[Any]:
    return [
        one for n in _wanted_axes(v) for one in (v["x"].cumsum(n), v["x"].flip(n).cumsum(n).flip(n))
    ]


def _best(v: Values) -> list[Any]:
    return [v["x"].topk(int(v["k"]), -1).values]


def _binary(
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> Callable[[Values], list[Any]]:
    return lambda v: [function(v["x"], v["y"])]


_ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu": torch.relu, "silu": functional.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
    "softplus": functional.softplus, "exp": torch.exp, "mish": functional.mish,
    "relu6": functional.relu6, "hardswish": functional.hardswish, "selu": functional.selu,
}  # fmt: skip
_Readings = tuple[tuple[str, Callable[[Values], Any]], ...]
_NORMS: _Readings = (
    ("rms_norm", _rms_norm), ("layer_norm", _layer_norm), ("nn.functional.normalize", _l2_norm),
)  # fmt: skip
_READINGS: dict[str, _Readings] = {
    **{name: ((name, _unary(one)),) for name, one in _ACTIVATIONS.items()},
    "softmax": (("softmax", _axes(lambda x, n: x.softmax(n))),),
    "log_softmax": (("log_softmax", _axes(lambda x, n: x.log_softmax(n))),),
    "layer_norm": _NORMS[1:2],
    "rms_norm": _NORMS[:1],
    "l2_norm": _NORMS[2:],
    "any_norm": _NORMS,
    "gelu": (("nn.functional.gelu", _gelu),),
    "swiglu": (("nn.functional.silu", _gated(functional.silu)),),
    "geglu": (
        ("nn.functional.gelu", _gated(functional.gelu)),
        ("nn.functional.gelu", _gated(lambda x: functional.gelu(x, approximate="tanh"))),
    ),
    "cross_entropy": (("nn.functional.cross_entropy", _entropies),),
    "matmul": (("matmul", _products),),
    "linear": (("nn.functional.linear", _linear),),
    "attention": (("nn.functional.scaled_dot_product_attention", _attentions),),
    "embedding": (("nn.functional.embedding", _embedding),),
    "softcap": (("tanh", _softcap),),
    "hardshrink": (("nn.functional.hardshrink", _hardshrink),),
    "cumsum": (("cumsum", _cumulative),),
    "topk": (("topk", _best),),
    "transpose": (("transpose", lambda v: [v["x"].mT]),),
    "sum": (("sum", _reduced(lambda x, n: x.sum(n, keepdim=True))),),
    "mean": (("mean", _reduced(lambda x, n: x.mean(n, keepdim=True))),),
    "max": (("amax", _reduced(lambda x, n: x.amax(n, keepdim=True))),),
    "min": (("amin", _reduced(lambda x, n: x.amin(n, keepdim=True))),),
    "argmax": (("argmax", _largest_at),),
    "add": (("add", _binary(torch.add)),),
    "mul": (("mul", _binary(torch.mul)),),
    "sub": (("sub", _binary(torch.sub)),),
}
