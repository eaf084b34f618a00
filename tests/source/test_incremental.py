"""Versions of a file: what an edit leaves alone stays the same object, and nothing else differs."""

import ast
import random
from pathlib import Path

import pytest
from each import each, examples
from hypothesis import given
from hypothesis import strategies as st

from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.source.text import LineIndex
from tilewright.source.tree import Known, as_known, parse_pieces, parseable

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "examples").glob("*.py"), *(ROOT / "engine").rglob("*.py")])

AWKWARD = '''\
"""Text with lines in the first column:
def not_a_function():
    @nor_this
"""
import triton, triton.language as tl
TABLE = {
"a": 1,
"b": (
2),
}
@triton.autotune(
configs=[triton.Config({"B": 8})],
key=[],
)

# a comment between decorators

@triton.jit

def first(x, B: tl.constexpr):
    """Doc with a line
in the first column"""
    tl.store(x, B)
if TABLE:
    def run(x):
        first[(1,)](x)
# between
else:
    run = None
value = 1 + \\
2
f"""{value}
class Text:
"""; other = 3
@triton.jit
def second(x): tl.store(x, 1)
'''


def dump(tree: ast.Module) -> str:
    return ast.dump(tree, include_attributes=True)


def facts(module: Module) -> tuple[object, ...]:
    """Everything a module says, in a form that can be compared."""
    launches = [
        (launch, ast.unparse(launch.grid), {k: ast.dump(v) for k, v in launch.arguments.items()})
        for launch in module.launches
    ]
    hosts = {name: ast.dump(node) for name, node in module.host_functions.items()}
    nodes = [ast.dump(kernel.node, include_attributes=True) for kernel in module.kernels]
    return (module.kernels, nodes, launches, hosts, module.names, module.problems)


@each(FILES[::15], lambda path: path.name)
def test_pieces_are_what_the_whole_file_holds(path: Path) -> None:
    _assert_whole(path)


@pytest.mark.slow
@each(FILES, lambda path: path.name)
def test_pieces_are_what_every_file_of_ours_holds(path: Path) -> None:
    _assert_whole(path)


def _assert_whole(path: Path) -> None:
    text = path.read_text()
    assert dump(parse_module(text, str(path)).tree) == dump(ast.parse(text))


def test_awkward_statements_are_whole() -> None:
    assert dump(parse_module(AWKWARD).tree) == dump(ast.parse(AWKWARD))
    assert [kernel.name for kernel in parse_module(AWKWARD).kernels] == ["first", "second"]


TEXTS = [AWKWARD, *(path.read_text() for path in FILES if path.parent.name == "examples")]
PIECES = ["", "x", "\n", "\n\n", "(", ")", '"""', "'", "#", "    ", "@", ":", "\\\n", "é", "\f"]


def test_a_backslash_before_a_blank_line_is_no_end_of_the_text() -> None:
    text = "import triton\n\n\ndef one():\n    pass\n\n\ndef two():\n    pass\n"
    parse_module(text, "joined.py")
    edited = parse_module(text.replace("pass\n\n\n", "pass\n\\\n\n", 1), "joined.py")
    assert edited.problems == ()
    assert list(edited.host_functions) == ["one", "two"]


@examples(120)
@given(seed=st.integers(0, 1 << 30))
def test_a_version_parsed_after_others_is_as_if_parsed_alone(seed: int) -> None:
    """Random edits, one after the other, each compared with a first look at the same text."""
    chance = random.Random(seed)
    text, path = chance.choice(TEXTS), f"edited-{seed}.py"
    parse_module(text, path)
    for number in range(4):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 0, 1, 5, 60]))
        text = text[:start] + chance.choice(PIECES) + text[end:]
        edited = parse_module(text, path)
        alone = parse_module(text, f"alone-{seed}-{number}.py")
        assert dump(edited.tree) == dump(alone.tree)
        assert facts(edited) == facts(alone)


@examples(120)
@given(seed=st.integers(0, 1 << 30))
def test_what_python_reads_is_read(seed: int) -> None:
    """Whatever an edit makes of a file: if Python parses it, its tree is Python's."""
    chance = random.Random(seed)
    text = chance.choice(TEXTS)
    known = as_known(parse_pieces(LineIndex(text), Known()))
    start = chance.randrange(len(text) + 1)
    end = min(len(text), start + chance.choice([0, 0, 1, 5, 60]))
    text = text[:start] + chance.choice(PIECES) + text[end:]
    try:
        whole = ast.parse(parseable(text))
    except (SyntaxError, ValueError):
        return
    for before in (Known(), known):
        pieces = parse_pieces(LineIndex(text), before)
        assert [problem for piece in pieces for problem in piece.problems] == []
        body = [statement for piece in pieces for statement in piece.body]
        assert dump(ast.Module(body, [])) == dump(whole)


THREE = """\
import triton
import triton.language as tl

SIZES = [16, 32]


def configs():
    return [triton.Config({"BLOCK": size}) for size in SIZES]


@triton.autotune(configs=configs(), key=["n"])
@triton.jit
def one(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 0.0)


@triton.jit
def two(x):
    tl.store(x, 1.0)


def run(x):
    one[(1,)](x, x.numel())
    two[(1,)](x)
"""


def edit(old: str, new: str) -> tuple[Module, Module]:
    path = f"three-{old}-{new}.py"
    before = parse_module(THREE, path)
    assert old in THREE
    return before, parse_module(THREE.replace(old, new), path)


def test_an_edit_in_a_kernel_leaves_the_others_the_same() -> None:
    before, after = edit("1.0", "2.0")
    assert after.kernels[0] is before.kernels[0]
    assert after.kernels[1] != before.kernels[1]
    assert all(a is b for a, b in zip(after.launches, before.launches, strict=True))
    assert after.host_functions["run"] is before.host_functions["run"]


def test_an_edit_in_a_host_function_that_nothing_mentions_leaves_kernels_the_same() -> None:
    before, after = edit("x.numel()", "x.shape[0]")
    assert all(a is b for a, b in zip(after.kernels, before.kernels, strict=True))
    assert all(a is not b for a, b in zip(after.launches, before.launches, strict=True))
    assert ast.unparse(after.launches[0].arguments["n"]) == "x.shape[0]"


def test_an_edit_in_host_code_shares_the_nodes_of_what_it_leaves_alone() -> None:
    """Kernels and launches are found anew: they may hang on constants and other functions."""
    before, after = edit("for size in SIZES", "for size in SIZES if size")
    assert all(a.node is b.node for a, b in zip(after.kernels, before.kernels, strict=True))
    assert all(a is not b for a, b in zip(after.kernels, before.kernels, strict=True))
    assert all(a is not b for a, b in zip(after.launches, before.launches, strict=True))


MADE = """\
import triton


def tuned(fn):
    return triton.jit(fn)


def tuner(fn):
    return tuned(fn)


@tuned
def one(x):
    pass


@triton.jit
@other
def two(x): pass


class Runner:
    def __init__(self):
        self.kernel = one

    def run(self, x):
        self.kernel[(1,)](x)
        two[(1,)](x)


def run(x):
    one[(1,)](x)
    two[(1,)](x)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return triton.jit(fn)", "return fn"),
        ("@tuned", "@tuner"),
        ("self.kernel = one", "self.kernel = two"),
        ("def two(x): pass", "def two(renamed): pass"),
        ("def run(x):\n    one", "def run(x, one):\n    one"),
        ("    one[(1,)](x)\n    two", "    import triton as one\n    one[(1,)](x)\n    two"),
        ("    one[(1,)](x)\n    two", "    class A:\n        k = one\n    two"),
        ("    one[(1,)](x)\n    two", "    @triton.jit\n    def two(y):\n        pass\n    two"),
    ],
)
def test_kernels_and_launches_follow_functions_and_classes(old: str, new: str) -> None:
    path = f"made-{old}-{new}.py"
    parse_module(MADE, path)
    assert old in MADE
    text = MADE.replace(old, new)
    assert facts(parse_module(text, path)) == facts(parse_module(text, f"alone-{path}"))


@pytest.mark.parametrize(
    ("old", "new"), [("[16, 32]", "[16, 64]"), ('"BLOCK": size', '"BLOCK": 64')]
)
def test_configurations_follow_what_they_are_made_of(old: str, new: str) -> None:
    _, after = edit(old, new)
    tuned = after.kernels[0].autotune
    assert tuned is not None
    assert tuned.configs is not None
    assert tuned.configs[-1].values == {"BLOCK": 64}


def test_launches_follow_the_signature_of_their_kernel() -> None:
    _, after = edit("def two(x):", "def two(renamed):")
    assert list(after.launches[1].arguments) == ["renamed"]


def test_a_changed_import_changes_what_is_a_kernel() -> None:
    _, after = edit("import triton\n", "import numba as triton\n")
    assert after.kernels == ()


def test_what_moved_stands_where_it_moved_to() -> None:
    before, after = edit("SIZES = [16, 32]", "SIZES = [16, 32]\n\nMORE = 1")
    assert after.kernels[0].range.line == before.kernels[0].range.line + 2
    assert after.kernels[0].text == before.kernels[0].text
    assert dump(after.tree) == dump(ast.parse(after.text))


def test_a_half_typed_line_costs_its_own_kernel_only() -> None:
    path = "half-typed.py"
    whole = parse_module(THREE, path)
    half = parse_module(THREE.replace("tl.store(x, 1.0)", "tl.store(x,"), path)
    more = parse_module(THREE.replace("tl.store(x, 1.0)", "tl.store(x, 1"), path)
    assert half.kernels == (whole.kernels[0],)
    assert [launch.kernel for launch in half.launches] == ["one"]
    assert more.kernels[0] is half.kernels[0]
