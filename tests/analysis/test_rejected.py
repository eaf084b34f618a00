"""What the detectors call a compile error, the compiler refuses; what they pass, it takes.

Each kernel of the golden files named here goes through the front end of the installed Triton,
for an NVIDIA chip, with guessed argument types: no GPU is needed.
"""

import re
from pathlib import Path
from types import ModuleType

import pytest
from kernel_modules import imported
from snippets import KERNELS, Snippet, read

from tilewright.compiled.claims import CLAIMS
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Language

pytestmark = pytest.mark.triton

_PRELUDE = "import triton\nimport triton.language as tl\n\n\n"
_UNDECIDED = frozenset(
    (
        "version_unknown", "clamp", "either_way", "any_count", "fold_columns", "filled", "zeroed",
        "median", "rendered", "gathered_product", "two_parts",
        "of_unit_stride", "behind_one", "mean_of_rows", "by_lambda", "on_npu",
    )
)  # fmt: skip
"""Kernels that compile with some launches and not with others, or only once the host has replaced
names in their text, neither of which the test reads; and those of an interpreter or a vendor."""
_FLOATS = ("factor", "scale", "eps", "alpha", "limit")


def _cases() -> list[tuple[Snippet, Kernel]]:
    found = []
    for issue in sorted(CLAIMS):
        path = KERNELS / f"{issue}.md"
        for snippet in read(path) if path.exists() else ():
            if snippet.context.triton_version in (None, (3, 9)):
                found += [(snippet, kernel) for kernel in _compilable(snippet)]
    return found


def _compilable(snippet: Snippet) -> list[Kernel]:
    """Top-level kernels of a snippet that say nothing of files which are not there."""
    if re.search(r"from (elsewhere|activations) |import triton_dist|extract_slice", snippet.text):
        return []
    module = parse_module(snippet.text)
    called = {
        name
        for kernel in module.kernels
        for name in re.findall(r"\b(\w+)\(", kernel.text)
        if name != kernel.name
    }
    return [
        k
        for k in module.kernels
        if k.language is Language.TRITON
        and k.name not in called | _UNDECIDED
        and k.node.col_offset == 0
    ]


def _expected(snippet: Snippet, kernel: Kernel) -> bool:
    return any(kernel.range.line <= line <= kernel.range.end_line for line in snippet.expected)


@pytest.mark.parametrize(
    ("snippet", "kernel"), _cases(), ids=lambda x: x.name if isinstance(x, Snippet | Kernel) else ""
)
def test_the_compiler_agrees(snippet: Snippet, kernel: Kernel, tmp_path: Path) -> None:
    error = _refusal(_imported(snippet, tmp_path), kernel, snippet)
    if _expected(snippet, kernel):
        assert error is not None
    else:
        assert error is None


def _imported(snippet: Snippet, folder: Path) -> ModuleType:
    text = snippet.text
    whole = text if "import triton\n" in text else _PRELUDE + text
    return imported(whole, folder / "kernels_under_test.py")


def _refusal(module: ModuleType, kernel: Kernel, snippet: Snippet) -> BaseException | None:
    """What the front end says of a kernel, None if it takes it."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend
    from triton.compiler.errors import CompilationError
    from triton.runtime.jit import JITFunction

    function = getattr(module, kernel.name)
    while not isinstance(function, JITFunction):
        function = function.fn
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(function, _signature(kernel), _constants(kernel, snippet))
    try:
        source.make_ir(
            target,
            options,
            backend.get_codegen_implementation(options),
            backend.get_module_map(),
            context,
        )
    except (CompilationError, NameError) as error:
        return error
    return None


def _signature(kernel: Kernel) -> dict[str, str]:
    return {p.name: "constexpr" if p.is_constexpr else _type(p.name) for p in kernel.parameters}


def _type(name: str) -> str:
    if name.endswith("ptr"):
        return "*i32" if name.startswith(("index", "keep", "flag", "count")) else "*fp32"
    return "fp32" if name in _FLOATS else "i32"


def _constants(kernel: Kernel, snippet: Snippet) -> dict[tuple[int, ...], object]:
    """Constexprs as the snippet's launch states them, but for a heuristic's, else a small tile."""
    tuned = (
        kernel.autotune.configs[-1].values if kernel.autotune and kernel.autotune.configs else {}
    )
    found: dict[tuple[int, ...], object] = {}
    for place, parameter in enumerate(kernel.parameters):
        if parameter.is_constexpr:
            stated = re.search(rf"\b{parameter.name}:?=(\d+)", snippet.text)
            guess = tuned.get(parameter.name, _guess(parameter.name))
            is_chosen = parameter.name in kernel.heuristics
            found[(place,)] = int(stated.group(1)) if stated and not is_chosen else guess
    return found


def _guess(name: str) -> object:
    if name.startswith(("EVEN", "CAUSAL", "FLIP", "HAS", "WIDE", "IS_")):
        return True
    return "sum" if name == "KIND" else 32
