"""What of a file a certificate is of: all that its entry point reaches, and no more."""

import pytest
from certified_samples import TEXT, subject

from tilewright.certificates.parts import reached
from tilewright.source import parse_module


def parts(text: str, *roots: str) -> dict[str, str]:
    return {p.part.name: p.part.kind for p in reached(parse_module(text), roots).parts}


def test_the_entry_reaches_its_kernel_helpers_constants_and_grid() -> None:
    assert parts(TEXT, "double") == {
        "WIDTH": "value",
        "scale": "kernel",
        "double_kernel": "kernel",
        "blocks": "function",
        "double": "function",
    }


def test_kernels_that_the_entry_does_not_reach_are_not_covered() -> None:
    assert subject().kernels == ("scale", "double_kernel")
    assert subject(TEXT, "negate").kernels == ("negate_kernel",)


def test_a_model_reaches_what_its_methods_use() -> None:
    text = TEXT + "\n\nclass Model:\n    def forward(self, x):\n        return negate(double(x))\n"
    assert {"Model", "negate_kernel", "double_kernel"} <= parts(text, "Model").keys()


def test_a_statement_that_defines_nothing_counts_and_brings_what_it_touches() -> None:
    text = TEXT.replace("UNUSED = 4", "UNUSED = 4\nCONFIG = {}\nCONFIG['w'] = UNUSED")
    text = text.replace("BLOCK=WIDTH", "BLOCK=CONFIG['w']")
    assert {"CONFIG['w'] = UNUSED", "UNUSED", "CONFIG"} <= parts(text, "double").keys()
    foreign = TEXT.replace("UNUSED = 4", "UNUSED = 4\nregister(negate)")
    assert "register(negate)" in parts(foreign, "double")
    assert "negate" not in parts(foreign, "double")


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ("for n in (1, 2):\n    SIZES.append(n)", "n"),
        ("_ = SIZES.append(1)", "_"),
        ("def fill():\n    SIZES.append(1)\nfill()", "fill"),
        ("def fill():\n    global SIZES\n    SIZES = [1]\nfill()", "fill"),
    ],
)
def test_what_changes_a_value_in_place_is_a_part(more: str, name: str) -> None:
    text = f"SIZES = []\n{more}\ndef f():\n    return SIZES\n"
    assert name in parts(text, "f")


def test_what_only_reads_a_value_is_no_part() -> None:
    assert parts("A = 1\nB = A + 1\nC = max(A, 2)\ndef f():\n    return A\n", "f").keys() == {
        "A",
        "f",
    }


def test_only_what_a_script_does_is_left_out() -> None:
    text = "A = 1\nif __name__ == '__main__':\n    A = 2\n{}def f():\n    return A\n"
    assert "A #2" not in parts(text.format(""), "f")
    assert "A #2" in parts(text.format("else:\n    A = 3\n"), "f")


def test_definitions_in_two_branches_are_one_part_and_in_two_places_two() -> None:
    branches = "import os\nif os.name:\n    A = 1\nelse:\n    A = 2\ndef f():\n    return A\n"
    assert parts(branches, "f") == {"A": "value", "f": "function"}
    twice = "A = 1\nA = 2\ndef f():\n    return A\n"
    assert parts(twice, "f") == {"A": "value", "A #2": "value", "f": "function"}


def test_other_files_that_are_used_are_named() -> None:
    text = TEXT.replace("import math\n", "import math\nfrom .grids import cdiv\nimport mine.more\n")
    used = text.replace("math.ceil(n / WIDTH)", "cdiv(n, mine.more.WIDTH)")
    assert reached(parse_module(text), ("double",)).foreign == ()
    assert reached(parse_module(used), ("double",)).foreign == (".grids", "mine.more")


@pytest.mark.parametrize("text", ["", "def f(:\n", "x = (", "import triton\n@triton.jit\ndef"])
def test_any_text_has_parts(text: str) -> None:
    assert parts(text, "f") == {}
