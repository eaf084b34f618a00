"""While a kernel does not parse, what was known of it stays in place, and the notice is there."""

from conversation import DOT_LINE, Conversation, until
from lsprotocol import types

from tilewright_server.last_good import MovedLines

BROKEN = "    offs = tl.arange(0, BLOCK"
WHOLE = BROKEN + ")"
ON_OPEN = {"run": "onOpenAndSave", "targets": ["cuda:90"]}

TWICE = """\
import triton
import triton.language as tl


@triton.jit
def two(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(4):
        a = tl.load(x_ptr + offs[:, None] * BLOCK + offs[None, :])
        acc += tl.dot(a, a)
        acc += tl.dot(a, acc)
    y = tl.exp(offs)
    z = tl.exp(acc)
    tl.store(x_ptr + offs, y)


def host(x):
    two[(1,)](x, BLOCK=32, num_warps=4)
"""


async def _diagnostics(talk: Conversation, code: str) -> types.Diagnostic:
    def found() -> list[types.Diagnostic]:
        shown = talk.client.diagnostics.get(talk.uri) or ()
        return [d for d in shown if d.code == code]

    await until(found)
    return found()[0]


async def _hints(talk: Conversation) -> dict[int, list[str]]:
    everything = types.Range(types.Position(0, 0), types.Position(100, 0))
    found = await talk.client.text_document_inlay_hint_async(
        types.InlayHintParams(types.TextDocumentIdentifier(talk.uri), everything)
    )
    hints: dict[int, list[str]] = {}
    for hint in found or ():
        hints.setdefault(hint.position.line, []).append(str(hint.label))
    return hints


async def test_findings_stay_and_move_with_their_lines(talk: Conversation) -> None:
    await talk.begin()
    talk.open()
    before = await _diagnostics(talk, "dot_accumulator")
    talk.replace(talk.text.replace(WHOLE, f"\n\n{BROKEN}"))
    notice = await _diagnostics(talk, "kernel_does_not_parse")
    assert notice.severity == types.DiagnosticSeverity.Information
    # Where the bracket is open, not on the decorator or the name.
    assert notice.range.start.line == talk.text[: talk.text.index(BROKEN)].count("\n")
    kept = await _diagnostics(talk, "dot_accumulator")
    assert kept.message == before.message
    assert kept.range.start.line == before.range.start.line + 2 == DOT_LINE + 2
    assert kept.range.start.character == before.range.start.character
    talk.replace(talk.text.replace(BROKEN, WHOLE))
    await until(lambda: len(talk.client.diagnostics[talk.uri]) == 1)


async def test_the_row_of_lenses_stays_above_the_kernel(talk: Conversation) -> None:
    await talk.begin()
    talk.open()
    await _diagnostics(talk, "dot_accumulator")
    before = await _lens_lines(talk)
    talk.replace(talk.text.replace(WHOLE, BROKEN))
    await _diagnostics(talk, "kernel_does_not_parse")
    assert await talk.lenses() == ["does not parse"], "it was never compiled"
    assert await _lens_lines(talk) == before, "the text does not jump"


async def _lens_lines(talk: Conversation) -> set[int]:
    found = await talk.client.text_document_code_lens_async(
        types.CodeLensParams(types.TextDocumentIdentifier(talk.uri))
    )
    return {lens.range.start.line for lens in found or ()}


async def test_hints_stay_where_they_are(talk: Conversation) -> None:
    await talk.begin()
    talk.open()
    before = await _hints(talk)
    assert any(": [BLOCK] i32" in labels for labels in before.values())
    talk.replace(talk.text.replace(WHOLE, BROKEN))
    after = await _hints(talk)
    line = talk.text[: talk.text.index(BROKEN)].count("\n")
    assert line not in after, "the line that is being typed"
    del before[line]
    assert after.keys() == before.keys()
    for line, labels in before.items():
        shapes = [label for label in labels if label.startswith(":")]
        assert [label for label in after[line] if label.startswith(":")] == shapes


async def test_figures_are_marked_stale(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN)
    talk.open("spill")
    await until(lambda: talk.finished)
    lenses = await talk.lenses()
    hints = [label for labels in (await _hints(talk)).values() for label in labels]
    figures = [label.strip() for label in hints if "B an access" in label or "spill" in label]
    assert figures
    assert not any("stale" in text for text in (*lenses, *figures))
    talk.replace(talk.text.replace("None, :], acc)", "None, :], acc"))
    hints = [label for labels in (await _hints(talk)).values() for label in labels]
    stale = [label.strip() for label in hints if "B an access" in label or "spill" in label]
    assert stale == [f"{label} (stale)" for label in figures]
    kept = await talk.lenses()
    assert kept[0] == f"{lenses[0]} (stale)"


async def test_an_error_elsewhere_takes_no_facts_away(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN)
    talk.open("spill")
    await until(lambda: talk.finished)
    before = (await talk.lenses())[0]
    assert "registers" in before
    talk.replace(talk.text.replace("    return c", "    return c +"))
    assert (await talk.lenses())[0] == before
    talk.replace(talk.text.replace("import triton\n", "import triton\nimport torch\n"))
    assert before not in await talk.lenses(), "another statement has changed as well"


async def test_one_cause_in_a_kernel_is_one_finding_with_its_places(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text=TWICE)
    found = await _diagnostics(talk, "dot_accumulator")
    shown = talk.client.diagnostics[talk.uri]
    assert [d.code for d in shown if d.code == "dot_accumulator"] == ["dot_accumulator"]
    assert found.message.endswith("second accumulator. Also on line 12.")
    lines = [r.location.range.start.line for r in found.related_information or ()]
    assert 11 in lines
    errors = [d for d in shown if d.code == "odd_exp"]
    assert len(errors) == 1, "errors with one message are one as well"
    assert errors[0].message == "exp may overflow. Also on line 14."


async def test_a_client_without_related_places_gets_each(talk: Conversation) -> None:
    await talk.begin(types.ClientCapabilities())
    talk.open(text=TWICE)
    await _diagnostics(talk, "dot_accumulator")
    shown = talk.client.diagnostics[talk.uri]
    assert [d.code for d in shown].count("dot_accumulator") == 2


async def test_kinds_of_hints_can_be_off(talk: Conversation) -> None:
    await talk.begin(inlayShapes=False)
    await talk.settled()
    talk.open(text=TWICE)
    labels = [label for labels in (await _hints(talk)).values() for label in labels]
    assert not any(label.startswith(":") for label in labels)


def test_lines_that_are_the_same_move() -> None:
    moved = MovedLines(["a", "b", "c", "d", "e"], ["a", "new", "b", "x", "d", "e"])
    assert [moved.now(line) for line in range(1, 6)] == [1, 3, None, 5, 6]
    assert moved.changed == (2, 4)
    same = MovedLines(["a"], ["a"])
    assert same.now(1) == 1
