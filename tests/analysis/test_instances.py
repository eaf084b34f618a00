"""Launches at chosen sizes: counterexamples in numbers, and silence where nothing is shown."""

import pytest

from tilewright.analysis import analyze
from tilewright.analysis.instances import Faults, faults_of
from tilewright.source import parse_module

_HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"


def _faults(text: str) -> tuple[Faults, ...]:
    module = parse_module(_HEAD + text)
    return tuple(fault for kernel in module.kernels for fault in faults_of(module, kernel))


def _issues(text: str) -> set[str]:
    return {issue.id for issue in analyze(parse_module(_HEAD + text))}


SHIFTED = """
@triton.jit
def difference(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    one = tl.load(x + o, mask=o < n)
    two = tl.load(x + o + 1, mask={mask})
    tl.store(y + o, two - one, mask=o < n - 1)

def differences(x):
    n = x.numel()
    y = torch.empty(n - 1, device=x.device)
    difference[(triton.cdiv(n, 256),)](x, y, n, B=256)
    return y
"""


def test_an_access_past_the_end_is_an_element_of_a_program() -> None:
    (faults,) = _faults(SHIFTED.format(mask="o < n"))
    (outside,) = faults.outside
    assert outside.kind == "load"
    assert outside.element == outside.storage.size
    assert "x.numel()" in faults.sizes
    assert "missing_boundary_check" in _issues(SHIFTED.format(mask="o < n"))


def test_the_same_access_within_its_tensor_is_no_fault() -> None:
    assert _faults(SHIFTED.format(mask="o < n - 1")) == ()
    assert _faults(SHIFTED.format(mask="o + 1 < n")) == ()


WRITTEN = """
@triton.jit
def rows_of_two(x, y, R, N, B: tl.constexpr):
    c = tl.arange(0, B)
    first = tl.program_id(0) * 2
    for r in range(first, tl.minimum(first + {step}, R)):
        v = tl.load(x + r * N + c, mask=c < N)
        tl.store(y + r * N + c, v * v, mask=c < N)

def squares(x):
    x = x.contiguous()
    R, N = x.shape
    y = torch.empty(R, N, device=x.device)
    rows_of_two[(triton.cdiv(R, 2),)](x, y, R, N, B=triton.next_power_of_2(N))
    return y
"""


def test_an_element_that_no_program_stores_is_counted() -> None:
    (faults,) = _faults(WRITTEN.format(step=1))
    (unwritten,) = faults.unwritten
    assert 0 < unwritten.count < int(unwritten.storage.size or 0)
    assert "output_not_fully_written" in _issues(WRITTEN.format(step=1))
    assert _faults(WRITTEN.format(step=2)) == ()


SHARED = """
@triton.jit
def windows(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * {step} + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o, mask=o < n) + tl.program_id(0), mask=o < n)

def tagged(x):
    n = x.numel()
    y = torch.empty_like(x)
    windows[(triton.cdiv(n, {step}),)](x, y, n, B=128)
    return y
"""


def test_programs_that_store_other_values_to_one_element_are_named() -> None:
    (faults,) = _faults(SHARED.format(step=64))
    (shared,) = faults.shared
    assert shared.programs[0] != shared.programs[1]
    assert "race_on_store" in _issues(SHARED.format(step=64))
    assert _faults(SHARED.format(step=128)) == ()


def test_programs_that_store_the_same_value_are_no_race() -> None:
    value = "tl.load(x + o, mask=o < n) + tl.program_id(0)"
    assert _faults(SHARED.format(step=64).replace(value, "1.0")) == ()


READ_BACK = """
@triton.jit
def starts(counts, begins, out, n, B: tl.constexpr):
    o = tl.arange(0, B)
    sums = tl.cumsum(tl.load(counts + o, mask=o < n, other=0))
    tl.store(begins + o, sums {value}, mask=o < n)
    tl.debug_barrier()
    me = tl.program_id(0)
    tl.store(out + me, tl.load(begins + {read}))

def placed(counts):
    n = counts.numel()
    begins, out = torch.empty_like(counts), torch.empty_like(counts)
    starts[(n,)](counts, begins, out, n, B=triton.next_power_of_2(n))
    return out
"""


def test_what_a_program_reads_back_is_its_own_where_all_store_the_same() -> None:
    assert _faults(READ_BACK.format(value="", read="me")) == ()
    assert "race_on_store" in _issues(READ_BACK.format(value="* tl.program_id(0)", read="me"))


UPDATED = """
@triton.jit
def smooth(x, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    left = tl.load(x + {left}, mask={left} < n)
    tl.store(x + o, left * 0.5, mask=o < n)

def smoothed(x):
    smooth[(triton.cdiv(x.numel(), 64),)](x, x.numel(), B=64)
    return x
"""


def test_an_element_that_one_program_reads_and_another_writes_is_a_race() -> None:
    (faults,) = _faults(UPDATED.format(left="o + 1"))
    assert [shared.is_read for shared in faults.shared] == [True]
    assert _faults(UPDATED.format(left="o")) == ()


STRIDED = """
@triton.jit
def copy_rows(x, y, N, sx, {parameter}B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * sx + c, mask=c < N)
    tl.store(y + r * {stride} + c, v, mask=c < N)

def copied(x):
    R, N = x.shape
    y = torch.empty(R, N, device=x.device)
    copy_rows[(R,)](x, y, N, x.stride(0), {argument}B=triton.next_power_of_2(N))
    return y
"""


def test_rows_of_an_input_may_be_further_apart_than_those_of_an_allocation() -> None:
    wrong = STRIDED.format(parameter="", argument="", stride="sx")
    (faults,) = _faults(wrong)
    assert faults.is_padded
    assert "stride_of_other_tensor" in _issues(wrong)
    right = STRIDED.format(parameter="sy, ", argument="y.stride(0), ", stride="sy")
    assert _faults(right) == ()


BLOCKS = """
@triton.jit
def halves(x, y, T, D: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0)
    p = tl.make_block_ptr(x, (T, D), (D, 1), (i * B, 0), (B, D), (1, 0))
    q = tl.make_block_ptr(y, (T, D), (D, 1), (i * B, 0), (B, D), (1, 0))
    v = tl.load(p, boundary_check=(0,))
    tl.store(q, v * 0.5{check})

def halved(x):
    T, D = x.shape
    y = torch.empty(T, D, device=x.device)
    halves[(triton.cdiv(T, 32),)](x, y, T, D=D, B=32)
    return y
"""


def test_block_pointers_end_where_they_check() -> None:
    (faults,) = _faults(BLOCKS.format(check=""))
    assert {outside.kind for outside in faults.outside} == {"store"}
    assert _faults(BLOCKS.format(check=", boundary_check=(0,)")) == ()


@pytest.mark.parametrize(
    "given",
    [
        "    assert n % 256 == 0\n",
        "    if n % 256:\n        raise ValueError(n)\n",
    ],
)
def test_sizes_that_the_text_refuses_are_not_chosen(given: str) -> None:
    text = """
@triton.jit
def doubled(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o) * 2)

def double(x):
    n = x.numel()
{given}    y = torch.empty_like(x)
    doubled[(triton.cdiv(n, 256),)](x, y, n, B=256)
    return y
"""
    assert _faults(text.format(given=given)) == ()
    assert [faults.is_ragged for faults in _faults(text.format(given=""))] == [True]


def test_what_other_code_may_write_is_not_said_to_be_unwritten() -> None:
    text = WRITTEN.format(step=1).replace("    return y", "    fill_rest(y)\n    return y")
    assert _faults(text) == ()


def test_numbers_of_the_caller_have_no_rule_that_the_text_does_not_state() -> None:
    text = """
@triton.jit
def pick(x, y, n, first, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + first + o, mask=o < n), mask=o < n)

def picked(x, n, first):
    total = x.numel()
    y = torch.empty(n, device=x.device)
    pick[(triton.cdiv(n, 64),)](x, y, n, first, B=64)
    return y, total
"""
    assert _faults(text) == ()


def test_shapes_that_do_not_fit_and_unknown_code_end_the_evaluation() -> None:
    for line in ("v = unknown(x)", "v = tl.load(x + o) + tl.zeros([7], tl.float32)"):
        text = f"""
@triton.jit
def strange(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    {line}
    tl.store(y + o, v, mask=o < n)

def call(x):
    y = torch.empty_like(x)
    strange[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
    return y
"""
        assert all(not faults.unwritten for faults in _faults(text))


COPY = """
@triton.jit
def copy(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o, mask=o < n), mask=o < n)

def run(x, flag=None):
    M, N = x.shape
{body}
    copy[(triton.cdiv(n, 64),)](x, y, n, B=64)
    return y
"""
WHOLE = "n = M * N"


def _copy(*lines: str) -> str:
    return COPY.format(body="\n".join(f"    {line}" for line in lines))


@pytest.mark.parametrize(
    "lines",
    [
        ("shape = [M]", "shape.append(N)", "y = torch.empty(shape)", WHOLE),
        ("shape = [M, 1]", "shape[-1] = N", "y = torch.empty(shape)", WHOLE),
        ("shape = [M, 1]", "shape[1] *= N", "y = torch.empty(shape)", WHOLE),
        ("n = 3", "count = lambda m, n=1: m * n", "y = torch.empty(count(M, n=N))", WHOLE),
        ("k = M", "count = lambda m, k=2: m * k", "y = torch.empty(count(N))", "n = 2 * N"),
        ("n = 1", "y = torch.empty((n := M * N))"),
        (
            "for i in range(2):",
            "    pass",
            "else:",
            "    N = 2 * N",
            "y = torch.empty(M, N)",
            WHOLE,
        ),
        ("n = M * N + 1", "x.unsqueeze_(0)", "y = torch.empty(x.shape[0], M, N)"),
        ("y = torch.empty(M * N)", "n = M * (N - 1)", "flag.fill(y, n)"),
    ],
    ids=[
        "append",
        "element",
        "changed element",
        "argument by name",
        "default",
        "walrus",
        "else",
        "in place",
        "filled elsewhere",
    ],
)
def test_host_code_that_makes_the_right_number_of_elements_is_no_fault(
    lines: tuple[str, ...],
) -> None:
    assert _faults(_copy(*lines)) == ()
    assert _faults(_copy("y = torch.empty(M, N)", "n = M * N + 1")) != ()


def test_a_condition_is_the_same_each_time_it_is_asked() -> None:
    lines = ("y = torch.empty(M if flag else M * N)", "n = M", "if not flag:", "    n = M * N")
    chosen = (
        "if flag:",
        "    y = torch.empty(M)",
        "else:",
        "    y = torch.empty(M, N)",
        *lines[1:],
    )
    text = _copy(*chosen).replace("flag=None", "flag")
    assert _faults(text) == ()


def test_an_axis_counted_from_the_end_may_be_one_counted_from_the_start() -> None:
    text = _copy("y = torch.empty(M, x.size(1))", WHOLE)
    assert _faults(text.replace("M, N = x.shape", "M, N = x.size(0), x.shape[-1]")) == ()


def test_lengths_in_a_list_and_powers_are_made_shorter_with_the_others() -> None:
    text = _copy("y = torch.empty(M, N)", WHOLE).replace("x, y, n, B=64", "x, y, n")
    text = text.replace(", B: tl.constexpr", "").replace("* B", "* 64").replace("(0, B)", "(0, 64)")
    assert _faults(text.replace("cdiv(n, 64)", "cdiv(n, 2 ** 6)")) == ()
    listed = "BLOCKS = (64, 128)\n" + text.replace("cdiv(n, 64)", "cdiv(n, BLOCKS[0])")
    assert _faults(listed) == ()
    assert _faults(listed.replace("BLOCKS[0]", "BLOCKS[1]")) != ()


KERNEL = """
@triton.jit
def copy(x, y, lock, n, B: tl.constexpr):
{body}

def run(x):
    n = x.numel()
    y = torch.{made}
    lock = torch.zeros(1, dtype=torch.int32)
    copy[(triton.cdiv(n, 64),)](x, y, lock, n, B=64)
    return y
"""
_AT = "o = tl.program_id(0) * B + tl.arange(0, B)"
_POINTER = "tl.make_block_ptr({}, (n,), (1,), (tl.program_id(0) * B,), (B,), (0,))"


@pytest.mark.parametrize(
    ("made", "lines"),
    [
        (
            "empty(n * 4, dtype=torch.uint8)",
            (_AT, "p = y.to(tl.pointer_type(tl.int32))", "tl.store(p + o, 1, mask=o < n)"),
        ),
        (
            "empty(n)",
            (_AT, "p = (o - 1) // 2", "tl.store(y + o, tl.load(x + p, mask=o < n), mask=o < n)"),
        ),
        (
            "empty(n)",
            (
                f"p = {_POINTER.format('x')}",
                f"q = {_POINTER.format('y')}",
                "tl.store(q, tl.load(p, None, None, (0,)), None, (0,))",
            ),
        ),
        (
            "zeros(64)",
            (
                "while tl.atomic_cas(lock, 0, 1) == 1:",
                "    pass",
                "o = tl.arange(0, B)",
                "tl.store(y + o, tl.load(y + o) + tl.program_id(0))",
                "tl.store(lock, 0)",
            ),
        ),
        (
            "empty(n)",
            (
                _AT,
                "for k in range(30):",
                "    x += 1",
                "x -= 30",
                "tl.store(y + o, tl.load(x + o, mask=o < n), mask=o < n)",
            ),
        ),
    ],
    ids=["cast pointer", "division towards 0", "checked by position", "lock", "long loop"],
)
def test_kernels_that_stay_within_their_tensors_are_no_fault(
    made: str, lines: tuple[str, ...]
) -> None:
    assert _faults(KERNEL.format(body="\n".join(f"    {line}" for line in lines), made=made)) == ()


def test_sizes_that_a_kernel_asserts_against_are_not_chosen() -> None:
    body = (_AT, "{}", "tl.store(y + o, tl.load(x + o))")
    text = KERNEL.format(body="\n".join(f"    {line}" for line in body), made="empty(n)")
    assert _faults(text.format("tl.device_assert(n % B == 0)")) == ()
    assert _faults(text.format("tl.device_assert(n > 0)")) != ()


PARTIAL = """
@triton.jit
def partial_sums(x, parts, M, N, each, B: tl.constexpr):
    pid = tl.program_id(0)
    {guard}
    n = tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    for r in range(pid * each, min(pid * each + each, M)):
        total += tl.load(x + r * N + n, mask=n < N, other=0.0)
    tl.store(parts + pid * N + n, total, mask=n < N)

def weight_gradient(x, dy):
    M, N = x.shape
    assert dy.shape == (M, N)
    parts = torch.empty(64, N, device=x.device)
    each = triton.cdiv(M, 64)
    partial_sums[(64,)](x, parts, M, N, each, B=triton.next_power_of_2(N))
    return parts.sum(0)
"""


def test_a_buffer_that_is_summed_is_read_and_not_written() -> None:
    (faults,) = _faults(PARTIAL.format(guard="if pid * each >= M: return"))
    assert faults.unwritten
    assert _faults(PARTIAL.format(guard="pass")) == ()


@pytest.mark.parametrize("shown", ["y.shape == (M, N)", "(M, N) == y.shape"])
def test_shapes_that_an_assertion_compares_are_the_same_sizes(shown: str) -> None:
    text = f"""
@triton.jit
def sums(x, y, z, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(z + o, tl.load(x + o, mask=o < n) + tl.load(y + o, mask=o < n), mask=o < n)

def added(x, y):
    M, N = x.shape
    assert {shown}
    z = torch.empty(M, N, device=x.device)
    sums[(triton.cdiv(M * N, 16),)](x, y, z, M * N, B=16)
    return z
"""
    assert _faults(text) == ()
    (faults,) = _faults(text.replace("(M * N, 16)", "(M * N, 32)"))
    assert faults.unwritten
