"""NKI kernels and names, in the spellings of both packages and of snippets."""

import ast

import pytest

from tilewright.source import parse_module
from tilewright.source.model import Language, NkiFlavour

OLD = NkiFlavour.NEURONXCC
NEW = NkiFlavour.NKI


@pytest.mark.parametrize(
    ("header", "flavour"),
    [
        ("from neuronxcc import nki\n@nki.jit", OLD),
        ("import neuronxcc.nki as nki\n@nki.jit", OLD),
        ("import neuronxcc\n@neuronxcc.nki.jit", OLD),
        ("import neuronxcc.nki\n@neuronxcc.nki.jit", OLD),
        ("import neuronxcc.nki as nki\n@nki.jit(mode='trace')", OLD),
        ("from neuronxcc.nki import trace\n@trace", OLD),
        ("from neuronxcc.nki import baremetal\n@baremetal(save_neff_name='file.neff')", OLD),
        ("from torch_neuronx import nki_jit\n@nki_jit", OLD),
        ("import nki\n@nki.jit", NEW),
        ("from nki import jit as kernel\n@kernel(platform_target='trn3')", NEW),
        (
            "try:\n    import nki\nexcept ImportError:\n    import neuronxcc.nki as nki\n@nki.jit",
            None,
        ),
        ("@nki.jit", None),
    ],
)
def test_kernels_and_the_flavour_of_their_file(header: str, flavour: NkiFlavour | None) -> None:
    module = parse_module(f"{header}\ndef add(a, b):\n    return a\n")
    assert [kernel.language for kernel in module.kernels] == [Language.NKI]
    assert module.nki_flavour is flavour


def test_a_triton_file_has_no_flavour() -> None:
    assert parse_module("import triton\n@triton.jit\ndef k(x): pass\n").nki_flavour is None


@pytest.mark.parametrize(
    ("imports", "used", "dotted"),
    [
        ("import neuronxcc.nki.language as nl", "nl.load", "nki.language.load"),
        ("import nki.language as nl", "nl.load", "nki.language.load"),
        ("from neuronxcc.nki import language as lang", "lang.load", "nki.language.load"),
        ("from nki import language as lang, isa", "isa.nc_matmul", "nki.isa.nc_matmul"),
        ("import neuronxcc.nki.isa as ni", "ni.nc_matmul", "nki.isa.nc_matmul"),
        ("from neuronxcc.nki.language import par_dim", "par_dim", "nki.language.par_dim"),
        ("import neuronxcc.nki as nki", "nki.language.mgrid", "nki.language.mgrid"),
        ("import neuronxcc", "neuronxcc.nki.isa.activation", "nki.isa.activation"),
        (
            "from neuronxcc.nki.isa.constants import oob_mode",
            "oob_mode.skip",
            "nki.isa.oob_mode.skip",
        ),
        ("import numpy as np", "nl.tile_size.pmax", "nki.language.tile_size.pmax"),
        ("import numpy as np", "nisa.nc_transpose", "nki.isa.nc_transpose"),
        ("import numpy as np", "nki.language.load", "nki.language.load"),
        ("import number_lib as nl", "nl.load", "number_lib.load"),
    ],
)
def test_names_have_one_spelling(imports: str, used: str, dotted: str) -> None:
    names = parse_module(imports + "\n").names
    assert names.resolve(ast.parse(used, mode="eval").body) == dotted


def test_triton_names_through_inner_modules() -> None:
    names = parse_module("import triton\nimport triton.runtime.jit as j\n").names
    for used in ("triton.jit", "triton.runtime.jit.jit", "j.jit"):
        assert names.resolve(ast.parse(used, mode="eval").body) == "triton.jit"
    core = ast.parse("triton.language.core.dot", mode="eval").body
    assert names.resolve(core) == "triton.language.dot"
    tuner = ast.parse("triton.runtime.autotuner.Config", mode="eval").body
    assert names.resolve(tuner) == "triton.Config"
