"""The slow cases of ``tests/realbugs/blind3``, none of which is timed yet."""

from __future__ import annotations

from collections.abc import Mapping

_REASON = "the case was written after the measurement, and no inputs were written for it"
_CASES = (
    "ColossalAI/copy_after_the_rotation",
    "ColossalAI/keys_and_then_values",
    "DeepSpeed/activation_between_two_products",
    "FastVideo/mask_made_to_be_read_back",
    "FastVideo/means_of_blocks_by_torch",
    "ROCm-TransformerEngine/alignment_that_never_holds",
    "axolotl/experts_one_after_another",
    "exllamav3/splits_as_a_constant",
    "flash-attention/length_that_only_names_a_compilation",
    "flash-attention/pairs_read_with_a_step_of_two",
    "megablocks/rows_scattered_with_atomics",
    "scattermoe/rows_as_a_constant",
    "sglang/weighted_rows_added_by_torch",
    "tokenspeed/blocks_counted_on_the_device",
    "tokenspeed/gate_copied_before_the_norm",
    "tokenspeed/gate_of_the_attention_by_torch",
    "tokenspeed/logits_widened_by_torch",
    "tokenspeed/norms_of_queries_and_of_keys",
    "tokenspeed/quantized_keys_scattered_by_index",
    "tokenspeed/rows_of_the_context_one_after_another",
    "tokenspeed/table_made_on_the_device",
    "tokenspeed/three_parts_copied_out",
    "trident/matrix_of_a_row_by_itself",
    "trident/mean_in_a_kernel_of_its_own",
    "trident/row_read_three_times",
    "trident/square_by_a_power",
    "vllm/innermost_stride_at_run_time",
    "vllm/output_cleared_and_overwritten",
    "vllm/packed_weight_read_by_eight_lanes",
    "vllm/parts_of_the_sum_added_with_atomics",
    "vllm/weights_of_experts_by_torch",
    "xgrammar/rows_copied_while_the_host_waits",
)
NOT_RUN: Mapping[str, str] = dict.fromkeys(_CASES, _REASON)
