"""Types of Triton's language that are made once in the interpreter are as those made anew."""

from typing import Any

import numpy as np
import pytest
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from tilewright.worker.interpreter import type_cache

pytestmark = pytest.mark.triton


def described(kind: Any) -> dict[str, Any]:
    tensor = tl.tensor(TensorHandle(np.zeros(list(kind.shape), np.float32), kind.scalar), kind)
    return {
        "type": (str(kind), list(kind.shape), kind.numel, kind.element_ty),
        "tensor": (str(tensor.shape), str(tensor.numel), tensor.dtype, tensor.type is kind),
        "numpy": interpreter._get_np_dtype(kind),
    }


def test_types_made_a_second_time_are_as_the_first_ones() -> None:
    def made() -> list[dict[str, Any]]:
        elements = (tl.float32, tl.int32, tl.pointer_type(tl.float16), tl.float32)
        return [
            described(tl.block_type(element, shape))
            for element in elements
            for shape in ([4, 8], [8, 4], [16], [4, 8])
        ]

    plain = made()
    with type_cache.shared():
        assert made() == plain
        assert made() == plain
    assert made() == plain


def test_a_shape_that_is_none_is_refused_each_time() -> None:
    with type_cache.shared():
        for _ in range(2):
            with pytest.raises((TypeError, ValueError)):
                tl.block_type(tl.float32, [3])
            with pytest.raises(TypeError):
                tl.block_type(tl.float32, [])
