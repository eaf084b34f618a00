"""Calls liger-kernel's operations, forward and backward, to be run under ``tilewright capture``.

PYTHONPATH=build/corpora tilewright capture --writes -- python tests/corpora/drive_liger.py
"""

from collections.abc import Callable
from typing import Any

import liger_kernel.ops as ops
import torch
from drives import Drive, drive

Operation = Callable[[Drive], Any]


def _rows(d: Drive, hidden: int = 1024) -> Any:
    return d.floats(2, 64 if d.interpreted else 512, hidden, grad=True)


def _logits(d: Drive, vocabulary: int = 4096) -> tuple[Any, Any]:
    tokens = 16 if d.interpreted else 512
    return d.floats(tokens, vocabulary, grad=True), d.integers(vocabulary, tokens)


def _ce(d: Drive, **options: Any) -> Any:
    logits, target = _logits(d)
    names = ("weight", "ignore_index", "lse_square_scale", "label_smoothing", "reduction")
    names += ("softcap", "return_z_loss", "return_token_accuracy", "return_predicted_tokens")
    default = (None, -100, 0.0, 0.0, "mean", None, False, False, False)
    given = {**dict(zip(names, default, strict=True)), **options}
    if given["weight"]:
        given["weight"] = d.floats(logits.shape[1], dtype=torch.float32).abs()
    return ops.LigerCrossEntropyFunction.apply(logits, target, *given.values())[0]


def _linear(d: Drive, out: int = 2048) -> tuple[Any, Any, Any]:
    tokens, hidden = (16, 128) if d.interpreted else (256, 512)
    x, weight = d.floats(tokens, hidden, grad=True), d.floats(out, hidden, grad=True)
    return x, weight, d.integers(out, tokens)


def _heads(d: Drive, size: int = 64) -> tuple[Any, Any, Any, Any]:
    length = 16 if d.interpreted else 256
    q, k = d.floats(2, 8, length, size, grad=True), d.floats(2, 4, length, size, grad=True)
    return q, k, d.floats(1, length, size), d.floats(1, length, size)


def _probabilities(d: Drive) -> Any:
    tokens = 16 if d.interpreted else 256
    return d.floats(tokens, 4096).softmax(-1)


def _mrope(d: Drive) -> Any:
    q, k, _, _ = _heads(d)
    length = q.shape[2]
    cos, sin = d.floats(3, 2, length, 64), d.floats(3, 2, length, 64)
    return ops.LigerQwen2VLMRopeFunction.apply(q, k, cos, sin, [8, 12, 12], 1)


def _llama4(d: Drive) -> Any:
    length = 16 if d.interpreted else 256
    q, k = d.floats(2, length, 8, 64, grad=True), d.floats(2, length, 4, 64, grad=True)
    angles = d.on(torch.polar(torch.ones(length, 32), torch.randn(length, 32)))
    return ops.LigerLlama4RopeFunction.apply(q, k, angles)


def _grpo(d: Drive, loss_type: str = "grpo") -> Any:
    from liger_kernel.transformers.grpo_loss import triton_grpo_loss

    batch, length, vocabulary = 2, 8 if d.interpreted else 128, 2048
    logits = d.floats(batch, length + 1, vocabulary, grad=True)
    ids = d.integers(vocabulary, batch, length)
    old = d.floats(batch, length, dtype=torch.float32)
    mask = d.on(torch.ones(batch, length, dtype=torch.int64))
    advantages = d.floats(batch, dtype=torch.float32)
    return triton_grpo_loss(
        logits, old, old, ids, advantages, mask, 0.9, 0.04, 0.2, 0.4, False, loss_type
    )


def _moe(d: Drive) -> Any:
    tokens, hidden, inner, experts, top = (16, 64, 64, 4, 2) if d.interpreted else (
        256, 256, 256, 8, 2
    )  # fmt: skip
    x = d.floats(tokens, hidden, grad=True)
    gate = d.floats(experts, 2 * inner, hidden, grad=True)
    down = d.floats(experts, hidden, inner, grad=True)
    scores = d.floats(tokens, experts).softmax(-1)
    weights, index = scores.topk(top, dim=-1)
    return ops.LigerFusedMoEFunction.apply(x, gate, down, index.to(torch.int32), weights)


def _mhc(d: Drive) -> Any:
    tokens, streams, width = 16 if d.interpreted else 128, 4, 256
    x = d.floats(1, tokens, streams, width, dtype=torch.bfloat16, grad=True)
    size = streams * streams + 2 * streams
    phi = d.floats(streams * width, size, dtype=torch.bfloat16, grad=True)
    b = d.floats(size, dtype=torch.float32, grad=True)
    alphas = [d.floats(1, dtype=torch.float32).reshape(()).requires_grad_() for _ in range(3)]
    pre, post, res = ops.LigerMHCCoeffsFunction.apply(
        x, phi, b, *alphas, False, 20, 1e-6, 0.0, 1e-6, 2.0
    )
    x_in = ops.LigerMHCPreFunction.apply(x, pre)
    return ops.LigerMHCPostResFunction.apply(x, x_in, post, res)


def _mlp(d: Drive) -> Any:
    x, gate, _ = _linear(d, 1024)
    up = d.floats(*gate.shape, grad=True)
    down = d.floats(gate.shape[1], gate.shape[0], grad=True)
    half = [t.detach().to(torch.bfloat16).requires_grad_() for t in (x, gate, up, down)]
    return ops.LigerMLPFunction.apply(*half, 1.0, 1.0)


def _weight(d: Drive, size: int = 1024) -> Any:
    return d.floats(size, grad=True)


def _norm(mode: str, row_mode: bool | None = None, in_place: bool = False) -> Operation:
    def run(d: Drive) -> Any:
        rows, weight = _rows(d), _weight(d)
        return ops.LigerRMSNormFunction.apply(rows * 1, weight, 1e-6, 0.0, mode, in_place, row_mode)

    return run


def _attention(d: Drive) -> Any:
    size = 32 if d.interpreted else 128
    q, k, v = (d.floats(1, 2, size, 64, grad=True) for _ in range(3))
    return ops.LigerFusedNeighborhoodAttentionFunction.apply(q, k, v, 7, 1, None)


def _multi_token(sparse: bool) -> Operation:
    def run(d: Drive) -> Any:
        scores = d.floats(1, 2, 64, 64, grad=True)
        weight, bias = d.floats(2, 2, 3, 3, grad=True), d.floats(2, grad=True)
        return ops.LigerMultiTokenAttentionFunction.apply(scores, weight, bias, 1, 1, 1, 1, sparse)

    return run


def _group_norm(d: Drive) -> Any:
    x = d.floats(2, 32, 16, 16, grad=True)
    return ops.LigerGroupNormFunction.apply(x, _weight(d, 32), _weight(d, 32), 32, 8, 1e-6)


def _vector_pair(d: Drive) -> tuple[Any, Any]:
    return _rows(d), _rows(d)


def _labels(d: Drive) -> Any:
    return d.integers(4096, 16 if d.interpreted else 256)


OPERATIONS: dict[str, Operation] = {
    "cross_entropy": _ce,
    "cross_entropy.smooth": lambda d: _ce(d, label_smoothing=0.1, lse_square_scale=1e-4),
    "cross_entropy.weight": lambda d: _ce(d, weight=True, softcap=30.0),
    "cross_entropy.told": lambda d: _ce(
        d, reduction="sum", return_z_loss=True, return_token_accuracy=True,
        return_predicted_tokens=True, lse_square_scale=1e-4,
    ),
    "cross_entropy.none": lambda d: _ce(d, reduction="none"),
    "attn_res": lambda d: ops.LigerAttnResFunction.apply(
        d.floats(4, 2, 16 if d.interpreted else 128, 256, grad=True), _weight(d, 256),
        _weight(d, 256), 1e-6,
    ),
    "dyt": lambda d: ops.LigerDyTFunction.apply(
        _rows(d), d.floats(1, grad=True), _weight(d), _weight(d)
    ),
    "embedding": lambda d: ops.LigerEmbeddingFunction.apply(
        d.floats(1024, 256, grad=True), d.integers(1024, 4, 32)
    ),
    "fused_add_rms_norm": lambda d: ops.LigerFusedAddRMSNormFunction.apply(
        *_vector_pair(d), _weight(d), 1e-6, 0.0, "llama", False
    ),
    "fused_add_rms_norm.gemma": lambda d: ops.LigerFusedAddRMSNormFunction.apply(
        *_vector_pair(d), _weight(d), 1e-6, 1.0, "gemma", False
    ),
    "fused_ce_tvd": lambda d: ops.LigerFusedCETVDFunction.apply(
        _logits(d)[0], _logits(d)[0].detach(), _logits(d)[1], -100
    ),
    "fused_linear_cross_entropy": lambda d: ops.LigerFusedLinearCrossEntropyFunction.apply(
        *_linear(d)
    )[0],
    "fused_linear_jsd": lambda d: ops.LigerFusedLinearJSDFunction.apply(
        *_linear(d)[:2], *(t.detach() for t in _linear(d)[:2]), None, 0.5, -100, 1.0, None
    ),
    "fused_linear_kl_div": lambda d: ops.LigerFusedLinearKLDivFunction.apply(
        *_linear(d)[:2], d.floats(_linear(d)[0].shape[0], 2048).softmax(-1), None, "batchmean"
    ),
    "fused_linear_scaled_cross_entropy":
        lambda d: ops.LigerFusedLinearScaledCrossEntropyFunction.apply(
            *_linear(d), 1.0, -100, 1, False
        ),
    "fused_moe": _moe,
    "swiglu_fused_gate_up": lambda d: ops.LigerFusedGateUpSiLUMulFunction.apply(
        d.floats(256, 1024, grad=True), False
    ),
    "fused_neighborhood_attention": _attention,
    "geglu": lambda d: ops.LigerGELUMulFunction.apply(*_vector_pair(d)),
    "group_norm": _group_norm,
    "grpo_loss": _grpo,
    "grpo_loss.dapo": lambda d: _grpo(d, "dapo"),
    "jsd": lambda d: ops.LigerJSDFunction.apply(
        _logits(d)[0].log_softmax(-1), _logits(d)[0].detach().log_softmax(-1), None, 0.5, -100
    ),
    "jsd.labels": lambda d: ops.LigerJSDFunction.apply(
        *(_logits(d)[0].detach().log_softmax(-1).requires_grad_(g) for g in (True, False)),
        _logits(d)[1], 0.1, -100,
    ),
    "kl_div": lambda d: ops.LigerKLDivLossFunction.apply(
        _probabilities(d).log().requires_grad_(), _probabilities(d), "batchmean", False, 1e-10
    ),
    "kl_div.none": lambda d: ops.LigerKLDivLossFunction.apply(
        _probabilities(d).log().requires_grad_(), _probabilities(d).log(), "none", True, 1e-10
    ),
    "layer_norm": lambda d: ops.LigerLayerNormFunction.apply(
        _rows(d), _weight(d), _weight(d), 1e-5
    ),
    "llama4_rope": _llama4,
    "mhc": _mhc,
    "mlp": _mlp,
    "modulated_rms_norm": lambda d: ops.LigerModulatedRMSNormFunction.apply(
        _rows(d), _weight(d), d.floats(2, 1, 1024, grad=True), d.floats(2, 1, 1024, grad=True),
        1e-6, 0.0, "llama", False,
    ),
    "multi_token_attention": _multi_token(sparse=False),
    "multi_token_attention.sparse": _multi_token(sparse=True),
    "poly_norm": lambda d: ops.LigerPolyNormFunction.apply(
        _rows(d), _weight(d, 3), d.floats(1).reshape(()).requires_grad_(), 1e-6, False
    ),
    "qwen2vl_mrope": _mrope,
    "relu_squared": lambda d: ops.LigerReLUSquaredFunction.apply(_rows(d)),
    "rms_norm.llama": _norm("llama"),
    "rms_norm.gemma": _norm("gemma"),
    "rms_norm.none": _norm("none", row_mode=True),
    "rms_norm.blocks": lambda d: ops.LigerRMSNormFunction.apply(
        d.floats(4096 * 8, 128, grad=True) * 1, _weight(d, 128), 1e-6, 0.0, "llama", False, None
    ) if not d.interpreted else None,
    "rms_norm.in_place": _norm("llama", in_place=True),
    "rope": lambda d: ops.LigerRopeFunction.apply(*_heads(d)),
    "swiglu": lambda d: ops.LigerSiLUMulFunction.apply(*_vector_pair(d), 1.0, 1.0),
    "softmax": lambda d: ops.LigerSoftmaxFunction.apply(_rows(d)),
    "sparsemax": lambda d: ops.LigerSparsemaxFunction.apply(_rows(d, 512), -1),
    "tvd": lambda d: ops.LigerTVDLossFunction.apply(
        _probabilities(d).requires_grad_(), _probabilities(d), None, "batchmean", -100
    ),
    "tvd.labels": lambda d: ops.LigerTVDLossFunction.apply(
        _probabilities(d).requires_grad_(), _probabilities(d), _labels(d), "none", -100
    ),
}  # fmt: skip


def main() -> None:
    d = drive(__doc__ or "", seconds=100)
    dtypes = (torch.float32,) if d.interpreted else (torch.bfloat16, torch.float32)
    for dtype in dtypes:
        d.dtypes = (dtype,)
        for name, operation in OPERATIONS.items():
            d.call(f"{name} {str(dtype).removeprefix('torch.')}", lambda o=operation: o(d))
    d.report()


if __name__ == "__main__":
    main()
