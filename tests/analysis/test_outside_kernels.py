"""What the detector takes for functions of kernels alone, Triton refuses to call on the host."""

import pytest

from tilewright.analysis.detectors.host_code.outside_kernels import ONLY_IN_KERNELS
from tilewright.knowledge.api import language_api

pytestmark = pytest.mark.triton


def test_all_are_functions_of_some_version() -> None:
    assert language_api().names.keys() >= ONLY_IN_KERNELS


@pytest.mark.parametrize("name", sorted(ONLY_IN_KERNELS))
def test_it_is_no_function_of_the_host(name: str) -> None:
    import triton.language as tl
    from triton.language.core import is_builtin
    from triton.runtime import JITFunction

    function = getattr(tl, name, None)
    assert function is None or is_builtin(function) or isinstance(function, JITFunction)


def test_the_host_cannot_count_blocks_with_it() -> None:
    import triton.language as tl

    with pytest.raises(RuntimeError, match="outside of the scope of a kernel"):
        tl.cdiv(10, 3)
