"""Files as bytes: texts in odd encodings, damaged ones, notebooks and specs."""

import json
import random
from collections.abc import Sequence

from odd_texts import EXPRESSIONS

ENCODINGS: tuple[tuple[str, str], ...] = (
    ("", "utf-8"),
    ("", "utf-8-sig"),
    ("", "utf-16"),
    ("", "utf-16-le"),
    ("", "utf-32"),
    ("", "latin-1"),
    ("# -*- coding: latin-1 -*-\n", "latin-1"),
    ("#!/usr/bin/python\n# vim: set fileencoding=iso-8859-15 :\n", "iso-8859-15"),
    ("# coding: cp1252\n", "cp1252"),
    ("# coding=koi8-r\n", "koi8-r"),
    ("# coding: shift_jis\n", "shift_jis"),
    ("# coding: utf-8-unix\n", "utf-8"),
    ("# coding: ascii\n", "utf-8"),
    ("# coding: latin-1\n", "utf-8-sig"),
    ("# coding: nonsense\n", "utf-8"),
    ("# coding: hex\n", "utf-8"),
    ("# coding: idna\n", "utf-8"),
    ("# coding: utf-16\n", "utf-8"),
    ("x = 1\n\n# coding: latin-1\n", "latin-1"),
    ("\n# coding: latin-1\n", "latin-1"),
)


def encoded(text: str, random_: random.Random) -> bytes:
    """A text with letters beyond ASCII, in some encoding, with some line ends."""
    head, encoding = random_.choice(ENCODINGS)
    letters = {"koi8-r": "\u0416", "shift_jis": "\u30ab"}.get(encoding, "caf\xe9")
    whole = f"{head}# {letters}\n{text}"
    ends = random_.choice(("\n", "\n", "\r\n", "\r", "\n\f\n"))
    return whole.replace("\n", ends).encode(encoding, errors="replace")


def mutated(data: bytes, random_: random.Random) -> bytes:
    """Bytes with one to four faults: cut anywhere, doubled, swapped, replaced, filled in."""
    for _ in range(random_.randint(1, 4)):
        data = random_.choice(_FAULTS)(data, random_)
    return data


def _cut(data: bytes, random_: random.Random) -> bytes:
    return data[: random_.randint(0, len(data))]


def _cut_start(data: bytes, random_: random.Random) -> bytes:
    return data[random_.randint(0, len(data)) :]


def _removed(data: bytes, random_: random.Random) -> bytes:
    start = random_.randint(0, len(data))
    return data[:start] + data[start + random_.randint(1, 200) :]


def _doubled(data: bytes, random_: random.Random) -> bytes:
    start = random_.randint(0, len(data))
    piece = data[start : start + random_.randint(1, 400)]
    return data[:start] + piece * random_.choice((2, 3, 40)) + data[start:]


def _filled_in(data: bytes, random_: random.Random) -> bytes:
    start = random_.randint(0, len(data))
    pieces = (b"\0", b"\xff", b"\xe9", b"\r", b"\f", b"\t", b"\\", b"'''", b"(", b")", b"]", b"\x1b[31m",
              b"\xef\xbb\xbf", b"\x1a", b"\xe2\x80\xa8", b"\n        ", b" :", b"@", b"=", b"\xed\xa0\x80")  # fmt: skip
    return data[:start] + random_.choice(pieces) + data[start:]


def _number(data: bytes, random_: random.Random) -> bytes:
    """One of the text's numbers replaced by an odd expression."""
    places = [
        i for i in range(1, len(data)) if data[i : i + 1].isdigit() and data[i - 1 : i] in b" (=,["
    ]
    if not places:
        return data
    place = random_.choice(places)
    return data[:place] + random_.choice(EXPRESSIONS).encode(errors="replace") + data[place + 1 :]


def _lines_mixed(data: bytes, random_: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    start = random_.randint(0, len(lines))
    part = lines[start : start + 12]
    random_.shuffle(part)
    return b"".join((*lines[:start], *part, *lines[start + 12 :]))


def _indented(data: bytes, random_: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    for _ in range(3 if lines else 0):
        place = random_.randrange(len(lines))
        lines[place] = random_.choice((b"\t", b" ", b"      ")) + lines[place]
    return b"".join(lines)


_FAULTS = (_cut, _cut_start, _removed, _doubled, _filled_in, _filled_in, _number, _number, _lines_mixed, _indented)  # fmt: skip


def notebook(texts: Sequence[str], random_: random.Random) -> bytes:
    """A notebook of some texts, as Jupyter would save it or not at all so."""
    cells: list[object] = [
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "source": text.splitlines(keepends=True),
        }
        for text in texts
    ]
    odd: tuple[object, ...] = (
        {"cell_type": "markdown", "source": "# x"},
        {"cell_type": "code"},
        {"cell_type": "code", "source": 5},
        {"cell_type": "code", "source": ["a", 5]},
        {"cell_type": "code", "source": "%%bash\nls\n"},
        {"cell_type": "code", "source": "%time x = 1\n!ls\nx?\n"},
        {"cell_type": "code", "source": "%%time\nx = (\n"},
        {"cell_type": "code", "source": "\ud800\u2028\0"},
        {"cell_type": ["code"], "source": {}},
        {"cell_type": "code", "source": "x = 1", "outputs": ["y" * 100_000]},
        5, None, [], "code",
    )  # fmt: skip
    cells += random_.sample(odd, random_.randint(0, 3))
    random_.shuffle(cells)
    whole: tuple[object, ...] = (
        *[{"cells": cells, "nbformat": 4, "metadata": {}}] * 8,
        {"worksheets": [{"cells": cells}], "nbformat": 3},
        {"worksheets": [5, {"cells": 5}], "nbformat": 3},
        {"cells": {"a": cells}},
        {"cells": None},
        [cells],
        5,
    )
    data = json.dumps(random_.choice(whole)).encode(random_.choice(("utf-8", "utf-8", "utf-16")))
    return mutated(data, random_) if random_.random() < 0.3 else data


SPECS: tuple[str, ...] = (
    "",
    "5",
    "[]",
    "- a\n- b\n",
    "entry: run0\n",
    "entry: nothing\ninputs:\n  x: {shape: [N], dtype: float32}\nci:\n  - {params: [x], dims: {N: 5}}\n",
    "inputs: 5\n",
    "inputs: {}\nci: []\n",
    "inputs:\n  x: {shape: [N], dtype: float32}\nci:\n  - {params: [x], dims: {N: 99999999999999999999}}\n",
    "inputs:\n  x: {shape: [N**N**N], dtype: float32}\nci:\n  - {params: [x], dims: {N: 64}}\n",
    "inputs:\n  x: {shape: [N], dtype: float32}\nci:\n  - {params: [x], dims: {N: 8}, flop: '9**9**9**9'}\n",
    "inits: [a]\ninputs:\n  x: {shape: [N], dtype: float32}\nci:\n  - {params: [x], dims: {N: 8}}\n",
    "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{c}: &{c} [{', '.join(f'*{p}' for _ in range(9))}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True))
    + "inputs: *i\nci: *i\n",
    "x: &x {inputs: *x, ci: *x}\n",
    "<<: &m {<<: *m}\ninputs: *m\n",
    "inputs: &i\n  x: *i\nci:\n  - params: *i\n",
    "inputs: {x: {shape: [1]}}\ninputs: {y: {shape: [1]}}\nci: [{params: [x]}]\n",
    "inputs:\n\tx: 5\n",
    "? [a, b]\n: 5\n? {c: d}\n: 6\ninputs: {1: 2, 2020-01-01: 5, null: 3, true: 5}\nci: [{params: [1]}]\n",
    "ci: 2020-01-01\ninputs: !!python/object:os.system {}\n",
    "!!binary x: =\ninputs: !!set {a, b}\nci: !!omap [a: 1]\n",
    "--- 1\n--- 2\n",
    "%YAML 9.9\n---\ninputs: {}\n",
    "\x00\x01",
    "{" * 3_000,
    "- " * 3_000 + "x\n",
    "inputs: " + "[" * 900 + "]" * 900 + "\n",
    "x: " + "9" * 6_000 + "\ninputs: {x: {value: " + "9" * 6_000 + "}}\nci: [{params: [x]}]\n",
    "inputs: {x: {shape: [" + "1, " * 5_000 + "], dtype: float32}}\nci: [{params: [x]}]\n",
    "".join(f"key{i}: {{a: 1}}\n" for i in range(3_000)),
    "inputs:\n" + "".join(f"  x{i}: {{shape: [N], dtype: float32}}\n" for i in range(1_000))
    + "ci:\n  - {params: [x1], dims: {N: 5}}\n",
)  # fmt: skip


def specs(random_: random.Random, known: Sequence[bytes]) -> bytes:
    """A spec: one of the project's own, mutated, or one that nobody would write."""
    if known and random_.random() < 0.4:
        return mutated(random_.choice(known), random_)
    data = random_.choice(SPECS).encode()
    return mutated(data, random_) if random_.random() < 0.2 else data
