"""Quick fixes and "Optimize for …": listed cheaply, resolved exactly, refused when stale."""

import ast

from conversation import (
    DOT_LINE,
    KERNEL,
    LAUNCH_LINE,
    NAME_LINE,
    Conversation,
    apply_edits,
    capabilities,
)
from lsprotocol import types

EXP = """\
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, tl.exp(x))
"""


async def _resolve(talk: Conversation, action: types.CodeAction) -> types.CodeAction:
    return await talk.client.code_action_resolve_async(action)


async def test_fix_is_listed_without_and_resolved_with_its_edit(talk: Conversation) -> None:
    await talk.begin()
    talk.open()
    action, *_ = await talk.actions(DOT_LINE, only=[types.CodeActionKind.QuickFix])
    assert action.title == "Accumulate inside tl.dot (exact, not measured)"
    assert action.edit is None
    resolved = await _resolve(talk, action)
    assert resolved.edit is not None
    (change,) = resolved.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert change.text_document.version == talk.version
    (edit,) = change.edits
    assert isinstance(edit, types.AnnotatedTextEdit)
    assert edit.range.start == types.Position(DOT_LINE, 0)
    assert edit.range.end == types.Position(DOT_LINE + 1, 0), "one line, not the file"
    annotation = (resolved.edit.change_annotations or {})[edit.annotation_id]
    assert "not compiled, not run, not measured" in (annotation.description or "")
    assert annotation.needs_confirmation is False
    new = apply_edits(talk.text, list(change.edits))
    assert new == talk.text.replace("acc += tl.dot(a, b)", "acc = tl.dot(a, b, acc)")
    ast.parse(new)


async def test_fix_of_a_document_that_moved_on_is_refused(talk: Conversation) -> None:
    await talk.begin()
    talk.open()
    action, *_ = await talk.actions(DOT_LINE, only=[types.CodeActionKind.QuickFix])
    talk.replace("# one line above\n" + talk.text)
    resolved = await _resolve(talk, action)
    assert resolved.edit is None
    assert resolved.disabled is not None
    assert "changed" in resolved.disabled.reason


async def test_precondition_that_fails_is_said(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text=EXP)
    actions = {a.title: a for a in await talk.actions(7, 22, [types.CodeActionKind.QuickFix])}
    refused = await _resolve(talk, actions["Bound the argument (exact, not measured)"])
    assert refused.disabled is not None
    assert refused.disabled.reason == "The argument is not known to be bounded."
    assert refused.edit is None


async def test_person_who_asks_sees_at_once_what_cannot_be_fixed(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text=EXP)
    asked = types.CodeActionTriggerKind.Invoked
    actions = {a.title: a for a in await talk.actions(7, 22, ["quickfix"], asked)}
    refused = actions["Bound the argument (exact, not measured)"].disabled
    assert refused is not None
    assert refused.reason == "The argument is not known to be bounded."
    assert actions["Use exp2 (sums in another order, not measured)"].disabled is None


LAUNCH = "\n\ndef f(x):\n    k[(1,)](x)\n"


async def _narrowing(talk: Conversation) -> types.CodeAction:
    actions = await talk.actions(7, 22, ["quickfix"])
    return next(a for a in actions if a.title.startswith("Use fewer bits"))


async def test_fix_that_needs_a_captured_launch_says_so(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text=EXP + LAUNCH)
    refused = (await _narrowing(talk)).disabled
    assert refused is not None
    assert refused.reason.startswith("save the file once: the fix needs the types")
    card = await talk.hover(7, 22) or ""
    assert f"**Quick fix not ready** Use fewer bits: {refused.reason}" in card
    talk.save()
    await talk.end_of_job()
    refused = (await _narrowing(talk)).disabled
    assert refused is not None
    assert "the last profile recorded no launch of this kernel" in refused.reason


async def test_fix_whose_launch_was_captured_is_offered(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text="# launched\n" + EXP.replace("\n\n\n", "\n\n", 1) + LAUNCH)
    talk.save()
    await talk.end_of_job()
    action = await _narrowing(talk)
    assert action.disabled is None
    assert "not ready" not in (await talk.hover(7, 22) or "")
    assert (await _resolve(talk, action)).edit is not None


async def test_editor_that_cannot_grey_out_is_not_offered_what_fails(talk: Conversation) -> None:
    wanted = capabilities()
    assert wanted.text_document is not None
    assert wanted.text_document.code_action is not None
    wanted.text_document.code_action.disabled_support = None
    await talk.begin(wanted)
    talk.open(text=EXP)
    titles = [a.title for a in await talk.actions(7, 22, ["quickfix"])]
    assert not any(title.startswith("Use fewer bits") for title in titles)


async def test_fix_that_may_change_results_asks_first(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text=EXP)
    actions = {a.title: a for a in await talk.actions(7, 22, [types.CodeActionKind.QuickFix])}
    action = actions["Use exp2 (sums in another order, not measured)"]
    assert not action.is_preferred
    resolved = await _resolve(talk, action)
    assert resolved.edit is not None
    (annotation,) = (resolved.edit.change_annotations or {}).values()
    assert annotation.needs_confirmation is True


async def test_client_that_cannot_resolve_gets_the_edit_at_once(talk: Conversation) -> None:
    await talk.begin(capabilities(text_document=None, workspace=None))
    talk.open()
    action, *_ = await talk.actions(DOT_LINE, only=[types.CodeActionKind.QuickFix])
    assert action.edit is not None
    assert action.edit.changes is not None
    assert list(action.edit.changes) == [talk.uri]


async def test_optimize_is_offered_in_kernel_launch_and_wrapper(talk: Conversation) -> None:
    await talk.begin()
    talk.open()
    for line in (NAME_LINE, DOT_LINE, LAUNCH_LINE, LAUNCH_LINE + 1):
        actions = await talk.actions(line, 4, only=["refactor.rewrite"])
        assert [a.title for a in actions] == [
            "Optimize for Intel XPU (xpu:bmg-g31)",
            "Optimize for NVIDIA (cuda:90)",
            "Optimize for AMD (hip:gfx942)",
        ]
    command = actions[0].command
    assert command is not None
    assert command.command == "tilewright.optimize"
    assert command.arguments == [
        {
            "uri": talk.uri,
            "version": talk.version,
            "target": "xpu:bmg-g31",
            "kernel": "dot_kernel",
        }
    ]
    assert not await talk.actions(1, 0, only=["refactor"]), "outside any kernel"
    assert not await talk.actions(NAME_LINE, 4, only=["source.organizeImports"])


async def test_targets_are_the_persons_choice(talk: Conversation) -> None:
    await talk.begin(targets=["hip:gfx950"])
    talk.open()
    actions = await talk.actions(NAME_LINE, 4, only=["refactor.rewrite"])
    assert [a.title for a in actions] == ["Optimize for AMD (hip:gfx950)"]


async def test_wrong_setting_is_said_and_left_at_its_default(talk: Conversation) -> None:
    await talk.begin(targets=["h100"], budget=3)
    await talk.settled()
    (message,) = talk.client.messages
    assert "tilewright.targets" in message.message
    assert "backend:arch" in message.message
    settings = (await talk.execute("tilewright.debugInfo"))["settings"]
    assert settings["budget"] == 3
    assert settings["targets"] == ["xpu:bmg-g31", "cuda:90", "hip:gfx942"]


def _after(talk: Conversation, action: types.CodeAction) -> str:
    """The text once an action's edit is applied; nobody is asked about it."""
    assert action.edit is not None
    (change,) = action.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert change.text_document.version == talk.version
    assert not any(a.needs_confirmation for a in (action.edit.change_annotations or {}).values())
    return apply_edits(talk.text, list(change.edits))


async def test_issue_can_be_ignored_on_its_line_or_in_its_kernel(talk: Conversation) -> None:
    await talk.begin()
    talk.open()
    actions = {a.title: a for a in await talk.actions(DOT_LINE, only=["quickfix"])}
    assert list(actions)[1:] == [
        "Ignore dot_accumulator on this line",
        "Ignore dot_accumulator in this kernel",
        "Ignore dot_accumulator in this file",
    ]
    line = await _resolve(talk, actions["Ignore dot_accumulator on this line"])
    assert "acc += tl.dot(a, b)  # tilewright: ignore[dot_accumulator]\n" in _after(talk, line)
    kernel = await _resolve(talk, actions["Ignore dot_accumulator in this kernel"])
    assert "@triton.jit  # tilewright: ignore[dot_accumulator]\n" in _after(talk, kernel)
    file = await _resolve(talk, actions["Ignore dot_accumulator in this file"])
    assert _after(talk, file).startswith("# tilewright: ignore-file[dot_accumulator]\n# engine:")


async def test_all_exact_fixes_are_one_edit_on_request(talk: Conversation) -> None:
    await talk.begin()
    text = KERNEL.format(engine="nothing").replace(
        "import triton\n", "import torch\nimport triton\n"
    )
    talk.open(text=text.replace("    return c\n", "    torch.cuda.synchronize()\n    return c\n"))
    assert "source.fixAll.tilewright" not in {a.kind for a in await talk.actions(DOT_LINE)}
    (action,) = await talk.actions(0, 0, only=["source.fixAll"])
    assert action.kind == "source.fixAll.tilewright"
    resolved = await _resolve(talk, action)
    new = _after(talk, resolved)
    assert new == text, "the synchronization is gone"
    (annotation,) = ((resolved.edit and resolved.edit.change_annotations) or {}).values()
    assert "exact; not compiled, not run, not measured" in (annotation.description or "")


async def test_all_of_a_rule_is_offered_only_where_an_exact_fix_can_be_made(
    talk: Conversation,
) -> None:
    await talk.begin()
    twice = EXP.replace("tl.exp(x)", "tl.exp(tl.exp(x))")
    talk.open(text=twice + LAUNCH)
    titles = [action.title for action in await talk.actions(7, 22, ["quickfix"])]
    assert any(title.startswith("Use exp2") for title in titles)
    assert not any(title.startswith("Fix all") for title in titles)
    assert await talk.actions(0, 0, only=["source.fixAll"]) == []


async def test_fix_on_save_that_comes_too_late_says_nothing(talk: Conversation) -> None:
    await talk.begin()
    talk.open()
    (action,) = await talk.actions(0, 0, only=["source.fixAll.tilewright"])
    talk.replace("# moved on\n" + talk.text)
    resolved = await _resolve(talk, action)
    assert resolved.edit is None
    await talk.hover(0, 0)
    assert talk.client.messages == []
