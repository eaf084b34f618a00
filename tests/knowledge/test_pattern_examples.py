"""Whole kernels in the examples of patterns compile, for a chip that the pattern is for."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from each import sample

from tilewright.knowledge.base import all_patterns
from tilewright.knowledge.patterns import Pattern
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Language, Module

pytestmark = pytest.mark.triton
triton = pytest.importorskip("triton")

from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource, CompilationError  # noqa: E402
from triton.runtime.jit import JITFunction  # noqa: E402

_PRELUDE = "import triton\nimport triton.language as tl\n\n\n"
_CHIPS: dict[str, tuple[str, int | str, int]] = {
    "cuda": ("cuda", 90, 32),
    "blackwell": ("cuda", 100, 32),
    "hip": ("hip", "gfx942", 64),
}
_REFUSED = {"hint_run_time_values-before"}
"""What an example shows because it does not compile."""
_FLOATS = ("factor",)
_WIDE = ("sum_ptr", "partial_ptr")


def _whole() -> Iterator[tuple[str, Pattern, str]]:
    """Examples with kernels, but for Intel's: its compiler is another build of Triton."""
    for pattern in all_patterns().values():
        backend = pattern.applies_to.backends[0]
        for side in ("before", "after"):
            text = getattr(pattern.example, side)
            if "@triton.jit" in text and backend in ("cuda", "hip"):
                yield f"{pattern.id}-{side}", pattern, text


CASES = list(_whole())


def test_most_patterns_show_whole_kernels() -> None:
    assert len({pattern.id for _, pattern, _ in CASES}) >= 30


@pytest.mark.hypothesis
@pytest.mark.parametrize(
    ("name", "pattern", "text"), sample(CASES, 4), ids=[c[0] for c in sample(CASES, 4)]
)
def test_it_compiles(name: str, pattern: Pattern, text: str, tmp_path: Path) -> None:
    module = parse_module(_PRELUDE + text)
    loaded = _imported(module, tmp_path)
    assert {kernel.language for kernel in module.kernels} == {Language.TRITON}
    for kernel in module.kernels:
        if name in _REFUSED:
            with pytest.raises(CompilationError):
                _compile(getattr(loaded, kernel.name), module, kernel, _chip(pattern))
        else:
            _compile(getattr(loaded, kernel.name), module, kernel, _chip(pattern))


def _chip(pattern: Pattern) -> tuple[str, int | str, int]:
    where = pattern.applies_to
    if where.backends[0] == "cuda" and not where.covers_target("cuda:90"):
        return _CHIPS["blackwell"]
    return _CHIPS[where.backends[0]]


def _imported(module: Module, folder: Path) -> ModuleType:
    """The kernels of an example, with what stands beside them but other imports."""
    path = folder / "example_kernels.py"
    lines = [x for x in module.text.splitlines() if not x.startswith("from triton.tools")]
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def _compile(function: Any, module: Module, kernel: Kernel, chip: tuple[str, Any, int]) -> Any:
    while not isinstance(function, JITFunction):
        function = function.fn
    constants = {
        (place,): _constant(kernel, parameter.name)
        for place, parameter in enumerate(kernel.parameters)
        if parameter.is_constexpr
    }
    signature = {
        p.name: "constexpr" if p.is_constexpr else _type(p.name) for p in kernel.parameters
    }
    source = ASTSource(function, signature, constants)
    return triton.compile(source, target=GPUTarget(*chip), options=_options(module, kernel))


def _options(module: Module, kernel: Kernel) -> dict[str, object]:
    """Compiler options as the example's launch states them."""
    launches = module.launches_of(kernel.name)
    nodes = launches[0].options if launches else {}
    return {name: getattr(node, "value", None) for name, node in nodes.items()}


def _constant(kernel: Kernel, name: str) -> object:
    if kernel.autotune is not None and kernel.autotune.configs:
        value = kernel.autotune.configs[0].values.get(name)
        if value is not None:
            return value
    return {"GROUP": 8, "EVEN": True, "stride": 1}.get(name, 64)


def _type(name: str) -> str:
    if name.endswith("_desc"):
        return "tensordesc<fp16[64, 64]>"
    if name.endswith("_ptr"):
        return "*fp32" if name in _WIDE else "*fp16"
    return "fp32" if name in _FLOATS else "i32"


def _example(pattern_id: str, chip: str, tmp_path: Path) -> Any:
    """The last kernel of a pattern's "after", compiled."""
    module = parse_module(_PRELUDE + all_patterns()[pattern_id].example.after)
    kernel = module.kernels[-1]
    loaded = _imported(module, tmp_path)
    return _compile(getattr(loaded, kernel.name), module, kernel, _CHIPS[chip])


def test_warps_are_specialized_on_blackwell(tmp_path: Path) -> None:
    compiled = _example("cuda_specialize_warps", "blackwell", tmp_path)
    assert "ttg.warp_specialize" in compiled.asm["ttgir"]
    assert compiled.metadata.num_warps == 8


def test_a_limit_of_registers_reaches_the_assembler(tmp_path: Path) -> None:
    assert ".maxnreg 128" in _example("cuda_limit_registers", "cuda", tmp_path).asm["ptx"]


def test_waves_per_unit_reach_the_compiler(tmp_path: Path) -> None:
    compiled = _example("hip_waves_per_unit", "hip", tmp_path)
    assert '"amdgpu-waves-per-eu"="2,2"' in compiled.asm["llir"]


@pytest.mark.parametrize(("backend", "module"), [("cuda", "nvidia"), ("hip", "amd")])
def test_options_of_patterns_are_known_to_their_backend(backend: str, module: str) -> None:
    import dataclasses
    import importlib

    compiler = importlib.import_module(f"triton.backends.{module}.compiler")
    known = compiler.CUDAOptions if backend == "cuda" else compiler.HIPOptions
    stated = {
        str(each.parameters["option"])
        for pattern in all_patterns().values()
        for each in pattern.preconditions
        if each.name == "option_unstated" and pattern.applies_to.backends == (backend,)
    }
    assert stated
    assert stated <= {field.name for field in dataclasses.fields(known)}


def test_what_patterns_say_of_options() -> None:
    import inspect

    from triton.backends.amd.compiler import HIPOptions
    from triton.backends.nvidia.compiler import CUDAOptions

    assert CUDAOptions.default_dot_input_precision == "tf32"
    assert HIPOptions.default_dot_input_precision == "ieee"
    assert (CUDAOptions.num_stages, HIPOptions.num_stages) == (3, 2)
    assert (HIPOptions(arch="gfx942").warp_size, HIPOptions(arch="gfx1100").warp_size) == (64, 32)
    assert "num_consumer_groups" not in inspect.signature(triton.Config).parameters
    assert "atomic_add" in dir(triton.language.tensor_descriptor)


@pytest.mark.parametrize(("pointer", "element"), [("*fp16", "f16"), ("*bf16", "bf16")])
def test_sums_of_halves_are_taken_in_halves(pointer: str, element: str, tmp_path: Path) -> None:
    module = parse_module(_PRELUDE + all_patterns()["sum_in_fp32"].example.before)
    function = getattr(_imported(module, tmp_path), module.kernels[0].name)
    signature = {"x_ptr": pointer, "out_ptr": pointer, "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(function, signature, {(3,): 64})
    text = triton.compile(source, target=GPUTarget(*_CHIPS["cuda"])).asm["ttir"]
    additions = [line for line in text.splitlines() if "arith.addf" in line]
    assert additions
    assert all(f": {element}" in line for line in additions)


def test_kpack_is_taken_back_on_the_newest_cdna() -> None:
    from triton.backends.amd.compiler import HIPOptions

    with pytest.warns(UserWarning, match="kpack is deprecated"):
        assert HIPOptions(arch="gfx950", kpack=2).kpack == 1
