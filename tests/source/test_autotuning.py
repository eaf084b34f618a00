"""Autotune decorators: configurations from the ways people write them."""

import pytest

from tilewright.source import parse_module
from tilewright.source.model import Autotune

HEAD = "import itertools\nimport triton\nimport triton.language as tl\nfrom triton import Config\n"
KERNEL = "@triton.jit\ndef k(x, n, BLOCK: tl.constexpr): pass\n"

PAIR = "CONFIGS = [Config({'BLOCK': b}) for b in (16, 512)]"


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
        ("CONFIGS", "CONFIGS = [1]\nCONFIGS = [Config({'BLOCK': 8})]", [8]),
        ("CONFIGS", "CONFIGS = []\nCONFIGS += [Config({'BLOCK': 8})]", [8]),
        (
            "CONFIGS",
            "CONFIGS = []\nfor b in (8, 16):\n    CONFIGS.append(Config({'BLOCK': b}))",
            [8, 16],
        ),
        ("[Config({**BASE, 'BLOCK': 32})]", "BASE = {'BLOCK': 8}", [32]),
        ("[Config({'BLOCK': a * b}) for a in (1, 2) for b in (8, 16) if a != 2]", "", [8, 16]),
        ("[Config(c) for c in T]", "T = [{'BLOCK': b} for b in (1 << 4, 1 << 5)]", [16, 32]),
        (
            "list(filter(keep, CONFIGS))",
            "CONFIGS = [Config({'BLOCK': b}, num_warps=4) for b in (16, 512)]\n"
            "def keep(c):\n"
            "    block = c.kwargs['BLOCK']\n"
            "    if c.num_warps == 4 and block > 128:\n"
            "        return False\n"
            "    return True\n",
            [16],
        ),
        ("list(filter(lambda c: c.kwargs['BLOCK'] < 64, CONFIGS))", PAIR, [16]),
        ("[c for c in CONFIGS if c.num_stages == 3]", PAIR, [16, 512]),
        (
            "configs()",
            "def configs():\n"
            "    '''Doc.'''\n"
            "    sizes: list = [8, 16, 24]\n"
            "    found = []\n"
            "    for i, b in enumerate(sizes):\n"
            "        if b == 16:\n"
            "            continue\n"
            "        found += [Config(dict(BLOCK=b), num_warps=2 ** i)]\n"
            "    return found\n",
            [8, 24],
        ),
        (
            "[Config({'BLOCK': b}, **o) for b, o in itertools.product([8], [{'num_warps': 4}])]",
            "",
            [8],
        ),
        ("tuple(Config({'BLOCK': triton.next_power_of_2(b)}) for b in (5, 9))", "", [8, 16]),
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
        ("[Config({'BLOCK': 1})] + [[0] * 1000] * 1000 * 1000", ""),
        ("double([Config({})], 60)", "def double(a, n):\n    for i in range(n):\n        a += a\n"),
        ("list(itertools.product(range(40000), range(40000)))", ""),
        ("configs()", "@traced\ndef configs():\n    return [Config({})]"),
        ("configs()", "def configs():\n    while True:\n        pass"),
        ("configs()", "if NEW:\n    def configs(): return []\nelse:\n    def configs(): return []"),
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


def test_a_list_counts_as_it_was_at_the_decorator() -> None:
    module = parse_module(
        f"{HEAD}CONFIGS = [Config({{'BLOCK': 8}})]\n"
        f"@triton.autotune(CONFIGS, key=[])\n{KERNEL}"
        "CONFIGS.append(Config({'BLOCK': 16}))\n"
        f"@triton.autotune(CONFIGS, key=[])\n{KERNEL.replace('def k', 'def late')}"
    )
    early, late = (kernel.autotune for kernel in module.kernels)
    assert early is not None
    assert late is not None
    assert (blocks(early), blocks(late)) == ([8], [8, 16])


def test_hooks_and_other_arguments() -> None:
    tuned = read(
        "[Config({'BLOCK': 8}, pre_hook=clear), Config({'BLOCK': 16}, pre_hook=None)], key=['n'],"
        " prune_configs_by={'early_config_prune': prune}, warmup=10, use_cuda_graph=True"
    )
    assert tuned.configs is not None
    assert [config.has_hook for config in tuned.configs] == [True, False]
    assert tuned.configs[0].options == {}
    assert tuned.others == {
        "prune_configs_by": "{'early_config_prune': prune}",
        "warmup": "10",
        "use_cuda_graph": "True",
    }
