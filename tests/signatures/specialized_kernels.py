"""Kernels that differ only in what their declarations tell the JIT; they do nothing."""

# ruff: noqa: ANN001, ANN201, F821, F722

import triton
import triton.language as tl


@triton.jit
def plain(x, n, flag, s, t, B: tl.constexpr):
    pass


@triton.jit(do_not_specialize=["n", "t"], do_not_specialize_on_alignment=["x", "s"])
def told(x, n, flag, s, t, B: tl.constexpr):
    pass


@triton.jit
def annotated(x: tl.const, n: tl.int64, flag: "u1", s: "fp32", t, B: tl.constexpr):
    pass


@triton.jit
def typed(x: "*fp16", n: "u64", flag: "i1", s: "fp64", t, B: tl.constexpr):
    pass
