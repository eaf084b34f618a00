"""A constexpr under another name: the same program, or a refusal that says where it is not sure."""

import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.navigation.model import Refusal, Uses
from tilewright.navigation.rename import rename, renamed_text
from tilewright.source import parse_module
from tilewright.source.model import Module

FILES = sorted((Path(__file__).parents[1] / "analysis" / "kernels").glob("*.md"))
CONTEXT = AnalysisContext()
IMPORTS = "import triton\nimport triton.language as tl\n"

HEAD = """\
import triton
import triton.language as tl
{above}
{decorator}
@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    {body}
    tl.store(x_ptr + offs, offs, mask=offs < n)


def launch(x, n, config):
    {launch}
"""
PLAIN = "kernel[(1,)](x, n, BLOCK=32)"


def module(**parts: str) -> Module:
    given = {"above": "", "decorator": "", "body": "pass", "launch": PLAIN, **parts}
    return parse_module(HEAD.format(**given), "kernel.py")


def renamed(source: Module, name: str = "BLOCK", new: str = "TILE") -> str:
    outcome = rename(source, source.kernels[0], name, new)
    assert isinstance(outcome, Uses), outcome
    return renamed_text(source, outcome, new)


def refusal(source: Module, name: str = "BLOCK", new: str = "TILE") -> str:
    outcome = rename(source, source.kernels[0], name, new)
    assert isinstance(outcome, Refusal), outcome
    return outcome.reason


@pytest.mark.parametrize(
    "parts",
    [
        {"decorator": "@triton.autotune([triton.Config({'BLOCK': b}) for b in (32, 64)], ['n'])"},
        {"decorator": "@triton.autotune([triton.Config(dict(BLOCK=32))], key=['n'])"},
        {"decorator": "@triton.heuristics({'BLOCK': lambda args: triton.cdiv(args['n'], 2)})"},
        {
            "above": "def prune(configs, args, **kw):\n"
            "    return [c for c in configs if c.kwargs['BLOCK'] < args['n']]\n"
            "def config(BLOCK):\n    return triton.Config({'BLOCK': BLOCK})\n"
            "CONFIGS = []\nfor size in (32, 64):\n    CONFIGS.append(config(BLOCK=size))\n",
            "decorator": "@triton.autotune(CONFIGS, ['n'], prune_configs_by="
            "{'early_config_prune': prune})",
        },
        {
            "launch": "def grid(meta):\n        return (triton.cdiv(n, meta['BLOCK']),)\n"
            "    kernel[grid](x, n, BLOCK=32)"
        },
        {"launch": "kernel[lambda META: (META.get('BLOCK'),)](x, n, 32)"},
        {"launch": "kernel.warmup(x, n, BLOCK=32, grid=(1,))"},
    ],
)
def test_every_place_gets_the_name(parts: dict[str, str]) -> None:
    text = renamed(module(**parts))
    ast.parse(text)
    # What is left is a variable or a parameter of the host's own.
    left = [line for line in text.split("\n") if re.search(r"\bBLOCK\b", line)]
    own = ["def config(BLOCK):", "return triton.Config({'TILE': BLOCK})", "config(BLOCK=size)"]
    assert all(any(part in line for part in own) for line in left), left
    assert re.search(r"TILE: tl\.constexpr", text)


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"launch": "kernel[(1,)](x, n, **config)"}, "line 13: that launch has arguments"),
        ({"launch": "run(kernel, x, n)"}, "line 13: kernel is used there"),
        ({"launch": PLAIN + "\n    return config['BLOCK']"}, "line 14: the string 'BLOCK'"),
        ({"above": "other = {'BLOCK': 1}"}, "line 3: the string 'BLOCK'"),
        ({"decorator": "@libentry()"}, "the decorator libentry may use the names"),
        ({"body": "f = lambda BLOCK: BLOCK"}, "line 8: a function in the kernel has its own"),
        ({"launch": "y = ("}, "line 13 does not parse"),
        (
            {"decorator": "@triton.autotune([make(BLOCK=32)], ['n'])"},
            "line 4: what is called with BLOCK= there is not known",
        ),
        (
            {"decorator": "@triton.heuristics({'BLO' 'CK': lambda args: 32})"},
            "line 4: BLOCK is written in a way that cannot be changed here",
        ),
        (
            {
                "above": "def model(n, BLOCK, **kw):\n    return n / BLOCK\n",
                "decorator": "@triton.autotune([triton.Config({'BLOCK': 32})], ['n'],"
                " prune_configs_by={'perf_model': model})",
            },
            "line 3: model takes BLOCK by its name",
        ),
    ],
)
def test_it_is_refused_where_a_place_may_be_missed(parts: dict[str, str], why: str) -> None:
    assert why in refusal(module(**parts))


def test_a_list_that_two_kernels_share_is_refused() -> None:
    one = module(
        above="CONFIGS = [triton.Config({'BLOCK': 32})]",
        decorator="@triton.autotune(CONFIGS, ['n'])",
        launch="kernel[(1,)](x, n)",
    )
    two = one.text + (
        "\n\n@triton.autotune(CONFIGS, ['n'])\n@triton.jit\n"
        "def second(x_ptr, n, BLOCK: tl.constexpr):\n    tl.store(x_ptr, BLOCK)\n"
    )
    assert "TILE" in renamed(one)
    assert refusal(parse_module(two, "kernel.py")) == "line 3: it is the name in second as well"


def test_calls_from_other_kernels_are_renamed() -> None:
    text = (
        "import triton\nimport triton.language as tl\n\n\n"
        "@triton.jit\ndef helper(x, SIZE: tl.constexpr):\n    return x + SIZE\n\n\n"
        "@triton.jit\ndef kernel(x_ptr, SIZE: tl.constexpr):\n"
        "    tl.store(x_ptr, helper(1, SIZE=SIZE))\n"
    )
    new = renamed(parse_module(text, "kernel.py"), "SIZE", "WIDTH")
    assert "def helper(x, WIDTH: tl.constexpr):\n    return x + WIDTH" in new
    assert "helper(1, WIDTH=SIZE)" in new


def _texts() -> Iterator[tuple[str, str]]:
    """The kernels that detectors are tested on, in an order of chance."""
    blocks = [
        (path.name, block)
        for path in FILES
        for block in re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
    ]
    random.Random(20).shuffle(blocks)
    yield from blocks


def test_a_renamed_program_has_the_same_issues() -> None:
    """A name of the same length, so that places are the same as well."""
    changed, compared, order = 0, 0, random.Random(21)
    for title, text in _texts():
        if changed == 40:
            break
        before = parse_module(IMPORTS + text, "kernel.py")
        # What is reported of grf_mode is reported of a parameter with that name.
        every = [(k, n) for k in before.kernels for n in k.constexprs if len(n) > 2]
        names = [(k, n) for k, n in every if n != "grf_mode"]
        if not names:
            continue
        kernel, name = order.choice(names)
        new = name[:-1] + "Q"
        outcome = rename(before, kernel, name, new)
        if isinstance(outcome, Refusal):
            continue
        after = parse_module(renamed_text(before, outcome, new), "kernel.py")
        found = [
            (issue.id, issue.range, re.sub(rf"\b{new}\b", name, issue.message))
            for issue in analyze(after, CONTEXT)
        ]
        expected = [(issue.id, issue.range, issue.message) for issue in analyze(before, CONTEXT)]
        assert found == expected, f"{title}: {kernel.name}.{name}"
        changed, compared = changed + 1, compared + len(expected)
    assert compared > 20
    assert changed == 40


@pytest.mark.parametrize(
    "decorator",
    [
        "@triton.autotune(configs=elsewhere.configs('k'), key=['n'])",
        "@triton.heuristics(elsewhere.heuristics('k'))",
    ],
)
def test_a_value_that_another_file_gives_by_name_is_not_renamed(decorator: str) -> None:
    source = module(above="import elsewhere", decorator=decorator, launch="kernel[(1,)](x, n)")
    outcome = rename(source, source.kernels[0], "BLOCK", "TILE")
    assert isinstance(outcome, Refusal)
    assert "nothing in this file gives BLOCK its value" in outcome.reason
    given = module(above="import elsewhere", decorator=decorator)
    assert "kernel[(1,)](x, n, TILE=32)" in renamed(given)
