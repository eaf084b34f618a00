"""What the knowledge base says of Triton, held against the Triton that is installed."""

import pytest

from tilewright.knowledge.base import all_constraints, constraints

pytestmark = pytest.mark.triton
triton = pytest.importorskip("triton")


def _version() -> tuple[int, int]:
    major, minor = triton.__version__.split(".")[:2]
    return int(major), int(minor)


def _parameter(constraint: str, name: str) -> object:
    found = next(c for c in all_constraints() if c.id == constraint)
    return found.check.parameters[name]


def _resolves(dotted: str) -> bool:
    value: object = triton
    for part in dotted.split(".")[1:]:
        value = getattr(value, part, None)
    return value is not None


def test_the_element_limit() -> None:
    import triton.language.core as core

    assert _parameter("tile_element_limit", "maximum") == core.TRITON_MAX_TENSOR_NUMEL


@pytest.mark.parametrize("constraint", ["no_prefetch", "no_math_tanh"])
def test_functions_that_do_not_exist(constraint: str) -> None:
    import triton.language

    (name,) = _parameter(constraint, "calls")  # type: ignore[misc]
    assert not _resolves(name)
    assert triton.language.sigmoid


def test_block_pointers_are_gone_where_we_say_so() -> None:
    import triton.language as tl

    said = "no_block_pointers" in {c.id for c in constraints(None, _version())}
    gone = True
    try:
        tl.make_block_ptr(None, (), (), (), (), (), _semantic=object())
    except NotImplementedError:
        pass
    except (AttributeError, TypeError, ValueError):
        gone = False
    assert said == gone


@pytest.mark.parametrize(("backend", "module"), [("cuda", "nvidia"), ("hip", "amd")])
def test_forbidden_options_are_unknown_and_others_known(backend: str, module: str) -> None:
    import dataclasses
    import importlib

    compiler = importlib.import_module(f"triton.backends.{module}.compiler")
    options = compiler.CUDAOptions if backend == "cuda" else compiler.HIPOptions
    known = {field.name for field in dataclasses.fields(options)}
    checks = [c.check for c in all_constraints() if c.applies_to.backends == (backend,)]
    forbidden = {str(c.parameters["option"]) for c in checks if c.name == "option_forbidden"}
    assert forbidden
    assert not forbidden & known
    assert {"num_warps", "num_stages"} <= known


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_the_least_dot_on_nvidia(bits: int) -> None:
    if _version() < (3, 9):
        pytest.skip("stated for Triton 3.9 and later")
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.compiler import min_dot_size

    dtype = {8: tl.int8, 16: tl.float16, 32: tl.float32, 64: tl.float64}[bits]
    tile = tl.block_type(dtype, [16, 16])
    least = min_dot_size(GPUTarget("cuda", 90, 32))(tile, tile)
    stated = _parameter("cuda_dot_minimum", "k")
    assert isinstance(stated, dict)
    assert least == (1, 1, stated[str(bits)])
