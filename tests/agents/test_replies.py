"""An odd reply gives exactly the text that it means, or a message that says what to change."""

import ast
import json

import pytest
from agent_cases import KERNEL, block, briefing, fence

from tilewright.agents import optimizer
from tilewright.agents.model import Proposal, Unusable

OLD = "    n = x.numel()"
NEW = "    n = x.shape[0]"
EDITED = KERNEL.replace(OLD, NEW)
EDIT = block(OLD, NEW)
FUNCTION = """def add_one(x):
    y = torch.empty_like(x)
    n = x.shape[0]
    add_one_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y
"""
DRAFT = FUNCTION.replace("shape[0]", "shape[1]")
WHOLE = EDITED


def proposed(reply: str, text: str = KERNEL) -> Proposal:
    found = optimizer.parse(reply, briefing(text))
    assert isinstance(found, Proposal), found
    return found


def refused(reply: str, text: str = KERNEL) -> str:
    found = optimizer.parse(reply, briefing(text))
    assert isinstance(found, Unusable), found
    return found.message


@pytest.mark.parametrize(
    "reply",
    [
        EDIT,
        fence(EDIT, language=""),
        fence(EDIT),
        f"I read the first extent.\n\n{fence(EDIT)}",
        fence(f"add.py\n{EDIT}"),
        fence(EDIT).rstrip("`\n"),
        fence(f"{block('import torch', 'import torch')}{EDIT}"),
        f"{fence(block('import torch', 'import torch'))}and\n{fence(EDIT)}",
        f"The file has\n{fence('def add_one(x): ...')}\nso:\n{EDIT}",
        EDIT.replace("\n", "\r\n"),
        block("21 |     n = x.numel()", "21 |     n = x.shape[0]"),
        block("21 |     n = x.numel()", NEW),
        block(f"{OLD}   ", NEW),
        fence(FUNCTION),
        fence(FUNCTION, language=""),
        fence(FUNCTION, language="py"),
        fence(FUNCTION, "~~~"),
        fence(FUNCTION, "`````"),
        f"{fence(DRAFT)}\nNo, better:\n{fence(FUNCTION)}",
        f"{EDIT.replace('shape[0]', 'shape[1]')}\nThe function is then\n{fence(FUNCTION)}",
        f"<think>{fence(DRAFT)}</think>\n{fence(FUNCTION)}",
        f"{fence(DRAFT)}</think>\n{fence(FUNCTION)}",
        f"{fence(FUNCTION)}\n{fence('tilewright verify add.py', language='bash')}",
        fence(f"import torch\nimport triton\n\n{FUNCTION}"),
        fence(WHOLE),
        fence(WHOLE).replace("\n", "\r\n"),
        json.dumps({"thought": "shape", "answer": fence(FUNCTION)}),
        json.dumps({"code": FUNCTION}),
        json.dumps(json.dumps({"code": FUNCTION})),
        json.dumps(EDIT),
        # Comments and formatting elsewhere are the file's, whatever the answer makes of them.
        fence(WHOLE.replace("# A header that stays.\n", "").replace("  # by name", "")),
        fence(WHOLE.replace("# The wrapper.\n", "").replace('"small": 64', "'small':64")),
        fence(ast.unparse(ast.parse(WHOLE)).replace("def add_one(x):\n", "def add_one(x):\n\n", 1)),
    ],
)  # fmt: skip
def test_reply_gives_the_text_that_it_means(reply: str) -> None:
    found = proposed(reply).text
    if "'__main__'" in reply:  # formatted anew: the function is in the answer's form
        found = ast.unparse(ast.parse(found))
        assert found == ast.unparse(ast.parse(EDITED))
    else:
        assert found == EDITED


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("", "the reply has no answer"),
        ("I cannot help with that.", "the reply has no answer"),
        (FUNCTION, "the reply has no answer"),
        ("<think>" + fence(FUNCTION), "the reply has no answer"),
        (json.dumps({"plan": ["fuse"]}), "the reply has no answer"),
        (fence("--- a\n+++ b\n", language="diff"), "the reply has no answer"),
        (f"```python\n{FUNCTION}", "the last fence of the reply is never closed"),
        (f"{fence(DRAFT)}Better:\n```python\n{FUNCTION}", "never closed"),
        ("<<<<<<< SEARCH\n    n = x.numel()\n=======\n    n = 4", "block is not complete"),
        (f"{EDIT}<<<<<<< SEARCH\n    y = 1\n", "block is not complete"),
        ("<<<<<<< SEARCH\n    n = x.numel()\n>>>>>>> REPLACE\n", "block is not complete"),
        (block("", NEW), "SEARCH block 1 is empty"),
        (block("    n = x.size()", NEW), "line 21 is `n = x.numel()` where the block has"),
        (block("gemm[grid](a, b)", NEW), "SEARCH block 1 matches no place in the file"),
        (block("n = x.numel()", NEW), "SEARCH block 1 matches no place in the file"),
        (block("", ""), "SEARCH block 1 is empty"),
        (EDIT + EDIT, "SEARCH blocks 1 and 2 overlap at line 21"),
        (block(OLD, OLD), "the answer changes nothing"),
        (fence(KERNEL), "the answer changes nothing"),
        (fence(ast.unparse(ast.parse(KERNEL))), "the answer changes nothing"),
        (fence("# nothing"), "the fence holds no code"),
        (fence("def gemm(a, b):\n    return a"), "defines gemm, and the file has none of it"),
        (fence("def add_one(x):\n    return (x"), "'(' was never closed (line 2 of the fence"),
        (fence(f"{FUNCTION}\n\n{DRAFT}"), "the fence has `add_one` twice"),
        (fence("def test_add_one():\n    assert True"), "changes the function test_add_one (line"),
        (fence(WHOLE.replace("== 1)", "== 2)")), "changes the function test_add_one (line 26)"),
        (block("    assert (add_one(x) == 1).all()", "    pass"), "which tests or times"),
        (fence(WHOLE.replace("zeros(4)", "ones(4)")), "changes the block `if __name__"),
        (block("    print(add_one(torch.zeros(4)))", "    pass"), "which runs as a script"),
        (fence(f"{FUNCTION}\ntorch.manual_seed(0)"), "adds `torch.manual_seed(0)` (line "),
        (block("import triton", "import triton\nprint(1)"), "which runs when the file is imported"),
    ],
)  # fmt: skip
def test_reply_of_no_use_says_what_to_change(reply: str, says: str) -> None:
    assert says in refused(reply)


def test_search_that_matches_twice_names_the_lines() -> None:
    text = KERNEL.replace("    return y\n", "    n = x.numel()\n    return y\n")
    assert "matches 2 places (lines 21, 23)" in refused(EDIT, text)


def test_syntax_errors_of_a_whole_file_and_of_an_edit_are_for_the_verifier() -> None:
    broken = WHOLE.replace("return y\n", "return (y\n")
    assert proposed(fence(broken)).text == broken
    assert "return (y\n" in proposed(block("    return y", "    return (y")).text


def test_crlf_file_keeps_its_line_ends() -> None:
    text = KERNEL.replace("\n", "\r\n")
    for reply in (EDIT, fence(FUNCTION), fence(WHOLE)):
        assert proposed(reply, text).text == EDITED.replace("\n", "\r\n")


def test_mixed_line_ends_tabs_and_unicode_elsewhere_stay() -> None:
    store = "x + 1, mask=offs < n)"
    odd = f"{store}\t# größer\u2028 ✓\r\n\t"
    text = KERNEL.replace(store, odd).replace("SIZES =", "SIZES =\\\r\n  ")
    for reply in (EDIT, fence(FUNCTION)):
        assert proposed(reply, text).text == text.replace(OLD, NEW)


def test_file_without_a_last_line_end() -> None:
    text = "import triton\n\n\ndef f(x):\n    return x"
    found = optimizer.parse(block("    return x", "    return x + 1"), briefing(text, None))
    assert isinstance(found, Proposal)
    assert found.text == text + " + 1"
    found = optimizer.parse(fence("def f(x):\n    return x + 1\n"), briefing(text, None))
    assert isinstance(found, Proposal)
    assert found.text == text + " + 1"


def test_fences_inside_strings_are_code() -> None:
    doc = '    """Used so:\n\n```\nadd_one(x)\n```\n    """\n'
    function = FUNCTION.replace("def add_one(x):\n", f"def add_one(x):\n{doc}")
    assert proposed(fence(function)).text == KERNEL.replace(
        "def add_one(x):\n", f"def add_one(x):\n{doc}"
    ).replace(OLD, NEW)
    assert proposed(fence(function, "````")).text == proposed(fence(function)).text


def test_divider_inside_a_block_is_read_where_it_matches() -> None:
    text = KERNEL.replace('"""Adds one."""', '"""Title\n=======\nAdds one."""')
    reply = block('"""Title\n=======\nAdds one."""', '"""Adds 1."""')
    assert proposed(reply, text).text == KERNEL.replace("Adds one.", "Adds 1.")


def test_new_kernels_constants_and_imports_find_their_places() -> None:
    code = f"""import math
import torch

LOG2E = math.log2(math.e)

# Twice as fast.
@triton.jit
def fast_kernel(x_ptr, n, BLOCK: tl.constexpr):
    pass

{FUNCTION.replace("add_one_kernel[", "fast_kernel[")}"""
    text = proposed(fence(code)).text
    places = [
        "import triton.language as tl\nimport math\n",
        "LOG2E = ",
        "\n\n\n# Twice as fast.\n@triton.jit\ndef fast_kernel",
        "\n\n\n# The wrapper.\ndef add_one(x):",
        "def test_add_one",
    ]
    assert [text.index(place) for place in places] == sorted(text.index(p) for p in places)
    assert text.startswith("# A header that stays.\n")
    assert text.count("import torch\n") == 1
    assert "def add_one_kernel" in text


def test_whole_file_removes_what_it_leaves_out() -> None:
    fused = WHOLE.replace("add_one_kernel", "plus_one_kernel")
    text = proposed(fence(fused)).text
    assert text == fused
    assert "add_one_kernel" not in text


def test_method_without_its_class_is_refused() -> None:
    text = "import triton\n\n\nclass Model:\n    def forward(self, x):\n        return x\n"
    reply = fence("def forward(self, x):\n    return x + 1")
    found = optimizer.parse(reply, briefing(text, None))
    assert isinstance(found, Unusable)
    assert "forward is a method of Model (line 5)" in found.message


def test_definition_inside_a_condition_is_refused() -> None:
    text = "import triton\n\nif triton:\n    def f(x):\n        return x\n\n\ng = f\n"
    found = optimizer.parse(fence("def f(x):\n    return x + 1"), briefing(text, None))
    assert isinstance(found, Unusable)
    assert "f is defined inside the statement at line 3" in found.message


def test_thought_and_rationale_come_from_what_precedes_the_answer() -> None:
    found = proposed(f"**Read the extent once.** It is known on the host.\n\n{fence(EDIT)}")
    assert found.rationale == "Read the extent once."
    assert found.thought == "**Read the extent once.** It is known on the host."
    assert proposed(EDIT).rationale == "the model gave no reason"
    long = proposed(f"{'word ' * 2000}\n{EDIT}")
    assert len(long.thought) < 1600
    assert len(long.rationale) < 210


def test_thought_of_an_unusable_reply_is_kept() -> None:
    found = optimizer.parse(f"I fuse both.\n{block('gone', 'new')}", briefing())
    assert isinstance(found, Unusable)
    assert found.thought == "I fuse both."
