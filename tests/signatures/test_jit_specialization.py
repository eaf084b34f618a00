"""What a launch becomes for the compiler is what Triton's own JIT would make of it."""

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("triton")

import specialized_kernels
import torch
from each import examples
from hypothesis import example, given
from hypothesis import strategies as st

from tilewright.worker.host import absent_device
from tilewright.worker.launches import hooks
from tilewright.worker.launches.jit_signature import specialize

pytestmark = pytest.mark.triton

KERNELS = ("plain", "told", "annotated", "typed")
INTEGERS = st.one_of(
    st.integers(-64, 64),
    st.sampled_from((2**31 - 1, 2**31, 2**31 + 16, -(2**31), -(2**31) - 16, 2**63, 2**63 + 16)),
    st.integers(0, 2**64 - 1),
    st.integers(-(2**63), -1),
)
BASE = torch.empty(64, dtype=torch.float32)
DTYPES = (
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.int64,
    torch.uint8, torch.bool, torch.float8_e4m3fn, torch.float8_e5m2,
)  # fmt: skip
TENSORS = st.builds(
    lambda dtype, offset: torch.empty(64, dtype=dtype)[offset:],
    st.sampled_from(DTYPES),
    st.sampled_from((0, 1, 4, 16)),
)
SCALARS = st.one_of(INTEGERS, st.booleans(), st.floats(allow_nan=False), st.none())
ANYTHING = st.one_of(TENSORS, SCALARS)
ARGUMENTS = st.tuples(
    st.one_of(TENSORS, st.none()),
    SCALARS,
    SCALARS,
    SCALARS,
    st.one_of(ANYTHING, st.tuples(ANYTHING), st.tuples(ANYTHING, st.tuples(ANYTHING, SCALARS))),
    st.one_of(st.integers(), st.just("relu"), st.booleans(), st.none()),
)


@pytest.fixture(scope="module", params=[("cuda", "90"), ("hip", "gfx942")], ids=lambda p: p[0])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """A chip that Triton believes to be there."""
    from triton.runtime.driver import driver

    before = driver._active
    with absent_device.no_driver(*request.param):
        yield request.param[0]
    driver._active = before


@examples(150)
@given(name=st.sampled_from(KERNELS), arguments=ARGUMENTS)
@example("plain", (BASE[1:], 1, True, 1, (1, 16, None, BASE), 32))
@example("told", (BASE, 1, 16, 16, 1, 32))
@example("annotated", (BASE, 16, 1, 2, 2**31, 32))
@example("typed", (BASE, None, 1, 1, 1, None))
def test_equals_what_the_jit_makes_of_it(
    backend: str, name: str, arguments: tuple[Any, ...]
) -> None:
    kernel = getattr(specialized_kernels, name)
    bound, _ = hooks.bind(kernel, arguments, {})
    facts = [hooks.describe(param, bound[param.name]) for param in kernel.params]
    launch = {"kernel": name, "arguments": facts}
    assert _plain(specialize(kernel, launch, backend, specialized_kernels)) == _plain(
        _by_the_jit(kernel, arguments)
    )


def _by_the_jit(kernel: Any, arguments: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    _, _, _, backend, binder = kernel.create_binder()
    bound, specialization, _ = binder(*arguments)
    _, signature, constants, attributes = kernel._pack_args(backend, {}, bound, specialization, {})
    return signature, constants, attributes


def _plain(made: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Without empty attributes, and with the two names of a bit, ``i1`` and ``u1``, as one."""
    signature, constants, attributes = made
    return (
        {name: _one_bit(kind) for name, kind in signature.items()},
        {path: repr(value) for path, value in constants.items()},
        {path: described for path, described in attributes.items() if described},
    )


def _one_bit(kind: Any) -> Any:
    if isinstance(kind, tuple):
        return tuple(_one_bit(item) for item in kind)
    return kind.replace("i1", "u1") if kind in ("*i1", "*ki1") else kind
