"""Triton kernels in KernelBench's form: a file with ``ModelNew`` for each of its modules named here.

    python benchmarks/problem_forms/kernelbench_modules.py FOLDER [KERNELBENCH]

writes them to FOLDER, under the names of KernelBench's own files; beside each, with KERNELBENCH, its
reference as ``NAME_reference.py``. Each is a plain kernel that a person would begin with; weights and
buffers are those of the same layers as in the reference.
"""

import shutil
import sys
from pathlib import Path

from kernel_texts import (
    ATTENTION,
    BMM,
    CHANNELS,
    COLUMNS,
    CONV,
    GELU,
    GEMM,
    GROUPS,
    INSTANCES,
    LONG_ROWS,
    LOSS,
    MATMUL,
    MISH,
    NORMALIZE,
    POOL,
    RELU,
    ROWS,
    SCALE_ROWS,
    SIGMOID,
    SOFTMAX,
    TANH,
    UNARY,
)

# ruff: noqa: E501
HEAD = """\
import torch
import torch.nn as nn
import triton
import triton.language as tl

"""

LINEAR = "self.{0} = nn.Linear(in_features, out_features)"


def model(signature: str, build: str, forward: str, arguments: str = "x") -> str:
    """A ModelNew."""
    lines = [f"        {line}" for line in ["super().__init__()", *filter(None, build.split("\n"))]]
    body = [f"        {line}" for line in forward.split("\n")]
    made = f"    def __init__(self{', ' if signature else ''}{signature}):"
    called = f"    def forward(self, {arguments}):"
    return "\n".join(["\n\nclass ModelNew(nn.Module):", made, *lines, "", called, *body, ""])


def gemm(act: str) -> str:
    return GEMM.replace("{act}", act)


def fused(name: str, act: str, signature: str, build: str, call: str) -> str:
    """A linear layer with what follows it in the same kernel."""
    signature = f"in_features, out_features{signature}"
    return gemm(act) + model(signature, f"{LINEAR.format(name)}\n{build}", call)


def network(sizes: str) -> str:
    build = (
        "layers, width = [], input_size\n"
        f"for size in {sizes}:\n"
        "    layers += [nn.Linear(width, size), nn.ReLU()]\n"
        "    width = size\n"
        "self.network = nn.Sequential(*layers, nn.Linear(width, output_size))"
    )
    call = (
        "linears = [one for one in self.network if isinstance(one, nn.Linear)]\n"
        "for one in linears[:-1]:\n"
        "    x = linear(x, one.weight, one.bias, 0.0)\n"
        "return linear(x, linears[-1].weight, linears[-1].bias, -float('inf'))"
    )
    # What is below P0 is cut off: zero for a ReLU, nothing for the last layer.
    act = "y = tl.where(y != y, y, tl.maximum(y, P0))"
    return gemm(act) + model(f"input_size, {sizes}, output_size", build, call)


SUM_STORE = "tl.store(y_ptr + tl.program_id(0) * C + c, total, mask=c < C)"
COLUMN_CALL = (
    "x = x.contiguous()\nouter, R = x.shape[0], x.shape[1]\nC = x.numel() // (outer * R)\n"
    "y = torch.empty({shape}, device=x.device, dtype=x.dtype)\n"
    "columns_kernel[(outer, triton.cdiv(C, 64))](x, y, R, C, {p0}, BR=32, BC=64)\nreturn y"
)

MODULES: dict[str, str] = {
    "level1/1_Square_matrix_multiplication_": gemm("")
    + MATMUL + model("", "", "return matmul(A, B)", "A, B"),
    "level1/3_Batched_matrix_multiplication": BMM + model(
        "", "",
        "A, B = A.contiguous(), B.contiguous()\nb, M, K = A.shape\nN = B.shape[2]\n"
        "C = torch.empty((b, M, N), device=A.device, dtype=A.dtype)\n"
        "bmm_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32), b)](A, B, C, M, N, K, BM=32, BN=32, "
        "BK=32)\nreturn C", "A, B"),
    "level1/12_Matmul_with_diagonal_matrices_": SCALE_ROWS + model(
        "", "",
        "N, M = B.shape\nC = torch.empty_like(B)\n"
        "scale_rows_kernel[(N, triton.cdiv(M, 256))](A, B.contiguous(), C, M, BLOCK=256)\nreturn C",
        "A, B"),
    "level1/19_ReLU": UNARY.replace("{act}", RELU.format("x")) + model("", "", "return unary(x)"),
    "level1/20_LeakyReLU": UNARY.replace("{act}", "y = tl.where(x >= 0, x, x * P0)")
    + model("negative_slope=0.01", "self.slope = negative_slope", "return unary(x, self.slope)"),
    "level1/22_Tanh": "from triton.language.extra import libdevice\n" + UNARY.replace(
        "{act}", "y = libdevice.tanh(x)") + model("", "", "return unary(x)"),
    "level1/23_Softmax": ROWS.replace("{other}", '-float("inf")').replace("{act}", SOFTMAX)
    + model("", "", "return rows(x)"),
    "level1/26_GELU_": UNARY.replace("{act}", GELU.format("x")) + model("", "", "return unary(x)"),
    "level1/33_BatchNorm": CHANNELS.replace("{act}", "") + model(
        "num_features", "self.bn = nn.BatchNorm2d(num_features)", "return batch_norm(x, self.bn)"),
    "level1/34_InstanceNorm": INSTANCES + model(
        "num_features", "self.inorm = nn.InstanceNorm2d(num_features)",
        "return instance_norm(x, self.inorm.eps)"),
    "level1/36_RMSNorm_": COLUMNS.replace("{term}", "x * x").replace(
        "{finish}", "scale = tl.sqrt(total / R + P0)" + NORMALIZE)
    + model("num_features, eps=1e-5", "self.eps = eps",
            COLUMN_CALL.format(shape="x.shape", p0="self.eps")),
    "level1/38_L1Norm_": COLUMNS.replace("{term}", "tl.abs(x)").replace(
        "{finish}", "scale = total / R" + NORMALIZE)
    + model("", "", COLUMN_CALL.format(shape="x.shape", p0="0.0")),
    "level1/40_LayerNorm": LONG_ROWS + model(
        "normalized_shape", "self.ln = nn.LayerNorm(normalized_shape)",
        "return layer_norm(x, self.ln.weight, self.ln.bias, self.ln.eps)"),
    "level1/44_Average_Pooling_1D": POOL + model(
        "kernel_size, stride=1, padding=0",
        "self.k, self.stride, self.pad = kernel_size, stride, padding",
        "x = x.contiguous()\nB, C, L = x.shape\nOL = (L + 2 * self.pad - self.k) // self.stride + 1\n"
        "y = torch.empty((B, C, OL), device=x.device, dtype=x.dtype)\n"
        "pool_kernel[(B * C, triton.cdiv(OL, 256))](x, y, L, OL, self.k, self.stride, self.pad, "
        "BLOCK=256)\nreturn y"),
    "level1/47_Sum_reduction_over_a_dimension": COLUMNS.replace("{term}", "x").replace(
        "{finish}", SUM_STORE)
    + model("dim", "assert dim == 1", COLUMN_CALL.format(
        shape="(x.shape[0], 1, *x.shape[2:])", p0="0.0")),
    "level1/48_Mean_reduction_over_a_dimension": COLUMNS.replace("{term}", "x").replace(
        "{finish}", SUM_STORE.replace("total", "total / R"))
    + model("dim", "assert dim == 1", COLUMN_CALL.format(
        shape="(x.shape[0], *x.shape[2:])", p0="0.0")),
    "level1/82_conv_depthwise_2D_square_input_square_kernel": CONV.replace("{act}", "") + model(
        "in_channels, kernel_size, stride=1, padding=0, bias=False",
        "self.conv2d = nn.Conv2d(in_channels, in_channels, kernel_size, stride=stride, "
        "padding=padding, groups=in_channels, bias=bias)", "return conv(x, self.conv2d)"),
    "level1/87_conv_pointwise_2D": CONV.replace("{act}", "") + model(
        "in_channels, out_channels, bias=False",
        "self.conv1d = nn.Conv2d(in_channels, out_channels, 1, bias=bias)",
        "return conv(x, self.conv1d)"),
    "level1/95_CrossEntropyLoss": LOSS + model(
        "", "",
        "p = predictions.contiguous()\nrows, N = p.shape\n"
        "y = torch.empty((rows,), device=p.device, dtype=p.dtype)\n"
        "loss_kernel[(rows,)](p, targets, y, N, BLOCK=triton.next_power_of_2(N))\nreturn y.mean()",
        "predictions, targets"),
    "level1/97_ScaledDotProductAttention": ATTENTION + model(
        "", "", "return attention(Q, K, V, False)", "Q, K, V"),
    "level2/1_Conv2D_ReLU_BiasAdd": CONV.replace(
        "{act}", RELU.format("y") + " + tl.load(extra_ptr + co)").replace(
        "b_ptr, y_ptr,", "b_ptr, extra_ptr, y_ptr,").replace(
        "def conv(x, layer)", "def conv(x, layer, extra)").replace("bias, y, CI", "bias, extra, y, CI")
    + model("in_channels, out_channels, kernel_size, bias_shape",
            "self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)\n"
            "self.bias = nn.Parameter(torch.randn(bias_shape))",
            "return conv(x, self.conv, self.bias)"),
    "level2/9_Matmul_Subtract_Multiply_ReLU": fused(
        "linear", "y = (y - P0) * P1; " + RELU.format("y"), ", subtract_value, multiply_value",
        "self.minus, self.times = subtract_value, multiply_value",
        "return linear(x, self.linear.weight, self.linear.bias, self.minus, self.times)"),
    "level2/29_Matmul_Mish_Mish": fused(
        "linear", f"{MISH}; {MISH}", "", "",
        "return linear(x, self.linear.weight, self.linear.bias)"),
    "level2/33_Gemm_Scale_BatchNorm": gemm("") + CHANNELS.replace(
        "x = tl.load(x_ptr + at, mask=mask)",
        "x = tl.load(x_ptr + at, mask=mask) * tl.load(s_ptr + c, mask=mask)").replace(
        "(x_ptr, mean_ptr", "(x_ptr, s_ptr, mean_ptr").replace("{act}", "").replace(
        "def batch_norm(x, bn)", "def batch_norm(x, scale, bn)").replace(
        "x, bn.running_mean", "x, scale, bn.running_mean")
    + model("in_features, out_features, scale_shape, eps=1e-5, momentum=0.1",
            LINEAR.format("gemm") + "\nself.scale = nn.Parameter(torch.randn(scale_shape))\n"
            "self.bn = nn.BatchNorm1d(out_features, eps=eps, momentum=momentum)",
            "return batch_norm(linear(x, self.gemm.weight, self.gemm.bias), self.scale, self.bn)"),
    "level2/37_Matmul_Swish_Sum_GroupNorm": gemm(f"y = y * {SIGMOID}") + GROUPS.replace(
        "{pre}", "x += tl.load(extra_ptr + c, mask=mask, other=0.0)")
    + model("in_features, out_features, num_groups, bias_shape",
            LINEAR.format("matmul") + "\nself.bias = nn.Parameter(torch.randn(bias_shape))\n"
            "self.group_norm = nn.GroupNorm(num_groups, out_features)",
            "x = linear(x, self.matmul.weight, self.matmul.bias)\n"
            "return group_norm(x, self.group_norm, self.bias)"),
    "level2/53_Gemm_Scaling_Hardtanh_GELU": fused(
        "gemm", "y = y * P0; y = tl.where(y < -P1, -P1, tl.where(y > P1, P1, y)); "
        + GELU.format("y"), ", scaling_factor, hardtanh_min, hardtanh_max",
        "assert hardtanh_min == -hardtanh_max\n"
        "self.times, self.most = scaling_factor, float(hardtanh_max)",
        "return linear(x, self.gemm.weight, self.gemm.bias, self.times, self.most)"),
    "level2/59_Matmul_Swish_Scaling": fused(
        "matmul", f"y = y * {SIGMOID} * P0", ", scaling_factor", "self.times = scaling_factor",
        "return linear(x, self.matmul.weight, self.matmul.bias, self.times)"),
    "level2/63_Gemm_ReLU_Divide": fused(
        "linear", RELU.format("y") + " / P0", ", divisor", "self.by = divisor",
        "return linear(x, self.linear.weight, self.linear.bias, self.by)"),
    "level2/76_Gemm_Add_ReLU": gemm(RELU.format("y")) + model(
        "in_features, out_features, bias_shape",
        "self.gemm = nn.Linear(in_features, out_features, bias=False)\n"
        "self.bias = nn.Parameter(torch.randn(bias_shape))",
        "return linear(x, self.gemm.weight, self.bias)"),
    "level2/88_Gemm_GroupNorm_Swish_Multiply_Swish": gemm("") + GROUPS.replace("{pre}", "").replace(
        "    tl.store(y_ptr", f"    y = y * {SIGMOID} * tl.load(extra_ptr + c, mask=mask)\n"
        f"    y = y * {SIGMOID}\n    tl.store(y_ptr")
    + model("in_features, out_features, num_groups, multiply_weight_shape",
            LINEAR.format("gemm") + "\nself.group_norm = nn.GroupNorm(num_groups, out_features)\n"
            "self.multiply_weight = nn.Parameter(torch.randn(multiply_weight_shape))",
            "x = linear(x, self.gemm.weight, self.gemm.bias)\n"
            "return group_norm(x, self.group_norm, self.multiply_weight)"),
    "level2/95_Matmul_Add_Swish_Tanh_GELU_Hardtanh": fused(
        "matmul", f"y = y * {SIGMOID}; {TANH}; {GELU.format('y')}; "
        "y = tl.where(y < -1.0, -1.0, tl.where(y > 1.0, 1.0, y))", ", add_value_shape",
        "self.add_value = nn.Parameter(torch.randn(add_value_shape))",
        "return linear(x, self.matmul.weight, self.matmul.bias + self.add_value)"),
    "level2/97_Matmul_BatchNorm_BiasAdd_Divide_Swish": gemm("") + CHANNELS.replace(
        "{act}", f"y = (y + tl.load(e_ptr)) / DIV; y = y * {SIGMOID}").replace(
        "(x_ptr, mean_ptr", "(x_ptr, e_ptr, DIV, mean_ptr").replace(
        "def batch_norm(x, bn)", "def batch_norm(x, extra, div, bn)").replace(
        "x, bn.running_mean", "x, extra, div, bn.running_mean")
    + model("in_features, out_features, bn_eps=1e-5, bn_momentum=0.1, bias_shape=(1,), "
            "divide_value=1.0",
            LINEAR.format("matmul") + "\nself.bn = nn.BatchNorm1d(out_features, eps=bn_eps, "
            "momentum=bn_momentum)\nself.bias = nn.Parameter(torch.randn(bias_shape))\n"
            "self.div = divide_value",
            "x = linear(x, self.matmul.weight, self.matmul.bias)\n"
            "return batch_norm(x, self.bias, self.div, self.bn)"),
    "level2/99_Matmul_GELU_Softmax": gemm(GELU.format("y")) + ROWS.replace(
        "{other}", '-float("inf")').replace("{act}", SOFTMAX)
    + model("in_features, out_features", LINEAR.format("linear"),
            "return rows(linear(x, self.linear.weight, self.linear.bias))"),
    "level3/1_MLP": network("layer_sizes"),
    "level3/2_ShallowWideMLP": network("hidden_layer_sizes"),
    "level3/3_DeepNarrowMLP": network("hidden_layer_sizes"),
    "level3/43_MinGPTCausalAttention": gemm("") + ATTENTION + model(
        "n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen",
        "assert attn_pdrop == 0 and resid_pdrop == 0\n"
        "self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)\n"
        "self.register_buffer('bias', torch.tril(torch.ones(max_seqlen, max_seqlen)).view(\n"
        "    1, 1, max_seqlen, max_seqlen))\n"
        "self.n_head = n_head",
        "B, T, C = x.shape\n"
        "qkv = linear(x.reshape(B * T, C), self.c_attn.weight, self.c_attn.bias)\n"
        "heads = qkv.view(B, T, 3, self.n_head, C // self.n_head).permute(2, 0, 3, 1, 4)\n"
        "y = attention(heads[0], heads[1], heads[2], True).transpose(1, 2).reshape(B * T, C)\n"
        "return linear(y, self.c_proj.weight, self.c_proj.bias).view(B, T, C)"),
}  # fmt: skip


def write(folder: Path, kernelbench: Path | None = None) -> list[Path]:
    """The files, in KernelBench's order of levels; beside each its reference, if there is one."""
    written = []
    for name, text in MODULES.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD + text.replace("\n    \n", "\n"))
        written.append(path)
        reference = kernelbench / f"{name}.py" if kernelbench is not None else None
        if reference is not None and reference.is_file():
            shutil.copy(reference, path.with_name(f"{path.stem}_reference.py"))
    return written


if __name__ == "__main__":
    bench = Path(sys.argv[2]) / "KernelBench" if len(sys.argv) > 2 else None
    print(*write(Path(sys.argv[1]), bench), sep="\n")
