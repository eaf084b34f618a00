"""Open, change, save, close; diagnostics pushed and pulled; hover."""

from conversation import DOT_LINE, LAUNCH_LINE, NAME_LINE, Conversation, pulling, until
from lsprotocol import types


async def test_push_names_the_place_the_reason_and_the_version(talk: Conversation) -> None:
    await talk.begin()
    await talk.settled()
    uri = talk.open()
    await until(lambda: talk.client.diagnostics.get(uri))
    (found,) = talk.client.diagnostics[uri]
    # The line is indented by 8 and starts with a string of one emoji: 2 UTF-16 units, not 1.
    assert found.range.start == types.Position(DOT_LINE, 14)
    assert found.range.end == types.Position(DOT_LINE, 33)
    assert (found.code, found.source) == ("dot_accumulator", "tilewright")
    assert found.severity == types.DiagnosticSeverity.Warning
    assert found.code_description is not None
    assert found.code_description.href.endswith("/dot_accumulator.md")
    assert found.related_information is not None
    assert found.related_information[0].location.range.start.line == LAUNCH_LINE
    assert found.data == {"issue": "dot_accumulator", "kernel": "dot_kernel"}


async def test_push_follows_edits_and_ends_with_the_document(talk: Conversation) -> None:
    await talk.begin()
    uri = talk.open()
    await until(lambda: talk.client.diagnostics.get(uri))
    talk.replace(talk.text.replace("acc += tl.dot(a, b)", "acc = tl.dot(a, b, acc)"))
    await until(lambda: not talk.client.diagnostics[uri])
    talk.replace(talk.text.replace("acc = tl.dot(a, b, acc)", "acc += tl.dot(a, tl.exp(b))"))
    await until(lambda: len(talk.client.diagnostics[uri]) == 2)
    severities = {d.code: d.severity for d in talk.client.diagnostics[uri]}
    assert severities["odd_exp"] == types.DiagnosticSeverity.Error
    talk.client.text_document_did_close(
        types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
    )
    await until(lambda: not talk.client.diagnostics[uri])


async def _pull(talk: Conversation, previous: str | None = None) -> types.DocumentDiagnosticReport:
    return await talk.client.text_document_diagnostic_async(
        types.DocumentDiagnosticParams(
            types.TextDocumentIdentifier(talk.uri), previous_result_id=previous
        )
    )


async def test_pull_answers_unchanged_until_something_changes(talk: Conversation) -> None:
    await talk.begin(pulling(), docsUrl="https://docs.example/rules/")
    await talk.settled()
    uri = talk.open()
    first = await _pull(talk)
    assert isinstance(first, types.RelatedFullDocumentDiagnosticReport)
    assert [d.code for d in first.items] == ["dot_accumulator"]
    page = first.items[0].code_description
    assert page is not None
    assert page.href == "https://docs.example/rules/dot_accumulator"
    again = await _pull(talk, first.result_id)
    assert again.kind == "unchanged"
    talk.replace(talk.text + "\n# one more line\n")
    changed = await _pull(talk, first.result_id)
    assert changed.kind == "full"
    assert uri not in talk.client.diagnostics, "pushed to a client that pulls"


async def test_a_kernel_that_does_not_parse_is_said_to_be_left_out(talk: Conversation) -> None:
    await talk.begin(pulling())
    talk.open(
        text="import triton\n\n\n@triton.jit\ndef k(x_ptr):\n    y = (\n\n\ndef f():\n    pass\n"
    )
    report = await _pull(talk)
    assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
    assert [d.code for d in report.items] == ["kernel_does_not_parse"]
    assert report.items[0].severity == types.DiagnosticSeverity.Information


async def test_syntax_errors_elsewhere_are_left_to_pythons_server(talk: Conversation) -> None:
    await talk.begin(pulling())
    talk.open(text="def f(:\n    pass\n\nx = = 3\n")
    report = await _pull(talk)
    assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
    assert not report.items


async def test_hover_on_an_issue_gives_reason_and_gain(talk: Conversation) -> None:
    await talk.begin()
    talk.open()
    card = await talk.hover(DOT_LINE, 20)
    assert card is not None
    for part in (
        "dot_accumulator",
        "second accumulator",
        "**Why**",
        "**Fix**",
        "**Expected gain**",
    ):
        assert part in card


async def test_hover_leaves_the_message_to_an_editor_that_shows_it(talk: Conversation) -> None:
    await talk.begin(diagnosticsInHover=True)
    talk.open()
    card = await talk.hover(DOT_LINE, 20)
    assert card is not None
    assert "second accumulator" not in card
    assert "**Why**" in card


async def test_hover_on_the_kernel_and_its_launch(talk: Conversation) -> None:
    await talk.begin()
    talk.open()
    card = await talk.hover(NAME_LINE, 6)
    assert card is not None
    assert "BLOCK: constexpr" in card
    assert "Not compiled, checked or timed yet." in card
    assert await talk.hover(LAUNCH_LINE, 6) == card
    assert await talk.hover(0, 0) is None


async def test_edits_keep_the_text_through_form_feed_and_line_separators(
    talk: Conversation,
) -> None:
    await talk.begin(pulling())
    text = "a = 1\n\f\n# \u2028 \x85 🎉\nb = 2\r\nc = 3\rd = 4\n"
    talk.open(text=text)
    place = types.Range(types.Position(3, 0), types.Position(3, 1))
    change = types.TextDocumentContentChangePartial(range=place, text="🎉🎉\n")
    talk.client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(2, talk.uri), [change]
        )
    )
    info = await talk.execute("tilewright.debugInfo")
    expected = text.replace("b = 2", "🎉🎉\n = 2")
    assert info["documents"][0]["characters"] == len(expected)
    assert info["documents"][0]["version"] == 2
