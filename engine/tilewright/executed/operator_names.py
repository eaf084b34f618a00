"""The operator that a function is by its name and its parameters, where that leaves no doubt."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.executed.parameters import Kind, Parameter


@dataclass(frozen=True)
class Operator:
    """An operator that the worker can compute.

    Attributes:
        name: in ``worker/drafted/readings.py``.
        roles: which parameter has which role, by role.
        is_sure: the name alone states the operator; otherwise a call must agree with a reading of
            it before another one may differ.
    """

    name: str
    roles: Mapping[str, str]
    is_sure: bool = True


_AFFIXES = frozenset((
    "triton", "fused", "fast", "forward", "fwd", "fn", "func", "function", "kernel", "impl", "op",
    "launch", "call", "apply", "py", "tl", "my", "custom", "simple", "liger", "wrapper",
    "interface",
))  # fmt: skip
_TENSOR = (
    r"^(x|a|inp|input|inputs|src|logits|scores|hidden_states|self|t|tensor|in_tensor|data|X|A|S)$"
)
_OTHER = r"^(y|b|other|w|weight|B|mat2|up|Y|vec|right|inp2|input2|x2)$"
_WEIGHT = r"^(w|weight|gamma|g|scale|norm_weight|W|rms_w|ln_w)$"
_BIAS = r"^(b|bias|beta|B)$"
_EPS = r"^(eps|epsilon)$"
_DIM = r"^(dim|axis)$"
_LIMIT = r"^(cap|softcap|final_logit_softcapping|lambd|lambda_|threshold)$"
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OPERANDS = frozenset("xyqkv")
_OPTIONAL = frozenset(("weight", "bias", "eps", "dim", "scale", "ignore"))
_NORM = {"x": _TENSOR, "weight": _WEIGHT, "bias": _BIAS, "eps": _EPS}
_ALONE = {"x": _TENSOR}
_ALONG = {"x": _TENSOR, "dim": _DIM}
_PAIR = {
    "x": r"^(a|x|A|X|input|inp|mat1|left|lhs|x1|q)$",
    "y": r"^(b|y|w|B|Y|W|other|mat2|weight|right|rhs|x2|k)$",
}
_PRODUCT = {**_PAIR, "bias": r"^(bias|c)$"}
_GATE = {"x": r"^(x|a|gate|e|input|X|A|h|hidden)$", "y": r"^(y|b|up|g|B)$"}
_ATTENTION = {
    "q": r"^(q|query|Q)$", "k": r"^(k|key|K)$", "v": r"^(v|value|V)$",
    "scale": r"^(scale|sm_scale|softmax_scale)$",
}  # fmt: skip
_ENTROPY = {
    "x": r"^(x|logits|input|inp|pred|_input)$", "target": r"^(y|labels?|targets?)$",
    "ignore": r"^ignore_(index|idx)$",
}  # fmt: skip
_LOOKUP = {
    "table": r"^(weight|embeddings?|table|w)$", "index": r"^(ids|idx|index|indices|input_ids|x)$",
}  # fmt: skip
_SURE: dict[str, tuple[str, Mapping[str, str]]] = {
    **{
        name: (name, _ALONE)
        for name in ("relu", "silu", "sigmoid", "tanh", "softplus", "exp", "mish", "relu6",
                     "hardswish", "selu", "gelu", "transpose")
    },
    "swish": ("silu", _ALONE),
    **{name: (name, _ALONG) for name in ("softmax", "log_softmax", "cumsum", "sum", "mean", "max",
                                         "min", "argmax")},
    "amax": ("max", _ALONG), "amin": ("min", _ALONG), "logsoftmax": ("log_softmax", _ALONG),
    "layer_norm": ("layer_norm", _NORM), "layernorm": ("layer_norm", _NORM),
    "rms_norm": ("rms_norm", _NORM), "rmsnorm": ("rms_norm", _NORM),
    "l2norm": ("l2_norm", _NORM), "l2_norm": ("l2_norm", _NORM),
    "swiglu": ("swiglu", _GATE), "silu_and_mul": ("swiglu", _GATE), "silu_mul": ("swiglu", _GATE),
    "geglu": ("geglu", _GATE), "gelu_and_mul": ("geglu", _GATE),
    "cross_entropy": ("cross_entropy", _ENTROPY), "cross_entropy_loss": ("cross_entropy", _ENTROPY),
    "mean_cross_entropy": ("cross_entropy", _ENTROPY),
    **dict.fromkeys(
        ("matmul", "mm", "bmm", "gemm", "matrix_multiply", "batched_matmul"), ("matmul", _PRODUCT)
    ),
    "linear": ("linear", {"x": _PAIR["x"], "y": r"^(w|weight|W)$", "bias": _BIAS}),
    "attention": ("attention", _ATTENTION), "flash_attention": ("attention", _ATTENTION),
    "sdpa": ("attention", _ATTENTION), "scaled_dot_product_attention": ("attention", _ATTENTION),
    "flash_attn": ("attention", _ATTENTION),
    "embedding": ("embedding", _LOOKUP),
    "softcap": ("softcap", {"x": _TENSOR, "limit": _LIMIT}),
    "hardshrink": ("hardshrink", {"x": _TENSOR, "limit": _LIMIT}),
    "topk": ("topk", {"x": _TENSOR, "k": r"^(k|top_k|topk)$"}),
    **{name: (name, _PAIR) for name in ("add", "mul", "sub")},
    "vector_add": ("add", _PAIR), "vec_add": ("add", _PAIR), "multiply": ("mul", _PAIR),
}  # fmt: skip
_UNSURE: dict[str, tuple[str, Mapping[str, str]]] = {
    "norm": ("any_norm", _NORM), "rms": ("rms_norm", _NORM), "normed": ("any_norm", _NORM),
    "attend": ("attention", _ATTENTION), "product": ("matmul", _PRODUCT),
    "total": ("sum", _ALONG), "sums": ("sum", _ALONG), "row_sums": ("sum", _ALONG),
    "row_sum": ("sum", _ALONG), "means": ("mean", _ALONG), "top": ("max", _ALONG),
    "transposed": ("transpose", _ALONE), "normalize": ("any_norm", _NORM),
    "soft_max": ("softmax", _ALONG), "embed": ("embedding", _LOOKUP),
}  # fmt: skip


def operator_of(function: str, parameters: Sequence[Parameter]) -> Operator | None:
    """The operator of a function; None where its name or a parameter is another one.

    Every parameter that a call must give has a role; those with a default are left out.
    """
    for name in (bare_name(function), bare_name(function, keep="")):
        for table, is_sure in ((_SURE, True), (_UNSURE, False)):
            if name in table:
                operator, wanted = table[name]
                roles = _roles(parameters, wanted)
                return Operator(operator, roles, is_sure) if roles is not None else None
    return None


def bare_name(function: str, keep: str = "fused") -> str:
    """The name of a function without words that say nothing of the operator."""
    name = _HUMP.sub("_", function.removesuffix(".apply")).lower()
    return "_".join(w for w in name.split("_") if w and (w not in _AFFIXES or w == keep))


def _roles(parameters: Sequence[Parameter], wanted: Mapping[str, str]) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for parameter in parameters:
        if parameter.has_default:
            continue
        fitting = (r for r, names in wanted.items() if re.search(names, parameter.name))
        role = next((r for r in fitting if r not in found), None)
        if role is None or (role in _OPERANDS and parameter.kind is not Kind.TENSOR):
            return None
        found[role] = parameter.name
    needed = set(wanted) - _OPTIONAL - ({"y"} if wanted is _GATE else set())
    return found if needed <= set(found) else None
