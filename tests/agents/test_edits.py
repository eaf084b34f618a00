"""Edits change what they name and not a byte more."""

import ast
import sys
from pathlib import Path

import pytest
from agent_cases import KERNEL, block, briefing, fence
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.agents import analyzer, optimizer
from tilewright.agents.answers import answer, lines_of
from tilewright.agents.edits import applied
from tilewright.agents.model import Proposal, Unusable
from tilewright.problems.model import Entry, EntryKind

EVIDENCE = Path(__file__).parents[1] / "evidence"
sys.path.insert(0, str(EVIDENCE))
from candidates import BASES, candidates, spec_of  # noqa: E402

from tilewright.problems.loading import load_problem  # noqa: E402

ENDS = st.sampled_from(["\n", "\r\n"])
WORDS = st.text("ab #=\t'\"é\u2028x", min_size=1, max_size=8).filter(
    lambda text: text.strip() and not text.strip().startswith(("<", ">", "="))
)
LINES = st.lists(st.tuples(WORDS, ENDS), min_size=3, max_size=12)


@settings(max_examples=60, deadline=None)
@given(LINES, st.data())
def test_block_changes_its_lines_alone(lines: list[tuple[str, str]], data: st.DataObject) -> None:
    """What precedes and what follows keeps its bytes, line ends included; the inverse block gives
    the lines back."""
    text = "".join(f"{n}{line}{end}" for n, (line, end) in enumerate(lines))
    there = lines_of(text)
    first = data.draw(st.integers(0, len(there) - 1))
    last = data.draw(st.integers(first + 1, len(there)))
    # Two words are no Python: what a file does on import may not be added.
    new = [f"new line {line}" for line in data.draw(st.lists(WORDS, max_size=3))]
    old = [line.rstrip("\r\n") for line in there[first:last]]
    found = applied(
        answer(block("\n".join(old), "\n".join(new)) if new else _removing(old)), text, None
    )
    before, after = "".join(there[:first]), "".join(there[last:])
    assert found.startswith(before)
    assert found.endswith(after)
    middle = found[len(before) : len(found) - len(after)]
    assert [line.rstrip("\r\n") for line in lines_of(middle)] == new
    if new:
        back = applied(answer(block("\n".join(new), "\n".join(old))), found, None)
        assert [line.rstrip("\r\n") for line in lines_of(back)] == [
            line.rstrip("\r\n") for line in there
        ]


def _removing(old: list[str]) -> str:
    return "<<<<<<< SEARCH\n" + "\n".join(old) + "\n=======\n>>>>>>> REPLACE\n"


PARTS = (
    "import torch\nimport triton\n",
    '# About the sizes.\nSIZES = {"a":1,  "b" : 2}   # as they are\n',
    "@triton.jit\ndef kernel(x_ptr, n): # one\n    pass   # two\n",
    "# A helper.\ndef helper(x):\n\treturn x   # tabs\n",
    'class Options:\n    """Doc."""\n\n    size=4 # odd\n',
    "def wrapper(x):\n    # inside\n    kernel[(1,)](x, 1)\n    return helper(x)\n",
    "x = 1; y = 2  # together\n",
)


@settings(max_examples=60, deadline=None)
@given(st.permutations(PARTS), st.sampled_from(["\n", "\n\n", "\n\n\n# ---\n"]), ENDS)
def test_replaced_function_leaves_the_rest(parts: list[str], gap: str, end: str) -> None:
    text = gap.join(parts).replace("\n", end)
    new = "def wrapper(x):\n    kernel[(2,)](x, 1)\n    return x\n"
    found = applied(answer(fence(new)), text, None)
    assert found == text.replace(PARTS[5].replace("\n", end), new.replace("\n", end))


@settings(max_examples=30, deadline=None)
@given(st.permutations(PARTS[:-1]), st.sampled_from(["\n", "\n\n\n# ---\n"]), ENDS)
def test_whole_file_keeps_comments_and_formatting_of_what_is_the_same(
    parts: list[str], gap: str, end: str
) -> None:
    """A file that comes back without its comments and formatting is the file it was."""
    text = gap.join(parts).replace("\n", end)
    plain = ast.unparse(ast.parse(text))
    found = optimizer.parse(fence(plain), briefing(text, None))
    assert isinstance(found, Unusable)
    assert "changes nothing" in found.message
    changed = applied(
        answer(fence(plain.replace("return helper(x)", "return helper(-x)"))), text, None
    )
    kept = text.replace(PARTS[5].replace("\n", end), "")
    for line in filter(str.strip, lines_of(kept)):
        assert line in changed


@pytest.mark.parametrize("base", BASES)
def test_honest_candidates_are_not_refused_for_their_form(base: str) -> None:
    """Each honest candidate of the evidence, as a whole file, is proposed as it is."""
    source = EVIDENCE / "bases" / base / "original.py"
    text = source.read_text(encoding="utf-8")
    known = briefing(text, load_problem(spec_of(source), source).entry, issues=())
    found = {
        one.name: optimizer.parse(fence(one.text, "`````"), known)
        for one in candidates("legit")
        if one.base == base
    }
    refused = {name: f.message for name, f in found.items() if isinstance(f, Unusable)}
    assert refused == {}
    for one in candidates("legit"):
        if isinstance(made := found.get(one.name), Proposal):
            assert ast.dump(ast.parse(made.text)) == ast.dump(ast.parse(one.text))


FRAGMENTS = (
    *("```python\n", "```\n", "````\n", "~~~\n"),
    *("<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n"),
    *(
        "def add_one(x):\n",
        "    n = x.numel()\n",
        "    return x\n",
        "import torch\n",
        "x = 1; y = 2\n",
    ),
    *("def test_add_one():\n    pass\n", "if __name__ == '__main__':\n    pass\n"),
    *('"""', "'", "(", "\\", "\x00", "\ud800", "\u2028", "\r", "\n", "{", '{"code": "', '"}'),
    *("<think>", "</think>", "text ", "@triton.jit\ndef k(x):\n    pass\n"),
    "class Model:\n    def forward(self):\n        pass\n",
    "    assert (add_one(x) == 1).all()\n",
    KERNEL,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14))
def test_no_reply_breaks_the_parser_or_changes_what_it_may_not(fragments: list[str]) -> None:
    found = optimizer.parse("".join(fragments), briefing(issues=()))
    assert (found.text if isinstance(found, Proposal) else found.message).encode()
    if isinstance(found, Unusable):
        assert len(found.message) < 800
        return
    assert found.text != KERNEL
    try:
        ast.parse(found.text)
    except (SyntaxError, ValueError):
        return  # for the verifier to refuse
    assert KERNEL[KERNEL.index("def test_add_one") : KERNEL.index("\n\n\nif __")] in found.text
    assert KERNEL[KERNEL.index("if __name__") :].rstrip() in found.text


@pytest.mark.parametrize(
    "part",
    ["```\n", "<think>", "<<<<<<< SEARCH\n", '{"a":', "```python\n", "(", '"""\n```\n', "{}"],
)
def test_large_replies_that_repeat_themselves_are_refused(part: str) -> None:
    """Without work that grows with the square of their length."""
    found = optimizer.parse(part * (250_000 // len(part)), briefing(issues=()))
    assert isinstance(found, Unusable)
    assert isinstance(
        analyzer.analysis(part * (250_000 // len(part)), briefing(issues=())), Unusable
    )


MODULE = """import torch
import triton

BATCH = 16
_WIDTH = BATCH * 4


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def _shape():
    return (BATCH, _WIDTH)


def get_inputs():
    return [torch.rand(_shape())]


def get_init_inputs():
    return []
"""
MODEL = Entry(EntryKind.MODEL, "Model", preferred="ModelNew")
NEW = "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x * (x > 0)\n"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("BATCH = 16", "BATCH = 1", "changes the value of BATCH (line 4), which states"),
        ("_WIDTH = BATCH * 4", "_WIDTH = 4", "changes the value of _WIDTH"),
        ("    return (BATCH, _WIDTH)", "    return (1, 1)", "changes the function _shape"),
        ("    return []", "    return [1]", "changes the function get_init_inputs (line 21)"),
        ("def get_inputs():", "def inputs():", "removes the function get_inputs"),
        ("def get_init_inputs():", "BATCH = 1\ndef get_init_inputs():", "binds BATCH again"),
    ],
)  # fmt: skip
def test_what_states_the_problem_stays(old: str, new: str, says: str) -> None:
    for reply in (block(old, new), fence(MODULE.replace(old, new))):
        found = optimizer.parse(reply, briefing(MODULE, MODEL))
        if isinstance(found, Proposal):  # what a whole file leaves out stays
            assert "removes" in says
            assert "def get_inputs():" in found.text
        else:
            assert says in found.message


def test_model_may_be_changed_or_replaced_and_is_then_the_reference() -> None:
    inside = block("        return torch.relu(x)", "        return x * (x > 0)")
    assert isinstance(optimizer.parse(inside, briefing(MODULE, MODEL)), Proposal)
    first = optimizer.parse(fence(NEW), briefing(MODULE, MODEL))
    assert isinstance(first, Proposal)
    assert first.text == f"{MODULE}\n\n{NEW}"
    second = optimizer.parse(inside, briefing(first.text, MODEL))
    assert isinstance(second, Unusable)
    assert "the class Model (line 8), which is the reference" in second.message
    again = optimizer.parse(fence(NEW.replace("> 0", ">= 0")), briefing(first.text, MODEL))
    assert isinstance(again, Proposal)


def test_kernels_named_like_tests_may_change() -> None:
    text = "import triton\n\n\n@triton.jit\ndef test_kernel(x):\n    pass\n"
    assert isinstance(optimizer.parse(block("    pass", "    x"), briefing(text, None)), Proposal)


def test_file_that_does_not_parse_takes_blocks_alone() -> None:
    text = "import triton\n\n\ndef f(x)\n    return x\n"
    found = optimizer.parse(block("def f(x)", "def f(x):"), briefing(text, None))
    assert isinstance(found, Proposal)
    assert found.text == text.replace("f(x)\n", "f(x):\n")
    found = optimizer.parse(fence("def f(x):\n    return x"), briefing(text, None))
    assert isinstance(found, Unusable)
    assert "use SEARCH/REPLACE blocks" in found.message
