"""Edit after edit in published files: the issues are those of a text never seen before."""

import ast
import random
from pathlib import Path

import corpora
import pytest

from tilewright.analysis import analyze
from tilewright.analysis.issue_cache import IssueCache
from tilewright.source import parse_module
from tilewright.source.device_names import device_names
from tilewright.source.model import Module

_EDITS = 12
_PIECES = ("BLOCK", "stride", "num_warps=4", "+ 1", "0.0", "tl.float32", "other=0.0", "n_cols")


def _files(seed: int) -> list[Path]:
    """Some files of both corpora, another choice for each seed."""
    found = [path for name in corpora.CORPORA for path in corpora.kernel_files(name)]
    return random.Random(seed).sample(found, 3)


def _edited(text: str, rng: random.Random) -> str:
    """A line more, less, moved, half typed, or with another word or number in it; many pasted."""
    lines = text.split("\n")
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    indent = lines[one][: len(lines[one]) - len(lines[one].lstrip())]
    match rng.randrange(10):
        case 0:
            lines.insert(one, "")
        case 1:
            lines.insert(one, f"{indent}added_{one} = {one}")
        case 2:
            del lines[one]
        case 3:
            lines[one : one + 1] = lines[two : two + 4]
        case 4:
            lines[one] = lines[one][: rng.randrange(len(lines[one]) + 1)]
        case 5:
            lines[one] = lines[one].replace("0", "16", 1).replace("x", "y", 1)
        case 6:
            lines[one] = lines[one].replace(rng.choice(_PIECES), rng.choice(_PIECES))
        case 7:
            tops = [n for n, line in enumerate(lines) if line.startswith(("def ", "@", "class "))]
            place = rng.choice([0, *tops])
            lines[place:place] = lines[two : two + 40]
        case 8:
            lines[:0] = [""] * rng.randrange(1, 4)
        case _:
            lines[one], lines[two] = lines[two], lines[one]
    return "\n".join(lines)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> IssueCache:
    """The issues that are remembered, empty at first."""
    made = IssueCache()
    monkeypatch.setitem(analyze.__globals__, "_CACHE", made)
    return made


def _as_new(text: str, path: str, monkeypatch: pytest.MonkeyPatch) -> Module:
    """The module of a text that shares nothing with any other."""
    kept = parse_module.__globals__["_KEPT"]
    with monkeypatch.context() as patched:
        patched.setitem(parse_module.__globals__, "_KEPT", type(kept)())
        return parse_module(text, path)


def _said(module: Module) -> tuple[object, ...]:
    """What a module says of its text, with all places."""
    tree = ast.dump(module.tree, include_attributes=True)
    hosts = sorted(module.host_functions)
    return module.kernels, module.launches, hosts, device_names(module), tree


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_issues_after_edits_are_those_of_a_new_text(
    memory: IssueCache, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    for path in _files(seed):
        text, whole = path.read_text(encoding="utf-8"), path.read_text(encoding="utf-8")
        analyze(parse_module(text, str(path)))
        for _ in range(_EDITS):
            text = _edited(text, rng) if rng.random() < 0.8 else whole
            edited = parse_module(text, str(path))
            warm = analyze(edited)
            kept = dict(vars(memory))
            memory.__init__()  # type: ignore[misc]
            fresh = _as_new(text, str(path), monkeypatch)
            assert warm == analyze(fresh), path.name
            assert _said(edited) == _said(fresh), path.name
            vars(memory).update(kept)
