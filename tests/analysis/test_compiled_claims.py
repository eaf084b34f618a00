"""What issues say of the installed compilers: lanes without a value, barriers, removed loops."""

import re
from pathlib import Path

import pytest
from kernel_modules import imported

pytestmark = pytest.mark.triton

_KERNELS = """
import triton
import triton.language as tl

@triton.jit
def total(x_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + at, mask=at < n)))

@triton.jit
def released(x_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1.0, mask=at < n)
    tl.atomic_xchg(y_ptr, 0.0)

@triton.jit
def waits_plainly(x_ptr, y_ptr, n, B: tl.constexpr):
    while tl.load(x_ptr, cache_modifier=".cv") < 1:
        pass
    tl.store(y_ptr, 1.0)

@triton.jit
def waits_by_a_name(x_ptr, y_ptr, n, B: tl.constexpr):
    flag = tl.load(x_ptr)
    while flag < 1:
        flag = tl.load(x_ptr)
    tl.store(y_ptr, 1.0)

@triton.jit
def waits_by_an_atomic(x_ptr, y_ptr, n, B: tl.constexpr):
    while tl.atomic_add(x_ptr, 0) < 1:
        pass
    tl.store(y_ptr, 1.0)

@triton.jit
def waits_volatile(x_ptr, y_ptr, n, B: tl.constexpr):
    while tl.load(x_ptr, volatile=True) < 1:
        pass
    tl.store(y_ptr, 1.0)

@triton.jit
def casts_by_method(x_ptr, y_ptr, n, B: tl.constexpr):
    tl.store(y_ptr, n.to(tl.float32))

@triton.jit
def casts_by_function(x_ptr, y_ptr, n, B: tl.constexpr):
    tl.store(y_ptr, tl.cast(n, tl.float32))
"""


def _assembly(
    folder: Path,
    name: str,
    backend: str,
    arch: object,
    warp: int,
    stage: str,
    n: int | None = None,
) -> str:
    """The code of a stage; with ``n`` as Triton has it where an argument is a constant."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = getattr(imported(_KERNELS, folder / "kernels_of_claims.py"), name)
    kind = "i32" if n is None else "constexpr"
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": kind, "B": "constexpr"}
    constants = {(3,): 128} | ({} if n is None else {(2,): n})
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    return str(triton.compile(source, target=GPUTarget(backend, arch, warp)).asm[stage])


def test_nvidia_gets_zeros(tmp_path: Path) -> None:
    assembly = _assembly(tmp_path, "total", "cuda", 90, 32, "ptx")
    loads = re.findall(r"mov\.u32 (%r\d+), 0x0;\s+@%p\d+ ld\.global\.b32 \{ (%r\d+) \}", assembly)
    assert loads
    assert all(zeroed == loaded for zeroed, loaded in loads)


def test_amd_reads_past_the_end_of_a_buffer_which_gives_zeros(tmp_path: Path) -> None:
    assembly = _assembly(tmp_path, "total", "hip", "gfx942", 64, "llir")
    assert re.search(r"select i1 .*, i32 -2147483648", assembly)
    assert "amdgcn.raw.ptr.buffer.load" in assembly


def test_nvidia_gets_a_barrier_between_a_store_and_an_atomic(tmp_path: Path) -> None:
    assembly = _assembly(tmp_path, "released", "cuda", 90, 32, "ptx")
    _, _, behind = assembly.partition("st.global")
    before, atomic, _ = behind.partition("atom.global")
    assert atomic
    assert "bar.sync" in before


@pytest.mark.parametrize("chip", [("cuda", 90, 32), ("hip", "gfx942", 64)], ids=["nvidia", "amd"])
@pytest.mark.parametrize(
    ("name", "loops"),
    [
        ("waits_plainly", 0),
        ("waits_by_a_name", 0),
        ("waits_by_an_atomic", 1),
        ("waits_volatile", 1),
    ],
)
def test_a_wait_without_effect_is_removed(
    tmp_path: Path, chip: tuple[str, object, int], name: str, loops: int
) -> None:
    assert _assembly(tmp_path, name, *chip, "ttir").count("scf.while") == loops


def test_a_number_has_no_method_to_cast_it(tmp_path: Path) -> None:
    from triton.compiler.errors import CompilationError

    chip = ("cuda", 90, 32, "ttir")
    assert "arith.sitofp" in _assembly(tmp_path, "casts_by_method", *chip)
    assert "1.000000e+00" in _assembly(tmp_path, "casts_by_function", *chip, n=1)
    with pytest.raises(CompilationError, match="no attribute 'to'"):
        _assembly(tmp_path, "casts_by_method", *chip, n=1)
