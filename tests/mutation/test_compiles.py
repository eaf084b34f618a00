"""Kernels that compile still compile with an issue put in."""

import importlib.util
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest
from each import sample
from recall import trials
from sources import own_modules

from tilewright.analysis.flow import flow_of
from tilewright.rewrites.rewinds import Rewind, all_rewinds
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module

pytestmark = pytest.mark.triton
_HEADER = "import torch\nimport triton\nimport triton.language as tl\n"
_ELSEWHERE = {
    "device_option_on_wrong_backend",
    "autotune_duplicate_params",
    "device_host_sync",
    "call_outside_kernel",
    "method_not_called",
    "missing_autotune",
    "missing_grf_mode",
    "suboptimal_warps",
    "no_swizzling",
}
"""Issues of launches and decorators, whose rewinds leave what is compiled alone."""


@pytest.mark.hypothesis
@pytest.mark.parametrize(
    "rewind",
    sample([r for r in all_rewinds() if r.issue not in _ELSEWHERE], 3),
    ids=lambda r: r.issue,
)
def test_rewound_kernels_compile(rewind: Rewind, tmp_path: Path) -> None:
    compiled = 0
    for trial in islice(trials(own_modules(), [rewind]), 40):
        before, after = trial.module.text, trial.rewound.text
        if rewind.issue == "dtype_float64" and "tl.dot" in before:
            # A sum of another type than the product's is an error as well as slow.
            continue
        if _error(before, trial.kernel, tmp_path / "before.py") is None:
            assert _error(after, trial.kernel, tmp_path / "after.py") is None, trial.place
            compiled += 1
        if compiled == len(sample(range(3), 12)):
            return
    if not compiled:
        pytest.skip("none of our own kernels with this site compiles for fp16 tensors")


def _error(text: str, name: str, path: Path) -> str | None:
    """What Triton's frontend says against a kernel of fp16 tensors and integers."""
    from triton.compiler.errors import CompilationError

    module = parse_module(_HEADER + text, str(path))
    kernel = module.kernel(name)
    assert kernel is not None
    path.write_text(module.text)
    try:
        _compile(_loaded(path), module, kernel)
    except (CompilationError, NameError, TypeError, AttributeError) as error:
        return str(error)
    return None


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def _compile(loaded: ModuleType, module: Module, kernel: Kernel) -> None:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    function = getattr(loaded, kernel.name)
    while not isinstance(function, triton.JITFunction):
        function = function.fn
    pointers = {access.base for access in flow_of(module, kernel).accesses}
    signature = {
        p.name: "constexpr" if p.is_constexpr else "*fp16" if p.name in pointers else "i32"
        for p in kernel.parameters
    }
    constants = {(place,): 32 for place, p in enumerate(kernel.parameters) if p.is_constexpr}
    source = ASTSource(function, signature, constants)
    triton.compile(source, target=GPUTarget("cuda", 90, 32))
