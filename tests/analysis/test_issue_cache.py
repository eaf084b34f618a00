"""An edit re-analyses the kernel it touches alone, and never leaves a stale finding behind."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from each import sample
from snippets import Snippet, snippets

from tilewright.analysis import analyze
from tilewright.analysis.detectors import registered
from tilewright.analysis.host_graph.build import launching_functions
from tilewright.analysis.issue_cache import IssueCache
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import Target

EXAMPLES = Path(__file__).parents[2] / "examples"

TEXT = """\
import torch
import triton
import triton.language as tl

WIDTH = 48
PLAIN = 3


@triton.jit
def helper(x):
    return x + 1


@triton.jit
def first(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    for i in range(0, n):
        w = helper(tl.load(y_ptr + offs))
        x = tl.load(x_ptr + offs + i)
        tl.store(x_ptr + offs + i, x * w)


@triton.jit
def second(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(x_ptr + offs, 1 / (1 + tl.exp(-x)) + PLAIN + missing)


def run(x, y):
    first[(1,)](x, y, 64, BLOCK=WIDTH)
    torch.cuda.synchronize()
    second[(1,)](x, BLOCK=WIDTH)
"""

EDITS = {
    "in the first kernel": ("x * w", "x * w * 2"),
    "in the second kernel": ("1 / (1 + tl.exp(-x)) + PLAIN", "tl.exp(x)"),
    "a constant": ("WIDTH = 48", "WIDTH = 64"),
    "a launch": ("BLOCK=WIDTH)\n    torch", "BLOCK=40)\n    torch"),
    "an import": ("import triton.language as tl", "import triton.language as xl"),
    "an import inside a kernel": ("    return x + 1", "    import numpy as tl\n    return x + 1"),
    "a helper that now writes": ("    return x + 1", "    tl.debug_barrier()\n    return x + 1"),
    "a helper's result": ("    return x + 1", "    return tl.sum(x, 0)"),
    "a signature": ("def second(x_ptr, BLOCK", "def second(BLOCK, x_ptr"),
    "an empty line in a kernel": (
        "    offs = tl.arange(0, BLOCK)\n    x = tl",
        "\n    offs = tl.arange(0, BLOCK)\n\n    x = tl",
    ),
    "lines above": ("import torch\n", "import torch\n\n# more\n\n"),
    "a line between": ("@triton.jit\ndef second", "# more\n@triton.jit\ndef second"),
    "a decorator": ("@triton.jit\ndef first", "@other\n@triton.jit\ndef first"),
    "a host function's loop": (
        "    torch.cuda",
        "    for _ in range(2):\n        x.item()\n    torch.cuda",
    ),
    "another launch": ("def run(x, y):\n", "def run(x, y):\n    second[(2,)](x, BLOCK=48)\n"),
    "names from anywhere": ("    return x + 1", "    globals()\n    return x + 1"),
    "a comment that says so": ("import torch\n", "import torch\n# ALLOW_NON_CONSTEXPR_GLOBALS\n"),
    "a word that counts for the whole file": (
        "def run(x, y):\n",
        "def run(x, y):\n    globals()\n    x = x.to(torch.float64)\n",
    ),
    "a vendor's own Triton": ("import torch\n", "import torch\nimport torch_musa\n"),
    "a name bound from a function": ("def run(x, y):\n", "def run(x, y):\n    global PLAIN\n"),
    "a source that is replaced": ("def run(x, y):\n", "def run(x, y):\n    second.src = 'x'\n"),
    "a broken host function": ("def run(x, y):", "def run(x, y:"),
    "a broken kernel": ("x = tl.load(x_ptr + offs)\n", "x = tl.load(x_ptr + (\n"),
}


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> IssueCache:
    made = IssueCache()
    monkeypatch.setitem(analyze.__globals__, "_CACHE", made)
    return made


def _seen(monkeypatch: pytest.MonkeyPatch, *, reads_launches: bool = True) -> list[str]:
    """The kernels that a detector is asked about from now on, which reads how they are launched."""
    seen: list[str] = []

    def spy(module: Module, context: AnalysisContext) -> Iterator[Finding]:
        assert isinstance(module.focus, Kernel)
        seen.append(module.focus.name)
        if reads_launches:
            assert isinstance(module.launches_of(module.focus.name), tuple)
        return iter(())

    monkeypatch.setitem(analyze.__globals__, "registered", lambda: {"dot_accumulator": spy})
    return seen


@pytest.mark.parametrize(
    ("edit", "kernels"),
    [
        ("in the first kernel", ["first"]),
        ("in the second kernel", ["second"]),
        ("a signature", ["second"]),
        ("a broken kernel", ["helper", "first"]),
        ("a launch", ["helper", "first", "second"]),
        ("an empty line in a kernel", []),
        ("lines above", []),
        ("a line between", []),
        ("a helper's result", ["helper", "first"]),
    ],
)
def test_which_kernels_an_edit_touches(
    memory: IssueCache, monkeypatch: pytest.MonkeyPatch, edit: str, kernels: list[str]
) -> None:
    seen = _seen(monkeypatch)
    analyze(parse_module(TEXT))
    assert seen == ["helper", "first", "second"]
    seen.clear()
    analyze(parse_module(TEXT.replace(*EDITS[edit])))
    assert seen == kernels


@pytest.mark.parametrize(
    ("edit", "kernels"),
    [
        ("in the second kernel", ["second"]),
        ("a launch", []),
        ("a host function's loop", []),
        ("a constant", []),
        ("a constant of a kernel", ["second"]),
        ("another launch of a kernel", []),
        ("no launch of a kernel", ["second"]),
    ],
)
def test_what_reads_no_host_code_is_asked_again_only_about_what_a_kernel_names(
    memory: IssueCache, monkeypatch: pytest.MonkeyPatch, edit: str, kernels: list[str]
) -> None:
    further = {
        "a constant of a kernel": ("PLAIN = 3", "PLAIN = 4"),
        "another launch of a kernel": ("def run(x, y):\n", "def run(x, y):\n    second[(2,)](x)\n"),
        "no launch of a kernel": ("    second[(1,)](x, BLOCK=WIDTH)\n", ""),
    }
    seen = _seen(monkeypatch, reads_launches=False)
    analyze(parse_module(TEXT))
    assert seen == ["helper", "first", "second"]
    seen.clear()
    analyze(parse_module(TEXT.replace(*{**EDITS, **further}[edit])))
    assert seen == kernels


@pytest.mark.parametrize(
    ("edit", "hosts"),
    [
        ("in the first kernel", ["run"]),
        ("in the second kernel", ["other"]),
        ("a helper's result", ["run"]),
        ("lines above", []),
        ("a launch", ["run"]),
    ],
)
def test_which_host_functions_an_edit_touches(
    memory: IssueCache, monkeypatch: pytest.MonkeyPatch, edit: str, hosts: list[str]
) -> None:
    text = TEXT.replace(
        "    torch.cuda.synchronize()\n",
        "    torch.cuda.synchronize()\n\n\ndef other(x):\n",
    )
    seen: list[str] = []

    def spy(module: Module, context: AnalysisContext) -> Iterator[Finding]:
        seen.extend(launching_functions(module))
        return iter(())

    monkeypatch.setitem(analyze.__globals__, "registered", lambda: {"device_host_sync": spy})
    analyze(parse_module(text))
    assert seen == ["run", "other"]
    seen.clear()
    analyze(parse_module(text.replace(*EDITS[edit])))
    assert seen == hosts


def test_an_edit_next_to_a_word_that_counts_for_the_whole_file(
    memory: IssueCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "\n\ndef other(x, device):\n    return x.to(torch.float64), torch_device, {}\n"
    seen = _seen(monkeypatch)
    analyze(parse_module(TEXT + other.format(1)))
    assert seen == ["helper", "first", "second"]
    seen.clear()
    analyze(parse_module(TEXT + other.format(2)))
    assert seen == []


def test_equal_kernels_keep_their_own_places(memory: IssueCache) -> None:
    kernel = TEXT[TEXT.index("@triton.jit\ndef second") : TEXT.index("def run")].rstrip()
    inner = "\n".join(f"    {line}" for line in kernel.splitlines())
    head = "import triton\nimport triton.language as tl\n"
    text = f"{head}{kernel}\nif triton:\n{inner}\nelse:\n{inner}\n{kernel}\n"
    for _ in range(2):
        lines = [i.range.line for i in analyze(parse_module(text)) if i.id == "sigmoid_slow_exp"]
        assert lines == [n for n, line in enumerate(text.splitlines(), 1) if "tl.exp" in line]
        text = "\n\n" + text


def test_an_empty_line_of_a_string_is_one_of_its_kernel(
    memory: IssueCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    quoted = TEXT.replace("    return x + 1", '    """Adds.\n\n    One."""\n    return x + 1')
    seen = _seen(monkeypatch)
    analyze(parse_module(quoted))
    seen.clear()
    analyze(parse_module(quoted.replace("One.", "One.\n\n    ")))
    assert seen == ["helper", "first"]
    seen.clear()
    analyze(parse_module(quoted.replace("    return x", "\n    return x")))
    assert seen == []


def test_another_context_is_another_question(
    memory: IssueCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _seen(monkeypatch)
    module = parse_module(TEXT)
    analyze(module)
    seen.clear()
    analyze(module, AnalysisContext(target=Target("hip", "gfx942")))
    assert len(seen) == 3


@pytest.mark.parametrize("edit", EDITS)
def test_nothing_stale_is_left(memory: IssueCache, edit: str) -> None:
    before = analyze(parse_module(TEXT))
    assert {issue.kernel for issue in before} >= {"first", "second"}
    module = parse_module(TEXT.replace(*EDITS[edit]))
    assert module.text != TEXT
    warm = analyze(module)
    memory.__init__()  # type: ignore[misc]
    assert warm == analyze(module)


_ASIDE = """
import triton
import triton.language as tl

def aside():
    return [triton.Config({"BLOCK": 64})]

register(aside())

@triton.jit
def last(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    for i in range(n):
        x = tl.load(x_ptr + offs + i)
    tl.store(x_ptr + offs, x)

def run(x):
    last[(1,)](x, 8)
"""


@pytest.mark.parametrize("edit", [('"BLOCK"', '"OTHER"'), ("aside", "triton_viz")])
def test_nothing_stale_is_left_of_code_that_names_no_kernel(
    memory: IssueCache, edit: tuple[str, str]
) -> None:
    before = analyze(parse_module(_ASIDE))
    module = parse_module(_ASIDE.replace(*edit))
    warm = analyze(module)
    assert warm != before
    memory.__init__()  # type: ignore[misc]
    assert warm == analyze(module)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_one_kernel_at_a_time_finds_what_all_at_once_do(memory: IssueCache, path: Path) -> None:
    module = parse_module(path.read_text(), str(path))
    context = AnalysisContext()
    whole = {(i, f.range) for i, find in registered().items() for f in find(module, context)}
    assert {(issue.id, issue.range) for issue in analyze(module)} == whole


@pytest.mark.hypothesis
def test_lines_above_change_nothing_but_places(memory: IssueCache) -> None:
    """Also where a message or its data names a line."""
    for snippet in sample(snippets(), 24):
        analyze(parse_module(snippet.text, "moved.py"), snippet.context)
        text = f"# more\n\n{snippet.text}"
        _assert_as_if_new(memory, text, snippet)


def _assert_as_if_new(memory: IssueCache, text: str, snippet: Snippet) -> None:
    warm = analyze(parse_module(text, "moved.py"), snippet.context)
    kept = dict(vars(memory))
    memory.__init__()  # type: ignore[misc]
    assert warm == analyze(parse_module(text, "moved.py"), snippet.context)
    vars(memory).update(kept)


@pytest.mark.parametrize("seed", range(12))
def test_any_edits_leave_nothing_stale(memory: IssueCache, seed: int) -> None:
    """Lines of kernels and host code that come, go and change places, one after another."""
    random = Random(seed)
    known = [s for s in snippets() if s.fires]
    for _ in range(4):
        snippet = random.choice(known)
        lines = snippet.text.split("\n")
        for _ in range(6):
            one, two = (random.randrange(len(lines)) for _ in range(2))
            match random.randrange(5):
                case 0:
                    lines.insert(one, random.choice(lines))
                case 1:
                    lines.insert(one, random.choice(("", "    ")))
                case 2 if len(lines) > 2:
                    del lines[one]
                case 3:
                    lines[one], lines[two] = lines[two], lines[one]
                case _:
                    lines[one] = lines[one].replace("1", "24").replace("BLOCK", "n")
            _assert_as_if_new(memory, "\n".join(lines), snippet)


def test_a_host_function_sees_what_an_edit_makes_a_kernel_read() -> None:
    """The lines of the launch stay, so that it is the same object in both versions."""
    before = """\
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, s_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(s_ptr)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * s, mask=offs < n)


def run(x, y, s):
    for _ in range(3):
        s = s * 2
        scale[(triton.cdiv(x.numel(), 1024),)](x, y, s, x.numel(), BLOCK=1024)
        if s.item() > 3:
            break
"""
    found = {issue.id for issue in analyze(parse_module(before, "roles.py"))}
    edited = before.replace("tl.load(s_ptr)", "s_ptr")
    after = {issue.id for issue in analyze(parse_module(edited, "roles.py"))}
    assert "device_host_sync" in found
    assert "device_host_sync" not in after
