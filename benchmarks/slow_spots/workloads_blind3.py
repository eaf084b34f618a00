"""Inputs for the slow cases of ``tests/realbugs/blind3``; for sizes see ``workloads_open``."""

from __future__ import annotations

from typing import Any

from workload import Workload, calls, new_sizes


def _decoded(t: Any, B: int, H: int, D: int, pages: int) -> dict[str, Any]:
    """Keys of one step, and a cache of so many pages of 64 for each sequence."""
    return {
        "k": t.randn(B, H, D), "cos": t.randn(B, D // 2).cos(), "sin": t.randn(B, D // 2).sin(),
        "cache": t.zeros(B * pages, H, 64, D), "table": t.arange(B * pages).view(B, pages),
        "lens": t.randint(1, pages * 64, (B,)),
    }  # fmt: skip


def _step(t: Any, B: int, H: int, D: int, pages: int) -> dict[str, Any]:
    known = _decoded(t, B, H, D, pages)
    return {
        "k": known["k"], "v": t.randn(B, H, D),
        "k_cache": known["cache"], "v_cache": t.zeros_like(known["cache"]),
        "lens": known["lens"], "table": known["table"],
    }  # fmt: skip


def _offsets(t: Any, rows: int, E: int) -> Any:
    return (t.arange(E + 1) * rows) // E


def _experts(t: Any, M: int, D: int, H: int, E: int) -> dict[str, Any]:
    return {
        "x": t.randn(M, D, dtype=t.bfloat16).float(),
        "w13": t.randn(E, D, 2 * H) / D**0.5,
        "w2": t.randn(E, H, D) / H**0.5,
        "offsets": _offsets(t, M, E),
    }


def _blocks(t: Any, Z: int, T: int, D: int) -> dict[str, Any]:
    q, k = (t.randn(Z, T, D, dtype=t.bfloat16) for _ in range(2))
    return {"q": q, "k": k, "sizes": t.full((T // 64,), 64.0)}


def _listed(t: Any, R: int, NK: int, topk: int) -> dict[str, Any]:
    return {
        "q": t.randn(R, 64), "k": t.randn(NK * 16, 64), "scores": t.randn(R, NK), "topk": topk,
    }  # fmt: skip


def _normed(t: Any, M: int, N: int) -> dict[str, Any]:
    return {"x": t.randn(M, N, dtype=t.bfloat16), "w": t.randn(N)}


def _lora(t: Any, M: int, N: int, E: int, R: int) -> dict[str, Any]:
    dy, b = t.randn(M, N), t.randn(E, N, R) / N**0.5
    return {"dy": dy, "b": b, "expert_offsets": _offsets(t, M, E)}


def _rotated(t: Any, H: int, N: int, D: int) -> dict[str, Any]:
    return {"x": t.randn(H, N, D), "cos": t.randn(N, D // 2), "sin": t.randn(N, D // 2)}


def _rotary(t: Any, N: int) -> dict[str, Any]:
    return {"x": t.randn(1, N, 8, 64), "cos": t.randn(N, 32), "sin": t.randn(N, 32)}


def _scattered(t: Any, tokens: int, top_k: int, N: int) -> dict[str, Any]:
    rows = tokens * top_k
    indices, weights = t.randperm(rows), t.rand(rows)
    return {
        "x": t.randn(rows, N, dtype=t.bfloat16), "indices": indices, "weights": weights,
        "top_k": top_k,
    }  # fmt: skip


def _grouped(t: Any, M: int) -> dict[str, Any]:
    return {"x": t.randn(M, 512), "order": t.randperm(M)}


def _prenorm(t: Any, M: int, H: int) -> dict[str, Any]:
    return {"scores": t.randn(M, 4), "x": t.randn(M, 4, H, dtype=t.bfloat16)}


def _ranges(t: Any, n: int, size: int) -> dict[str, Any]:
    backing = t.ones(n * size * 2, dtype=t.uint8)
    return {"backing": backing, "ranges": [(at * size * 2, size - at % 7) for at in range(n)]}


def _counted(t: Any, B: int, longest: int, D: int) -> dict[str, Any]:
    lens = t.randint(1, longest, (B,))
    return {"x": t.randn(int(lens.sum()), D), "lens": lens, "size": 64, "lens_cpu": lens.tolist()}


def _sparse(t: Any, T: int, H: int, top: int) -> dict[str, Any]:
    kv = t.randn(16384, 128)
    return {"q": t.randn(T, H, 128), "kv": kv, "idx": t.randint(0, 16384, (T, top))}


def _gated(t: Any, R: int, N: int) -> dict[str, Any]:
    core, projected = (t.randn(R, width, dtype=t.bfloat16) for width in (N, 3 * N))
    return {"core": core, "projected": projected, "weight": t.randn(N)}


def _index_keys(t: Any, R: int, pages: int) -> dict[str, Any]:
    return {
        "x": t.randn(R, 128), "keys": t.zeros(pages, 64, 128, dtype=t.int8),
        "scales": t.zeros(pages, 64), "loc": t.randperm(pages * 64)[:R],
    }  # fmt: skip


def _means(t: Any, B: int, longest: int, D: int) -> dict[str, Any]:
    lens = t.randint(longest // 2, longest, (B,))
    return {"v": t.randn(B, longest, D), "lens": lens, "q_gate": t.randn(B, 2 * D)}


def _heads(t: Any, T: int, HQ: int, HK: int) -> dict[str, Any]:
    q, k = (t.randn(T, heads * 128, dtype=t.bfloat16) for heads in (HQ, HK))
    return {
        "q": q, "k": k, "q_weight": t.randn(128), "k_weight": t.randn(128), "head_dim": 128,
    }  # fmt: skip


def _logits(t: Any, R: int, V: int) -> dict[str, Any]:
    return {"logits": t.randn(R, V + 64, dtype=t.bfloat16), "vocab_size": V}


def _row(t: Any, M: int, N: int) -> dict[str, Any]:
    return {"input": t.randn(M, N)}


def _product(t: Any, M: int, N: int, K: int, split_k: int) -> dict[str, Any]:
    a, b = t.randn(M, K, dtype=t.half), t.randn(K, N, dtype=t.half)
    return {"a": a, "b": b, "split_k": split_k}


def _packed(t: Any, rows: int, cols: int) -> dict[str, Any]:
    nibbles = t.randint(0, 16, (rows, cols, 8), dtype=t.int32) << (4 * t.arange(8))
    scales = t.rand(-(-rows // 128), cols * 8)
    return {"qweight": nibbles.sum(2).to(t.int32), "scales": scales}


def _paged(t: Any, H: int, n: int) -> dict[str, Any]:
    pages = -(-n // 16)
    table = t.randperm(pages)
    return {"q": t.randn(H, 128), "k_cache": t.randn(pages, 16, 128), "table": table, "n": n}


def _moe(t: Any, M: int, K: int, N: int) -> dict[str, Any]:
    ids, weights = t.randint(0, 8, (M, 2)), t.rand(M, 2)
    w = t.randn(8, K, N) / K**0.5
    return {"x": t.randn(M, K), "w": w, "topk_ids": ids, "topk_weights": weights}


def _bits(t: Any, R: int, V: int) -> dict[str, Any]:
    bits = t.randint(-(2**31), 2**31 - 1, (R, -(-V // 32)), dtype=t.int32)
    return {"logits": t.randn(R, V), "bitmask": bits, "indices": list(range(R))}


WORKLOADS: dict[str, Workload] = {
    "ColossalAI/keys_and_then_values": calls(
        "store_step", _step, (3, 2, 16, 2), (64, 32, 128, 16), (8, 32, 128, 16)
    ),
    "ColossalAI/copy_after_the_rotation": calls(
        "decode_keys",
        _decoded,
        (3, 2, 16, 2),
        (64, 32, 128, 16),
        (8, 32, 128, 16),
        compare=lambda _, cache: cache,
    ),
    "DeepSpeed/activation_between_two_products": calls(
        "experts_forward", _experts, (70, 32, 32, 3), (4096, 1024, 2048, 8), (256, 1024, 2048, 8)
    ),
    "FastVideo/means_of_blocks_by_torch": calls(
        "block_scores", _blocks, (2, 192, 32), (24, 32768, 128), (24, 8192, 128)
    ),
    "FastVideo/mask_made_to_be_read_back": calls(
        "sparse_sums", _listed, (5, 20, 4), (8192, 1024, 64), (1024, 512, 32)
    ),
    "ROCm-TransformerEngine/alignment_that_never_holds": calls(
        "rmsnorm", _normed, (3, 48), (8192, 4096), (512, 4096)
    ),
    "axolotl/experts_one_after_another": calls(
        "lora_input_gradient", _lora, (90, 40, 3, 16), (8192, 4096, 64, 16), (1024, 4096, 8, 16)
    ),
    "exllamav3/splits_as_a_constant": new_sizes(
        "key_sums",
        lambda t, n: {"q": t.randn(8, 128), "k": t.randn(8, n, 128)},
        (300,),
        *((512 + 1024 * at,) for at in range(13)),
    ),
    "flash-attention/pairs_read_with_a_step_of_two": calls(
        "apply_rotary", _rotated, (2, 20, 16), (32, 8192, 128), (32, 1024, 128)
    ),
    "flash-attention/length_that_only_names_a_compilation": new_sizes(
        "apply_rotary", _rotary, (200,), *((200 + 128 * at,) for at in range(13))
    ),
    "megablocks/rows_scattered_with_atomics": calls(
        "padded_scatter", _scattered, (20, 2, 70), (8192, 2, 4096), (512, 4, 4096)
    ),
    "scattermoe/rows_as_a_constant": new_sizes(
        "group", _grouped, (100,), *((1000 + 37 * at,) for at in range(13))
    ),
    "sglang/weighted_rows_added_by_torch": calls(
        "hc_prenorm", _prenorm, (5, 50), (4096, 4096), (128, 4096), tolerance=1e-2
    ),
    "tokenspeed/table_made_on_the_device": calls(
        "zero_byte_ranges", _ranges, (5, 3000), (64, 1 << 20), (8, 1 << 16), interpretable=False
    ),
    "tokenspeed/blocks_counted_on_the_device": calls(
        "packed_block_sums",
        _counted,
        (4, 200, 32),
        (64, 4096, 128),
        (8, 1024, 128),
        takes={"faulty": ("x", "lens", "size"), "fixed": ("x", "lens", "size", "lens_cpu")},
    ),
    "tokenspeed/rows_of_the_context_one_after_another": calls(
        "sparse_decode", _sparse, (2, 2, 128), (4, 16, 2048), (1, 16, 2048)
    ),
    "tokenspeed/gate_copied_before_the_norm": calls(
        "norm_output", _gated, (5, 40), (16384, 2048), (256, 2048)
    ),
    "tokenspeed/quantized_keys_scattered_by_index": calls(
        "set_index_keys", _index_keys, (40, 2), (8192, 1024), (64, 1024)
    ),
    "tokenspeed/gate_of_the_attention_by_torch": calls(
        "gated_mean", _means, (3, 70, 32), (256, 2048, 128), (16, 512, 128)
    ),
    "tokenspeed/norms_of_queries_and_of_keys": calls(
        "apply_qk_norm", _heads, (5, 4, 2), (4096, 32, 8), (64, 32, 8)
    ),
    "tokenspeed/logits_widened_by_torch": calls(
        "greedy", _logits, (3, 2000), (256, 128000), (16, 128000)
    ),
    "tokenspeed/three_parts_copied_out": calls(
        "prefill_rows",
        lambda t, T, H: {
            "mixed_qkv": t.randn(T, 3 * H * 128),
            "heads": H,
            "head_dim": 128,
        },
        (5, 2),
        (8192, 16),
        (256, 16),
    ),
    "trident/square_by_a_power": calls(
        "rms_norm",
        lambda t, M, N: {"input": t.randn(M, N), "weight": t.randn(N)},
        (3, 50),
        (8192, 4096),
        (512, 4096),
        interpretable=False,
    ),
    "trident/row_read_three_times": calls("softmax", _row, (3, 3000), (8192, 8192), (256, 65536)),
    "trident/mean_in_a_kernel_of_its_own": calls("var", _row, (3, 2100), (8192, 8192), (256, 8192)),
    "trident/matrix_of_a_row_by_itself": calls(
        "backward",
        lambda t, M, N: {"grad_output": t.randn(M, N), "output": t.randn(M, N).softmax(1)},
        (3, 20),
        (16384, 128),
        (256, 128),
    ),
    "vllm/parts_of_the_sum_added_with_atomics": calls(
        "gemm", _product, (40, 40, 300, 4), (64, 4096, 8192, 8), (16, 2048, 8192, 16)
    ),
    "vllm/packed_weight_read_by_eight_lanes": calls(
        "dequantize", _packed, (140, 40), (8192, 1024), (1024, 512)
    ),
    "vllm/innermost_stride_at_run_time": calls(
        "context_scores", _paged, (2, 100), (256, 8192), (32, 2048)
    ),
    "vllm/weights_of_experts_by_torch": calls(
        "fused_experts", _moe, (5, 40, 70), (256, 1024, 1024), (16, 1024, 1024)
    ),
    "vllm/output_cleared_and_overwritten": calls(
        "causal_conv1d",
        lambda t, T, dim: {"x": t.randn(T, dim), "weight": t.randn(dim, 4)},
        (20, 300),
        (16384, 4096),
        (256, 4096),
    ),
    "xgrammar/rows_copied_while_the_host_waits": calls(
        "apply_token_bitmask_inplace", _bits, (3, 1200), (256, 128000), (8, 128000)
    ),
}
