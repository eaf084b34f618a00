"""The files that are edited, and the edits: the same for every server, none made twice."""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PASTED_LINES = 200
_LONG_LINES = 5000
_MANY_KERNELS = 200
_JIT = "@triton.jit"
_LAST = """

@triton.jit
def bench_last_kernel(x_ptr):
    tl.store(x_ptr + tl.arange(0, 3), bench_undefined_name)
"""
"""At the end of each file: something that every server reports, and that moves with the lines."""


@dataclass(frozen=True)
class Document:
    """A file to edit. ``kernel`` and ``host`` are 0-based lines to insert before, with indents."""

    name: str
    text: str
    kernel: tuple[int, str]
    host: tuple[int, str]
    top: int
    kernels: int

    @property
    def lines(self) -> int:
        return self.text.count("\n")


@dataclass(frozen=True)
class Change:
    """Lines ``first`` to ``last`` (0-based, the last is not included) are replaced."""

    first: int
    last: int
    text: str

    def to_lsp(self) -> dict[str, object]:
        start = {"line": self.first, "character": 0}
        end = {"line": self.last, "character": 0}
        return {"range": {"start": start, "end": end}, "text": self.text}


@dataclass(frozen=True)
class Stroke:
    """An edit to time, and what takes it back where the next one needs that (not timed)."""

    change: Change
    undo: Change | None = None


Edit = Callable[[Document, int], Stroke]


def documents(corpora: Path) -> tuple[Document, ...]:
    """1,674, 200 and 5,000 lines, and 200 kernels, of published packages."""
    liger = corpora / "liger_kernel" / "ops"
    gems = corpora / "flag_gems" / "ops"
    return (
        _document("1,674 lines", (liger / "mhc.py").read_text(encoding="utf-8")),
        _document("200 lines", (liger / "softmax.py").read_text(encoding="utf-8")),
        _document("5,000 lines", _joined(_sources(liger), _LONG_LINES)),
        _document("200 kernels", _dense(_sources(gems))),
    )


def edits(corpora: Path) -> dict[str, Edit]:
    """What is done to a document, by name. Each stroke follows the one before it."""
    source = (corpora / "liger_kernel" / "ops" / "softmax.py").read_text(encoding="utf-8")
    pasted = "\n".join(source.split("\n")[:PASTED_LINES]) + "\n"
    return {
        "kernel": _in_kernel,
        "host": _in_host,
        "new line": _new_line,
        "paste of 200 lines": lambda document, k: _paste(document, k, pasted),
    }


def typed(document: Document, strokes: int) -> Iterator[Change]:
    """Statements typed into a kernel one character at a time: most states are no Python."""
    row, indent = document.kernel
    done, number, line = 0, 0, ""
    while done < strokes:
        statement = f"{indent}typed_{number} = tl.arange(0, {2 * number + 16}) + {number}"
        yield Change(row, row, f"{indent}\n")
        done += 1
        for length in range(len(indent) + 1, len(statement) + 1):
            line = statement[:length]
            yield Change(row, row + 1, f"{line}\n")
            done += 1
            if done >= strokes:
                return
        number += 1


def _in_kernel(document: Document, k: int) -> Stroke:
    row, indent = document.kernel
    name = f"bench_{k}" + "_" * (k % 2)  # Another length each time: diagnostics change.
    return Stroke(Change(row, row + (k > 0), f"{indent}{name} = tl.arange(0, {2 * k + 3})\n"))


def _in_host(document: Document, k: int) -> Stroke:
    """One line and two in turn, so that the places of all that follows change."""
    row, indent = document.host
    before = 0 if k == 0 else 1 + (k - 1) % 2
    return Stroke(Change(row, row + before, f"{indent}bench_{k} = {k}\n" + "\n" * (k % 2)))


def _new_line(document: Document, _: int) -> Stroke:
    row = document.kernel[0]
    return Stroke(Change(row, row, "\n"))


def _paste(document: Document, k: int, text: str) -> Stroke:
    pasted = text.replace("softmax", f"softmax_{k}")
    row = document.top
    lines = pasted.count("\n")
    return Stroke(Change(row, row, pasted), undo=Change(row, row + lines, ""))


def _document(name: str, source: str) -> Document:
    text = source.rstrip("\n") + "\n" + _LAST
    tree = ast.parse(text)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    functions.sort(key=lambda f: f.lineno)
    kernels = [f for f in functions if any("jit" in ast.unparse(d) for d in f.decorator_list)]
    hosts = [f for f in functions if f not in kernels and _launches(f)]
    kernel, host = kernels[len(kernels) // 2], hosts[len(hosts) // 2]
    first = min([kernel.lineno, *(d.lineno for d in kernel.decorator_list)])
    return Document(name, text, _body(kernel), _body(host), first - 1, len(kernels))


def _launches(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Subscript) for n in ast.walk(function)
    )


def _body(function: ast.FunctionDef) -> tuple[int, str]:
    """Before which line, and how far indented, to insert a statement into a function."""
    inner = function.body[-1]
    return inner.lineno - 1, " " * inner.col_offset


def _joined(sources: Sequence[str], most_lines: int) -> str:
    """Real files one after another, as long as they stay below a number of lines."""
    text = ""
    for source in sources:
        longer = text + source.rstrip("\n") + "\n\n\n"
        if longer.count("\n") <= most_lines:
            text = longer
    return text


def _sources(folder: Path) -> list[str]:
    """The files of a folder that hold kernels and can be joined, by name."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py")))
    return [text for text in texts if _JIT in text and "from __future__" not in text]


def _dense(sources: Sequence[str]) -> str:
    """Files joined until there are so many kernels, those with the shortest kernels first."""
    text = ""
    for source in sorted(sources, key=lambda s: s.count("\n") / s.count(_JIT)):
        text += source.rstrip("\n") + "\n\n\n"
        if text.count(_JIT) >= _MANY_KERNELS:
            return text
    raise RuntimeError("the corpora have too few kernels")
