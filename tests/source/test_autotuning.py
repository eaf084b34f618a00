"""Autotune decorators: configurations from the ways people write them."""

import pytest

from tilewright.source import parse_module
from tilewright.source.model import Autotune

HEAD = "import itertools\nimport triton\nimport triton.language as tl\nfrom triton import Config\n"
KERNEL = "@triton.jit\ndef k(x, n, BLOCK: tl.constexpr): pass\n"


def read(decorator: str, before: str = "") -> Autotune:
    (kernel,) = parse_module(f"{HEAD}{before}\n@triton.autotune({decorator})\n{KERNEL}").kernels
    assert kernel.autotune is not None
    return kernel.autotune


def blocks(autotune: Autotune) -> list[object]:
    assert autotune.configs is not None
    return [config.values.get("BLOCK") for config in autotune.configs]


def test_literal_list() -> None:
    tuned = read(
        "configs=[triton.Config({'BLOCK': 64}, num_warps=4, num_stages=3),"
        " triton.Config(kwargs={'BLOCK': 128, 'waves_per_eu': 2}, num_warps=8)], key=['n'],"
        " reset_to_zero=['x'], restore_value=None"
    )
    assert tuned.configs is not None
    assert tuned.configs[0].values == {"BLOCK": 64}
    assert tuned.configs[0].options == {"num_warps": 4, "num_stages": 3}
    assert tuned.configs[1].options == {"waves_per_eu": 2, "num_warps": 8}
    assert (tuned.key, tuned.reset_to_zero, tuned.restore_value) == (("n",), ("x",), ())


@pytest.mark.parametrize(
    ("expression", "before", "expected"),
    [
        ("[Config({'BLOCK': b}) for b in (16, 32)]", "", [16, 32]),
        ("[Config({'BLOCK': 2 ** i}) for i in range(4, 6)]", "", [16, 32]),
        ("[Config(dict(BLOCK=b)) for b in SIZES if b > 16]", "SIZES = [16, 32]", [32]),
        (
            "[Config({'BLOCK': b}, num_warps=w) for b, w in itertools.product([8], [2, 4])]",
            "",
            [8, 8],
        ),
        ("CONFIGS", "CONFIGS = [Config({'BLOCK': 8})] + [Config({'BLOCK': 16})]", [8, 16]),
        (
            "configs()",
            "def configs(low=8):\n"
            "    out = []\n"
            "    for b in (low, 2 * low):\n"
            "        if b > low:\n"
            "            out.append(Config({'BLOCK': b}))\n"
            "    return out\n",
            [16],
        ),
    ],
)
def test_decidable_lists(expression: str, before: str, expected: list[int]) -> None:
    assert blocks(read(f"configs={expression}, key=['n']", before)) == expected


@pytest.mark.parametrize(
    ("expression", "before"),
    [
        ("get_configs()", "from elsewhere import get_configs"),
        ("CONFIGS", "CONFIGS = []\nif fast():\n    CONFIGS = [Config({})]"),
        ("CONFIGS", "CONFIGS = [Config({})]\nfor c in other():\n    CONFIGS.append(c)"),
        ("[c for c in CONFIGS if torch.cuda.is_available()]", "CONFIGS = [Config({})]"),
        ("loop()", "def loop():\n    return loop()\n"),
        ("[Config({'BLOCK': b}) for b in range(10 ** 9)]", ""),
        ("[Config({'BLOCK': 1})] * 10 ** 9", ""),
        ("3", ""),
    ],
)
def test_undecidable_lists_are_none(expression: str, before: str) -> None:
    assert read(f"configs={expression}, key=['n']", before).configs is None


def test_unknown_values_inside_a_known_list() -> None:
    tuned = read("configs=[Config({'BLOCK': size()}, num_warps=warps)], key=KEYS")
    assert tuned.configs is not None
    assert tuned.configs[0].values == {"BLOCK": None}
    assert tuned.configs[0].options == {"num_warps": None}
    assert tuned.key is None


def test_heuristics() -> None:
    text = f"{HEAD}@triton.heuristics(values={{'EVEN': lambda a: 1, 'BLOCK': f}})\n{KERNEL}"
    (kernel,) = parse_module(text).kernels
    assert kernel.heuristics == ("EVEN", "BLOCK")
