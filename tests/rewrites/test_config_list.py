"""Taking configurations out of an autotune list, whatever its layout."""

import pytest

from tilewright.rewrites.configs import drop_configs
from tilewright.rewrites.model import Refusal
from tilewright.source import parse_module

HEAD = "import triton\nimport triton.language as tl\n\n\n"
BODY = "@triton.jit\ndef k(x_ptr, n, BLOCK: tl.constexpr):\n    pass\n"
SPREAD = """@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 64}),  # small
        triton.Config({"BLOCK": 128}),
        triton.Config({"BLOCK": 256}),
        triton.Config({"BLOCK": 512}),
    ],
    key=["n"],
)
"""
ONE_LINE = (
    '@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])\n'
)


def blocks(text: str) -> list[object]:
    kernel = parse_module(text).kernel("k")
    assert kernel is not None
    assert kernel.autotune is not None
    assert kernel.autotune.configs is not None
    return [config.values["BLOCK"] for config in kernel.autotune.configs]


@pytest.mark.parametrize(
    ("dropped", "left"),
    [
        ({0}, [128, 256, 512]),
        ({3}, [64, 128, 256]),
        ({1, 2}, [64, 512]),
        ({2, 3}, [64, 128]),
        ({0, 3}, [128, 256]),
        ({0, 1, 2}, [512]),
    ],
)
def test_what_is_dropped_is_gone_and_the_rest_stands_in_order(
    dropped: set[int], left: list[int]
) -> None:
    module = parse_module(HEAD + SPREAD + BODY)
    text = drop_configs(module, module.kernels[0], dropped)
    assert isinstance(text, str)
    assert blocks(text) == left
    assert 'key=["n"],\n' in text


def test_a_list_on_one_line_stays_on_one_line() -> None:
    module = parse_module(HEAD + ONE_LINE + BODY)
    text = drop_configs(module, module.kernels[0], {1})
    assert text == HEAD + ONE_LINE.replace(', triton.Config({"BLOCK": 128})', "") + BODY


def test_an_empty_list_and_a_computed_one_are_refused() -> None:
    module = parse_module(HEAD + ONE_LINE + BODY)
    refused = drop_configs(module, module.kernels[0], {0, 1})
    assert isinstance(refused, Refusal)
    assert "would be left" in refused.reason
    computed = HEAD + "CONFIGS = [triton.Config({'BLOCK': 64})]\n\n\n"
    computed += "@triton.autotune(CONFIGS, key=['n'])\n" + BODY
    module = parse_module(computed)
    refused = drop_configs(module, module.kernels[0], {0})
    assert isinstance(refused, Refusal)
    assert "not written as a list" in refused.reason
