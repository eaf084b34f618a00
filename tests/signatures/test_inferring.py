"""What is inferred of a kernel from its file's text, and what is said to be assumed."""

from textwrap import dedent

from tilewright.signatures.candidates import guesses
from tilewright.signatures.model import Guess, in_words
from tilewright.source import parse_module
from tilewright.targets.model import ArgumentFacts, in_a_line

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"
GEMM = """
@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, bias_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
         stride_cm, stride_cn, HAS_BIAS: tl.constexpr, ACTIVATION: tl.constexpr,
         BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rm[:, None] * stride_am + (rk + k)[None, :] * stride_ak)
        b = tl.load(b_ptr + (rk + k)[:, None] * stride_bk + rn[None, :] * stride_bn)
        acc += tl.dot(a, b)
    if HAS_BIAS:
        acc += tl.load(bias_ptr + rn)[None, :]
    if ACTIVATION == "gelu":
        acc = acc * 2
    tl.store(c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn, acc)

def run(a, b, bias=None):
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=torch.bfloat16)
    gemm[(1, 1)](a, b, c, bias, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1),
                 c.stride(0), c.stride(1), HAS_BIAS=bias is not None, BLOCK_M=128, BLOCK_N=64,
                 num_warps=8)
"""
ROWS = """
@triton.jit
def rows(x_ptr, y_ptr, n_cols, eps, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n_cols + cols, cols < n_cols)
    tl.store(y_ptr + tl.program_id(0) * n_cols + cols, x + eps, cols < n_cols)

def run(x):
    if x.is_cuda:
        n = x.shape[-1]
        block = triton.next_power_of_2(n)
        rows[(4,)](x, torch.empty_like(x.half()), n, 1e-5, BLOCK=block)
"""


def first(text: str) -> Guess:
    module = parse_module(HEAD + dedent(text), "k.py")
    return next(guesses(module, module.kernels[0]))


def argument(guess: Guess, name: str) -> ArgumentFacts:
    found = guess.launch.argument(name)
    assert found is not None
    return found


def test_element_types_come_from_dots_and_from_host_code() -> None:
    guess = first(GEMM)
    assert argument(guess, "a_ptr").type == "*fp16"
    assert argument(guess, "c_ptr").type == "*bf16"
    assert argument(guess, "bias_ptr").type == "*fp32"
    words = in_words(guess.assumptions)
    assert any(w.startswith("a_ptr, b_ptr: fp16") and "tl.dot" in w for w in words)
    assert any(w.startswith("c_ptr: bf16") and "host code" in w and "(line" in w for w in words)


def test_a_tensor_that_the_host_converts_under_its_own_name_has_the_type_it_gets() -> None:
    text = GEMM.replace(
        "    M, K = a.shape", "    a = a.to(torch.float8_e4m3fn)\n    M, K = a.shape"
    )
    assert argument(first(text), "a_ptr").type == "*fp8e4nv"
    text = GEMM.replace("    M, K = a.shape", "    a = a.contiguous()\n    M, K = a.shape")
    assert argument(first(text), "a_ptr").type == "*fp16"
    sometimes = "    if a.dtype == torch.bool:\n        a = a.to(torch.int32)\n    M, K = a.shape"
    text = GEMM.replace("    M, K = a.shape", sometimes)
    assert argument(first(text), "a_ptr").type == "*fp16", "as if nothing said it"


def test_what_is_taken_apart_bit_by_bit_is_no_index() -> None:
    guess = first(
        """
        @triton.jit
        def unpack(packed, table, out, B: tl.constexpr):
            o = tl.arange(0, B)
            four = (tl.load(packed + o // 8) >> (o % 8 * 4)) & 0xF
            tl.store(out + tl.load(table + o), four)
        """
    )
    assert argument(guess, "packed").type == "*i32"
    assert argument(guess, "table").type == "*i64"
    assert "packed: i32 tensor, assumed: the kernel takes" in "\n".join(in_words(guess.assumptions))


def test_a_tuple_of_numbers_is_taken_from_the_launch() -> None:
    guess = first(
        """
        @triton.jit
        def k(x_ptr, SHAPE: tl.constexpr, B: tl.constexpr):
            o = tl.arange(0, B)
            tl.store(x_ptr + o, o * SHAPE[0])

        def run(x):
            k[(1,)](x, (2, 3), B=64)
        """
    )
    assert argument(guess, "SHAPE").value == "triton.tuple:[2, 3]"
    assert "SHAPE: (2, 3), as the launch states" in "\n".join(in_words(guess.assumptions))
    assert in_a_line(guess.launch.settings) == "SHAPE=(2, 3) B=64"


def test_innermost_strides_of_the_launch_are_one_and_the_others_divisible() -> None:
    guess = first(GEMM)
    assert [argument(guess, f"stride_{n}").value for n in ("ak", "bn", "cn")] == [1, 1, 1]
    outer = argument(guess, "stride_am")
    assert (outer.type, outer.divisible_by_16) == ("i32", True)
    assert outer.value != 1


def test_constexprs_come_from_the_launch_first_and_from_their_use_then() -> None:
    guess = first(GEMM)
    assert (argument(guess, "BLOCK_M").value, argument(guess, "BLOCK_N").value) == (128, 64)
    assert argument(guess, "BLOCK_K").value == 32
    assert argument(guess, "ACTIVATION").value == "gelu"
    assert argument(guess, "HAS_BIAS").value is True
    assert guess.launch.options == {"num_warps": 8}
    words = "\n".join(in_words(guess.assumptions))
    assert "BLOCK_M: 128, as the launch states (line 28)" in words
    assert "BLOCK_K: 32, assumed: an extent of tiles" in words


def test_what_the_host_computes_from_a_shape_is_computed_from_an_assumed_one() -> None:
    guess = first(ROWS)
    assert argument(guess, "BLOCK").value == 1024
    assert argument(guess, "n_cols").value == 1024
    assert argument(guess, "eps").type == "fp32"
    assert argument(guess, "y_ptr").type == "*fp16"
    words = "\n".join(in_words(guess.assumptions))
    assert "as the launch computes it from sizes assumed to be 1024" in words


def test_a_number_that_the_host_counts_up_is_not_taken_for_its_first_value() -> None:
    guess = first(
        """
        @triton.jit
        def k(x_ptr, M, B: tl.constexpr):
            o = tl.arange(0, B)
            tl.store(x_ptr + o, o + M)

        def run(x):
            M = 1
            for side in x.shape:
                M *= side
            k[(1,)](x, M, B=64)
        """
    )
    assert argument(guess, "M").value == 1024
    assert "M: 1," not in "\n".join(in_words(guess.assumptions))


def test_unrolled_loops_are_short_and_index_tensors_hold_integers() -> None:
    guess = first(
        """
        @triton.jit
        def k(x_ptr, ids, out_ptr, TURNS: tl.constexpr, B: tl.constexpr):
            o = tl.arange(0, B)
            at = tl.load(ids + o)
            for i in tl.static_range(TURNS):
                tl.store(out_ptr + o + i, tl.load(x_ptr + at + i))
        """
    )
    assert argument(guess, "TURNS").value == 4
    assert argument(guess, "ids").type == "*i64"
    assert argument(guess, "B").value == 1024


def test_constants_are_taken_from_comparisons_with_names_of_the_module() -> None:
    guess = first(
        """
        MODE_A: tl.constexpr = tl.constexpr(7)

        @triton.jit
        def k(x_ptr, mode: tl.constexpr, B: tl.constexpr):
            o = tl.arange(0, B)
            if mode == MODE_A:
                tl.store(x_ptr + o, o)
        """
    )
    assert argument(guess, "mode").value == 7


def test_an_axis_is_the_first_one_whatever_its_spelling() -> None:
    guess = first(
        """
        @triton.jit
        def k(x_ptr, y_ptr, AXIS: tl.constexpr, B: tl.constexpr):
            o = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
            tl.store(y_ptr + o, tl.cumsum(tl.load(x_ptr + o), axis=AXIS))
        """
    )
    assert argument(guess, "AXIS").value == 0
    assert argument(guess, "B").value > 1


def test_values_of_the_first_configuration_need_no_assumption() -> None:
    guess = first(
        """
        @triton.autotune([triton.Config({"B": 256}, num_warps=2), triton.Config({"B": 8})], [])
        @triton.jit
        def k(x_ptr, n, B: tl.constexpr):
            o = tl.arange(0, B)
            tl.store(x_ptr + o, o, o < n)
        """
    )
    assert argument(guess, "B").value == 256
    assert guess.launch.options == {"num_warps": 2}
    assert all(a.name != "B" for a in guess.assumptions)


def test_large_numbers_are_64_bits_wide() -> None:
    guess = first(
        """
        @triton.jit
        def k(x_ptr, n, m, B: tl.constexpr):
            tl.store(x_ptr + tl.arange(0, B), n + m)

        def run(x):
            k[(1,)](x, 1 << 40, 7, B=64)
        """
    )
    n, m = argument(guess, "n"), argument(guess, "m")
    assert (n.type, n.divisible_by_16) == ("i64", True)
    assert (m.type, m.divisible_by_16) == ("i32", False)


def test_a_standard_deviation_is_no_stride() -> None:
    guess = first("""
        @triton.jit
        def shifted(x_ptr, std, sxm, BLOCK: tl.constexpr):
            at = x_ptr + tl.program_id(0) * sxm + tl.arange(0, BLOCK)
            tl.store(at, tl.load(at) * std)
    """)
    assert (argument(guess, "std").type, argument(guess, "sxm").type) == ("fp32", "i32")


def test_a_parameter_is_what_the_files_own_call_gives_through_several_functions() -> None:
    text = """
    @triton.jit
    def loss(x_ptr, n, smoothing: tl.constexpr, kind: tl.constexpr, BLOCK: tl.constexpr):
        cols = tl.arange(0, BLOCK)
        tl.store(x_ptr + cols, tl.load(x_ptr + cols) * smoothing, cols < n)

    def forward(x, smoothing, kind, block=64):
        loss[(1,)](x, x.shape[0], smoothing, kind=kind, BLOCK=block)

    class Loss(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, smoothing: float = 0.25):
            return outer(x, smoothing)

    def outer(x, smoothing):
        return forward(x, smoothing, kind="mean", block=128)

    def forward_again(x, smoothing):
        return forward_again(x, 4)
    """
    guess = first(text)
    told = in_a_line(guess.launch.settings)
    assert "smoothing=0.25" in told
    assert "kind=mean" in told
    assert "BLOCK=64" in told, "a default goes before a call"
