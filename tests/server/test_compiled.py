"""What compilers say in the background: it appears, moves with its lines, goes with its text."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from conversation import KERNEL, NAME_LINE, Conversation, apply_edits, pulling, until
from lsprotocol import types
from pygls.exceptions import JsonRpcException

ON_OPEN = {"run": "onOpenAndSave", "targets": ["cuda:90"]}
ON_SAVE = {"run": "onSave", "targets": ["cuda:90"]}
ISSUE_LINE = NAME_LINE + 2


def _found(talk: Conversation) -> list[types.Diagnostic]:
    shown = talk.client.diagnostics.get(talk.uri) or ()
    return [d for d in shown if "Compiled for" in d.message]


async def _assembly(talk: Conversation, **wanted: Any) -> Any:
    params = {"textDocument": {"uri": talk.uri}, **wanted}
    return await talk.client.protocol.send_request_async("tilewright/assembly", params)


async def test_an_opened_file_is_compiled_and_shown_with_its_evidence(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN, docsUrl="https://docs.example/rules")
    talk.open("nothing")
    await until(lambda: _found(talk))
    (shown,) = _found(talk)
    assert (shown.source, shown.code) == ("tilewright", "unvectorized_access")
    assert shown.code_description is not None
    assert shown.code_description.href == "https://docs.example/rules/unvectorized_access"
    assert shown.range.start == types.Position(ISSUE_LINE, 4)
    assert shown.severity is types.DiagnosticSeverity.Warning
    said = "Compiled for cuda:90 with BLOCK=32 by triton 3.9.0; launched as in the spec"
    assert said in shown.message
    assert talk.client.messages == [], "what runs by itself ends without a word"


async def test_what_is_said_moves_with_the_lines_and_goes_with_the_text(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN)
    talk.open("nothing")
    await until(lambda: _found(talk))
    original = talk.text
    talk.replace("# one\n# two\n" + original)
    await until(lambda: [d.range.start.line for d in _found(talk)] == [ISSUE_LINE + 2])
    talk.replace(original.replace("offs = tl", "offs = 1 * tl"))
    await until(lambda: _found(talk) == [])
    assert all("registers" not in title for title in await talk.lenses())
    talk.replace(original)
    await until(lambda: [d.range.start.line for d in _found(talk)] == [ISSUE_LINE])


async def test_what_compiled_code_shows_can_be_ignored(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN)
    talk.open("nothing")
    await until(lambda: _found(talk))
    actions = {a.title: a for a in await talk.actions(ISSUE_LINE, 5, only=["quickfix"])}
    chosen = actions["Ignore unvectorized_access on this line"]
    resolved = await talk.client.code_action_resolve_async(chosen)
    assert resolved.edit is not None
    (change,) = resolved.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    new = apply_edits(talk.text, list(change.edits))
    assert new.splitlines()[ISSUE_LINE].endswith("# tilewright: ignore[unvectorized_access]")
    talk.replace(new)
    await until(lambda: _found(talk) == [])


async def test_pulled_diagnostics_have_it_too(talk: Conversation) -> None:
    await talk.begin(pulling(), compiled=ON_OPEN)
    talk.open("nothing")
    await until(lambda: talk.finished)
    params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(talk.uri))
    report = await talk.client.text_document_diagnostic_async(params)
    assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
    assert "unvectorized_access" in {d.code for d in report.items}


async def test_on_save_alone_nothing_is_compiled_on_open(talk: Conversation) -> None:
    await talk.begin(compiled=ON_SAVE, profileOnSave=False)
    talk.open("nothing")
    await asyncio.sleep(0.6)
    assert await talk.jobs() == []
    talk.save()
    await until(lambda: _found(talk))
    talk.save()
    await asyncio.sleep(0.2)
    assert len(await talk.jobs()) == 1, "what is known is not compiled again"


async def test_a_file_of_helper_functions_is_not_compiled(talk: Conversation) -> None:
    """Kernels of other files call them: nothing tells what to compile them with."""
    await talk.begin(compiled=ON_OPEN)
    helper = "import triton\n\n@triton.jit\ndef gelu(x):\n    return x * 2\n"
    talk.open(text=helper, name="helpers.py")
    talk.save()
    other = talk.open("nothing", name="kernels.py")
    await until(lambda: talk.finished)
    await until(lambda: _found(talk))
    assert [job["uri"] for job in await talk.jobs()] == [other]


async def test_in_an_untrusted_workspace_nothing_is_compiled(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN, trusted=False)
    talk.open("nothing")
    talk.save()
    await asyncio.sleep(0.6)
    assert await talk.jobs() == []
    with pytest.raises(JsonRpcException, match="not trusted"):
        await _assembly(talk)


async def test_a_change_starts_it_again_with_the_new_text(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN)
    talk.open("linger")
    await until(lambda: talk.client.progress_reports)
    talk.replace(KERNEL.format(engine="nothing").replace("offs = tl", "offs = 0 + tl"))
    await until(lambda: len(talk.finished) == 2)
    assert [job.state for job in talk.finished] == ["cancelled", "done"]
    await until(lambda: _found(talk))


async def test_a_change_elsewhere_lets_it_go_on(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN)
    talk.open("ponder")
    await until(lambda: talk.client.progress_reports)
    talk.replace(talk.text + "# a word\n")
    await until(lambda: _found(talk))
    await asyncio.sleep(1.2)
    assert [job.state for job in talk.finished] == ["done"]


async def test_an_optimization_goes_before_the_compilation_of_its_file(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN)
    talk.accept = False
    talk.open("improve linger")
    await until(lambda: talk.client.progress_reports)
    wanted = await talk.optimize()
    job = await talk.end_of_job()
    assert (job.job, job.state) == (wanted["job"], "done")
    again = {"state": "waiting"}
    while again["state"] != "running":  # it has its turn again
        await asyncio.sleep(0.02)
        (again,) = [job for job in await talk.jobs() if job["kind"] == "compile"]
    await talk.execute("tilewright.cancelJob", {"job": again["job"]})
    await talk.end_of_job(2)


async def test_a_closed_file_is_not_compiled_further(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN)
    talk.open("linger")
    await until(lambda: talk.client.progress_reports)
    identifier = types.TextDocumentIdentifier(talk.uri)
    talk.client.text_document_did_close(types.DidCloseTextDocumentParams(identifier))
    job = await talk.end_of_job()
    assert job.state == "cancelled"


async def test_lens_and_hover_say_what_the_compiler_made_of_it(talk: Conversation) -> None:
    await talk.begin(compiled={"run": "onOpenAndSave", "targets": ["cuda:90", "hip:gfx942"]})
    talk.open("nothing")
    await until(lambda: _found(talk))
    nvidia, profile, optimize, compare = await talk.lenses()
    figures = "128 registers, no spills, 208 KiB shared, 1 program a multiprocessor (shared memory)"
    assert nvidia == "cuda:90: 128 registers, no spills, est. 17.2 µs, 61 % of roof"
    assert (profile, optimize, compare) == ("Profile", "Optimize…", "Compare")
    assert len(" | ".join((nvidia, profile, optimize, compare))) <= 100
    card = await talk.hover(NAME_LINE, 6) or ""
    assert f"- `BLOCK=32 num_warps=4`: {figures}; 2 wgmma" in card
    assert "17.2 us by estimate, not measured (bound by memory, 61 % of the roofline)" in card
    assert "launched as in the spec of the file" in card
    assert "Not run here yet." in card
    line = await talk.hover(ISSUE_LINE, 20) or ""
    assert "- cuda:90: load: 4 bytes a thread, 16 possible, 8 accesses; 2 wgmma" in line
    assert "**Why**" in (await talk.hover(ISSUE_LINE, 5) or ""), "the issue's own card"


async def test_a_profile_adds_what_the_compiler_cannot_know(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN, target="cuda:90")
    talk.open("spill")
    await until(lambda: _found(talk))
    await talk.execute("tilewright.profile", {"uri": talk.uri})
    await until(lambda: len(talk.finished) == 2)
    lenses = await talk.lenses()
    assert lenses[1] == "correct, not timed"
    assert "register_spills" not in {d.code for d in talk.client.diagnostics[talk.uri]}


async def test_what_an_assumed_launch_shows_is_a_remark(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN)
    talk.open("assumed")
    await until(lambda: _found(talk))
    (shown,) = _found(talk)
    assert shown.severity is types.DiagnosticSeverity.Information
    assert "ASSUMED launch: its problem's entry point fails: no GPU" in shown.message
    assert (await talk.lenses())[0].endswith("(assumed launch)")


async def test_what_the_compiler_refuses_confirms_the_text(talk: Conversation) -> None:
    """One diagnostic in place of two, as severe as the text has it."""
    await talk.begin(compiled=ON_OPEN)
    talk.open(text=_with_a_power("refuse assumed"))
    await until(lambda: any("Confirmed" in d.message for d in _powers(talk)))
    (shown,) = [d for d in talk.client.diagnostics[talk.uri] if d.range.start.line == ISSUE_LINE]
    assert (shown.code, shown.severity) == ("unsupported_syntax", types.DiagnosticSeverity.Error)
    assert shown.message.endswith(" Confirmed: triton 3.9.0 for cuda:90: unsupported operand.")
    assert " Confirmed: " in (await talk.hover(ISSUE_LINE, shown.range.start.character) or "")


async def test_what_compiles_after_all_is_a_hint(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN)
    talk.open(text=_with_a_power("ponder"))
    await until(lambda: _powers(talk))
    assert [d.severity for d in _powers(talk)] == [types.DiagnosticSeverity.Error]
    hint = types.DiagnosticSeverity.Hint
    await until(lambda: [d.severity for d in _powers(talk)] == [hint])
    assert _powers(talk)[0].message.endswith("But it compiled: triton 3.9.0 for cuda:90.")


def _with_a_power(engine: str) -> str:
    return KERNEL.format(engine=engine).replace("tl.arange(0, BLOCK)", "tl.arange(0, BLOCK)**2.0")


def _powers(talk: Conversation) -> list[types.Diagnostic]:
    shown = talk.client.diagnostics.get(talk.uri) or ()
    return [d for d in shown if d.code == "unsupported_syntax"]


async def test_lines_that_end_as_on_windows_are_the_same_lines(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN)
    talk.open(text=KERNEL.format(engine="nothing").replace("\n", "\r\n"))
    await until(lambda: _found(talk))
    assert _found(talk)[0].range.start.line == ISSUE_LINE


async def test_a_helper_that_changed_takes_its_facts_along(talk: Conversation) -> None:
    helper = "@triton.jit\ndef twice(x):\n    return x * 2\n\n\n"
    text = KERNEL.format(engine="nothing").replace("@triton.jit", helper + "@triton.jit")
    text = text.replace("tl.dot(a, b)", "twice(tl.dot(a, b))")
    await talk.begin(compiled=ON_OPEN)
    talk.open(text=text)
    await until(lambda: _found(talk))
    talk.replace(text.replace("x * 2", "x * 3"))
    await until(lambda: _found(talk) == [])


async def test_what_cannot_be_compiled_is_said_where_the_facts_would_be(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN)
    talk.open("unable")
    await until(lambda: talk.finished)
    assert (await talk.lenses())[0] == (
        "not compiled: its kernels cannot be imported: no module named foo"
    )


async def test_the_command_compiles_for_a_target_that_is_named(talk: Conversation) -> None:
    await talk.begin()
    talk.open("nothing")
    answer = await talk.execute("tilewright.compile", {"uri": talk.uri, "target": "hip:gfx950"})
    job = await talk.end_of_job()
    assert (job.job, job.state, job.message) == (answer["job"], "done", "1 kernel compiled")
    assert (await talk.lenses())[0].startswith("hip:gfx950: 128 registers")


async def test_the_lens_shows_the_assembly_where_the_editor_can(talk: Conversation) -> None:
    await talk.begin(compiled=ON_OPEN, assemblyView=True)
    talk.open("nothing")
    await until(lambda: _found(talk))
    found = await talk.client.text_document_code_lens_async(
        types.CodeLensParams(types.TextDocumentIdentifier(talk.uri))
    )
    command = (found or [])[0].command
    assert command is not None
    assert command.command == "tilewright.showAssembly"
    place = {"uri": talk.uri, "kernel": "dot_kernel", "target": "cuda:90"}
    assert list(command.arguments or ()) == [place]


async def test_assembly_comes_with_its_lines_and_the_version_it_is_of(talk: Conversation) -> None:
    await talk.begin()
    talk.open("nothing")
    found = await _assembly(talk, line=ISSUE_LINE, target="cuda:90")
    assert (found.kernel, found.target, found.stage) == ("dot_kernel", "cuda:90", "sass")
    assert found.stages == ["ptx", "sass"]
    assert found.text.splitlines()[1] == "LDG R1"
    assert [(each.source, list(each.text)) for each in found.lines] == [(ISSUE_LINE, [1, 2])]
    assert found.configuration == "BLOCK=32 num_warps=4"
    assert found.version == talk.version
    ptx = await _assembly(talk, kernel="dot_kernel", stage="ptx")
    assert (ptx.stage, ptx.hash) == ("ptx", found.hash)


async def test_assembly_that_there_is_not_is_refused_with_the_reason(
    talk: Conversation, tmp_path: Path
) -> None:
    await talk.begin()
    talk.open("unable")
    with pytest.raises(JsonRpcException, match="no module named foo"):
        await _assembly(talk)
    with pytest.raises(JsonRpcException, match="there is no kernel other to compile"):
        await _assembly(talk, kernel="other")
    with pytest.raises(JsonRpcException, match="is not a target"):
        await _assembly(talk, target="nonsense")
    talk.open(text="x = 1\n", name="plain.py")
    with pytest.raises(JsonRpcException, match="no Triton kernel"):
        await _assembly(talk)


async def test_facts_of_a_file_are_not_those_of_another_with_the_same_text(
    talk: Conversation, tmp_path: Path
) -> None:
    """The other one may import other modules, and other launches of it may be on record."""
    await talk.begin(compiled=ON_SAVE)
    talk.open("nothing")
    talk.save()
    await until(lambda: _found(talk))
    assert any("registers" in title for title in await talk.lenses())
    talk.open("nothing", name="copy.py")
    await talk.hover(NAME_LINE, 6)
    assert all("registers" not in title for title in await talk.lenses())
    assert _found(talk) == []
