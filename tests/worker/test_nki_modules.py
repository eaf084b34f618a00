"""Kernels of files on the stand-ins for the vendor's modules, in both flavours."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tilewright.worker.nki import kernels, modules
from tilewright.worker.nki.settings import KernelFault, Settings, Simulated

ROOT = Path(__file__).parents[2]
VENDOR = ("neuronxcc", "nki")
OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
"""
NEW = """
import nki
import nki.isa as nisa
import nki.language as nl
"""


class Launches:
    """The launches of the kernels of a test."""

    def __init__(self) -> None:
        self.found: list[Simulated] = []
        self.runs = kernels.Runs(observe=self.found.append)

    @property
    def kinds(self) -> list[str]:
        return [fault.kind for fault in self.found[-1].errors]


def forgotten() -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] in VENDOR]:
        del sys.modules[name]


@pytest.fixture
def launches() -> Iterator[Launches]:
    """Stand-ins that go again."""
    before = {n: m for n, m in sys.modules.items() if n.partition(".")[0] in VENDOR}
    made = Launches()
    modules.install(made.runs, replace=True)
    yield made
    forgotten()
    sys.modules.update(before)


def loaded(folder: Path, text: str) -> ModuleType:
    path = folder / "kernels.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


PRODUCT = (
    NEW
    + """
@nki.jit
def product(a, b):
    (k, m), (_, n) = a.shape, b.shape
    out = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum)
    for q in nl.affine_range(k // 128):
        left = nl.ndarray((128, m), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=left, src=a[q * 128 : q * 128 + 128, 0:m])
        right = nl.ndarray((128, n), dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=right, src=b[q * 128 : q * 128 + 128, 0:n])
        nisa.nc_matmul(dst=total, stationary=left, moving=right, FLAG)
    done = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=done, src=total)
    nisa.dma_copy(dst=out, src=done)
    return out
"""
)


@pytest.mark.parametrize("flag", ["", "accumulate=None"])
def test_products_add_to_what_was_written_before(
    launches: Launches, tmp_path: Path, flag: str
) -> None:
    module = loaded(tmp_path, PRODUCT.replace("FLAG", flag))
    a, b = normal(384, 64), normal(384, 256, seed=1)
    np.testing.assert_allclose(module.product(a, b), a.T @ b, rtol=1e-4, atol=1e-4)
    assert launches.kinds == []
    records = {r["op"]: r for r in launches.found[-1].records}
    assert records["nki.isa.nc_matmul"]["count"] in (1, 2, 3)
    assert records["nki.isa.dma_copy"]["bytes"] > 0


def test_simulate_gives_a_function_of_the_arguments(launches: Launches, tmp_path: Path) -> None:
    host = "\ndef host(a, b):\n    return nki.simulate(product)(a, b)\n"
    module = loaded(tmp_path, PRODUCT.replace("FLAG", "") + host)
    a, b = normal(128, 64), normal(128, 256, seed=1)
    np.testing.assert_allclose(module.host(a, b), a.T @ b, rtol=1e-4, atol=1e-4)
    assert len(launches.found) == 1


def test_a_product_overwrites_where_it_is_asked_to(launches: Launches, tmp_path: Path) -> None:
    module = loaded(tmp_path, PRODUCT.replace("FLAG", "accumulate=False"))
    a, b = normal(384, 64), normal(384, 256, seed=1)
    np.testing.assert_allclose(module.product(a, b), a[256:].T @ b[256:], rtol=1e-4, atol=1e-4)


def test_access_patterns_and_positions(launches: Launches, tmp_path: Path) -> None:
    text = (
        NEW
        + """
@nki.jit
def kernel(x):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x.ap(pattern=[[64, 128], [1, 32], [32, 2]], offset=0))
    low = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.affine_select(
        dst=low, pattern=[[-1, 64]], channel_multiplier=1, on_true_tile=tile, on_false_value=0.0
    )
    nisa.dma_copy(dst=out, src=low)
    return out
"""
    )
    x = normal(128, 64)
    expected = np.tril(x.reshape(128, 2, 32).transpose(0, 2, 1).reshape(128, 64))
    np.testing.assert_array_equal(loaded(tmp_path, text).kernel(x), expected)
    assert launches.kinds == []


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("nl.ndarray((2, nl.par_dim(128), 8), dtype=x.dtype, buffer=nl.sbuf)", "argument"),
        ("nl.load(x[0:128, 0:8])", "unsupported"),
        ("nisa.unheard_of(dst=x)", "unsupported"),
        ("nisa.memset(dst=x, value=0.0)", "memory"),
        ("nl.ndarray((129, 8), dtype=x.dtype, buffer=nl.sbuf)", "limit"),
        ("nl.ndarray((128, 4097), dtype=x.dtype, buffer=nl.psum)", "capacity"),
        ("nl.ndarray((128, 8), dtype='float64', buffer=nl.sbuf)", "argument"),
    ],
)
def test_what_the_newer_package_refuses(
    launches: Launches, tmp_path: Path, body: str, kind: str
) -> None:
    text = f"{NEW}\n@nki.jit\ndef kernel(x):\n    {body}\n"
    with pytest.raises(KernelFault) as stopped:
        loaded(tmp_path, text).kernel(normal(128, 8))
    assert stopped.value.fault.kind == kind
    assert stopped.value.fault.file.endswith("kernels.py")
    assert stopped.value.fault.line == len(text.splitlines())


def test_a_kernel_is_launched_on_a_grid_and_calls_others(
    launches: Launches, tmp_path: Path
) -> None:
    text = (
        OLD
        + """
@nki.jit
def doubled(x):
    return nl.multiply(nl.load(x), 2.0)

@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i = nl.program_id(0)
    rows = nl.ds(i * 128, 128)
    nl.store(out[rows, 0:8], doubled(x[rows, 0:8]))
    return out
"""
    )
    x = normal(256, 8)
    np.testing.assert_array_equal(loaded(tmp_path, text).kernel[2](x), x * 2)
    with pytest.raises(KernelFault, match="256 partitions"):
        loaded(tmp_path, text).doubled(x)


def test_an_argument_is_written_where_its_annotation_says_so(
    launches: Launches, tmp_path: Path
) -> None:
    text = (
        OLD
        + """
import neuronxcc.nki.typing as nt

@nki.jit
def kernel(x: nt.mutable_tensor):
    nl.store(x[0:64, 0:8], nl.multiply(nl.load(x[0:64, 0:8]), 2.0))
    return x
"""
    )
    x = normal(128, 8)
    expected = np.concatenate([x[:64] * 2, x[64:]])
    np.testing.assert_array_equal(loaded(tmp_path, text).kernel(x.copy()), expected)
    with pytest.raises(KernelFault, match="immutable"):
        loaded(tmp_path, text.replace(": nt.mutable_tensor", "")).kernel(x)


def test_addresses_that_a_kernel_chooses_are_a_warning(launches: Launches, tmp_path: Path) -> None:
    text = (
        OLD
        + """
import neuronxcc.nki.compiler as ncc

@nki.jit
def kernel(x):
    out = nl.ndarray((128, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((nl.par_dim(128), 8), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    tile[...] = nl.load(x)
    nl.store(out, tile)
    return out
"""
    )
    x = normal(128, 8)
    np.testing.assert_array_equal(loaded(tmp_path, text).kernel(x), x)
    assert [(f.kind, f.severity) for f in launches.found[-1].faults] == [("unsupported", "warning")]


def test_a_package_that_is_installed_is_left_alone(tmp_path: Path) -> None:
    before = {n: m for n, m in sys.modules.items() if n.partition(".")[0] in VENDOR}
    forgotten()
    (tmp_path / "nki").mkdir()
    (tmp_path / "nki" / "__init__.py").write_text("")
    (tmp_path / "nki" / "language.py").write_text("")
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    try:
        assert "nki" not in modules.install()
        assert "nki" in modules.install(replace=True)
    finally:
        sys.path.remove(str(tmp_path))
        forgotten()
        sys.modules.update(before)
        importlib.invalidate_caches()


def test_reads_of_dropped_tiles_run_the_launch_again(launches: Launches, tmp_path: Path) -> None:
    """The text uses ``kept`` in one loop alone, but a turn reads what the one before wrote."""
    text = (
        OLD
        + """
@nki.jit
def kernel(x):
    out = nl.ndarray((2, 128, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    kept = nl.zeros((3, nl.par_dim(128), 8), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.sequential_range(2):
        kept[i + 1] = nl.add(nl.load(x[i]), kept[i])
        nl.store(out[i], kept[i + 1])
    return out
"""
    )
    x = normal(2, 128, 8)
    np.testing.assert_array_equal(loaded(tmp_path, text).kernel(x), np.cumsum(x, axis=0))
    assert launches.kinds == []


def test_reverse_order_of_affine_loops_shows_what_depends_on_it(
    launches: Launches, tmp_path: Path
) -> None:
    text = (
        OLD
        + """
@nki.jit
def kernel(x):
    out = nl.ndarray((4, 128, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    kept = nl.ndarray((5, nl.par_dim(128), 8), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(5):
        kept[i] = nl.load(x[i])
    for i in nl.affine_range(4):
        nl.store(out[i], kept[i + 1])
        kept[i] = nl.multiply(kept[i], 0.0)
    return out
"""
    )
    module = loaded(tmp_path, text)
    x = normal(5, 128, 8)
    np.testing.assert_array_equal(module.kernel(x), x[1:])
    assert launches.kinds == []
    launches.runs.settings = Settings(reverse=True)
    assert not np.array_equal(module.kernel(x), x[1:])
    assert launches.kinds == ["loop-order"]


def test_a_sample_of_mutants_is_found(launches: Launches, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import nki_mutants

    wanted = ("nki1/softmax", "nki2/cumsum", "own/running_state")
    every: list[Any] = [case for case in nki_mutants.cases() if case.name in wanted]
    assert len(every) == len(wanted)
    found = list(nki_mutants.mutants(every, 3))
    real = [mutant for mutant in found if mutant.changes_results]
    assert len(real) >= 6
    assert [mutant for mutant in real if not mutant.found_by] == []
