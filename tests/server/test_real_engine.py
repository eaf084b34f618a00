"""The real server with the real engine on an example kernel, end to end."""

import ast
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from conversation import Conversation, alive, apply_edits, make_client, until
from lsprotocol import types
from pytest_lsp import ClientServerConfig
from scripted_server import Answer, by_turn, serve

EXAMPLES = Path(__file__).parents[2] / "examples"
GATE = Path(__file__).parents[1] / "editor" / "kernels"


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store for these tests: what one compiled, the next finds there, as a person does."""
    return tmp_path_factory.mktemp("home")


@pytest_asyncio.fixture
async def real(tmp_path: Path, home: Path) -> AsyncIterator[Conversation]:
    """``python -m tilewright_server`` beside a copy of the examples."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    environment = {**os.environ, "TILEWRIGHT_HOME": str(home)}
    config = ClientServerConfig(
        server_command=[sys.executable, "-m", "tilewright_server"],
        client_factory=make_client,
        server_env=environment,
    )
    client = await config.start()
    talk = Conversation(client, tmp_path / "examples")
    client.talk = talk
    yield talk
    await client.shutdown_session()
    await client.stop()


def _open_matmul(talk: Conversation) -> str:
    return talk.open(text=(EXAMPLES / "matmul.py").read_text(), name="matmul.py")


async def test_issues_of_the_example_are_shown_and_one_is_fixed(real: Conversation) -> None:
    await real.begin()
    uri = _open_matmul(real)
    await until(lambda: real.client.diagnostics.get(uri))
    found = {d.code: d for d in real.client.diagnostics[uri]}
    issue = found["no_swizzling"]
    line = issue.range.start.line
    assert real.text.split("\n")[line].lstrip().startswith("pid_m =")
    card = await real.hover(line, issue.range.start.character + 1)
    assert card is not None
    assert "**Why**" in card
    actions = await real.actions(line, issue.range.start.character + 1, only=["quickfix"])
    action = next(a for a in actions if a.title.startswith("Visit tiles in groups"))
    resolved = await real.client.code_action_resolve_async(action)
    assert resolved.edit is not None
    (change,) = resolved.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    new = apply_edits(real.text, list(change.edits))
    ast.parse(new)
    real.replace(new)
    await until(lambda: "no_swizzling" not in {d.code for d in real.client.diagnostics[uri]})


async def test_all_reports_of_one_rule_are_fixed_by_one_exact_edit(real: Conversation) -> None:
    await real.begin()
    wait = "    torch.cuda.synchronize()\n"
    plain = (EXAMPLES / "softmax.py").read_text()
    host = plain[plain.index("def softmax(") :]
    both = f"{plain}\n\n{host.replace('def softmax(', 'def again(')}"
    real.open(text=both.replace("    return y\n", f"{wait}    return y\n"), name="waits.py")
    assert real.text.count(wait) == 2
    line = real.text[: real.text.index(wait)].count("\n")
    title = "Fix all device_host_sync in this file (2 reports; exact edits alone, not measured)"
    (action,) = [a for a in await real.actions(line, 8, only=["quickfix"]) if a.title == title]
    resolved = await real.client.code_action_resolve_async(action)
    assert resolved.edit is not None
    (change,) = resolved.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert apply_edits(real.text, list(change.edits)) == both
    (annotation,) = (resolved.edit.change_annotations or {}).values()
    assert annotation.label == "Tilewright: fix all device_host_sync (2 fixed)"
    assert not annotation.needs_confirmation
    first = await real.actions(0, 0, only=["quickfix"])
    assert not any(each.title.startswith("Fix all") for each in first)


@pytest.mark.slow
@pytest.mark.triton
async def test_save_profiles_the_example(real: Conversation) -> None:
    await real.begin(target="cuda:90")
    _open_matmul(real)
    real.save()
    await until(lambda: real.finished)
    assert real.finished[0].state == "done", real.finished[0].message
    uri, line = real.uri, 40
    known = {d.code: d for d in real.client.diagnostics[uri]}
    assert known["dtype_precision"].range.start.line == line
    # The profile captured a launch: the operands are now known to be fp16, so the fix applies.
    titled = [a for a in await real.actions(line, 30, ["quickfix"]) if "16-bit" in a.title]
    resolved = await real.client.code_action_resolve_async(titled[0])
    assert resolved.disabled is None
    assert resolved.edit is not None
    facts, optimize, compare = await real.lenses()
    assert facts.startswith("cuda:90: ")
    assert "registers, no spills" in facts
    assert "correct" in facts
    assert (optimize, compare) == ("Optimize…", "Compare")


@pytest.mark.slow
@pytest.mark.triton
async def test_optimize_hands_back_a_verified_edit(real: Conversation) -> None:
    await real.begin(budget=1, profileOnSave=False)
    _open_matmul(real)
    await real.execute(
        "tilewright.optimize", {"uri": real.uri, "version": real.version, "target": "cuda:90"}
    )
    await until(lambda: real.candidates)
    real.replace(f"{real.text}\n\ndef mine():\n    return 1\n")
    await until(lambda: real.finished)
    job = real.finished[0]
    assert job.state == "done", job.message
    (params,) = real.edits
    assert params.label is not None
    assert "correct on" in params.label
    assert "compiled for cuda:90" in params.label
    (change,) = params.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    new = apply_edits(real.text, list(change.edits))
    assert new == f"{job.result.final}\n\ndef mine():\n    return 1\n"
    assert "put into the text as it is now" in job.message
    ast.parse(new)


@pytest.mark.slow
@pytest.mark.triton
async def test_cancel_ends_the_real_engine_softly(real: Conversation) -> None:
    await real.begin(profileOnSave=False)
    _open_matmul(real)
    answer = await real.execute("tilewright.optimize", {"uri": real.uri, "target": "cuda:90"})

    def reported() -> bool:
        reports = real.client.progress_reports.values()
        return any(r.kind == "report" for each in reports for r in each)

    await until(reported)
    await real.execute("tilewright.cancelJob", answer)
    await until(lambda: real.finished)
    assert real.finished[0].state in ("done", "cancelled")
    assert real.ends() == 1


@pytest.mark.slow
@pytest.mark.triton
async def test_cancel_closes_a_call_in_flight(real: Conversation) -> None:
    """The engine ends by itself, before the time after which it would be killed."""
    for file in GATE.glob("gate*"):
        shutil.copy(file, real.folder)
    name = f"scripted-{time.time()}"  # replies of other runs are not taken for its own
    with serve(by_turn(Answer("late", delay_s=300))) as model:
        await real.begin(profileOnSave=False, models={"names": [name], "baseUrl": model.base_url})
        real.open(text=(GATE / "gate.py").read_text(), name="gate.py")
        answer = await real.optimize()
        await until(lambda: model.completions)
        await real.execute("tilewright.cancelJob", answer)
        await until(lambda: real.finished)
        job = real.finished[0]
        assert (job.state, job.message[:8]) == ("done", "stopped;")
        await until(lambda: model.hung_up)
        assert not alive(job.pid)
        assert len(model.completions) == 1, "nothing was sent after the cancellation"


@pytest.mark.slow
@pytest.mark.triton
async def test_an_opened_example_shows_what_the_compiler_made_of_it(real: Conversation) -> None:
    run = {"run": "onOpenAndSave", "targets": ["cuda:90"]}
    await real.begin(compiled=run, profileOnSave=False)
    uri = real.open(text=(EXAMPLES / "layernorm.py").read_text(), name="layernorm.py")

    def shown() -> list[types.Diagnostic]:
        return [d for d in real.client.diagnostics.get(uri, ()) if "Compiled for" in d.message]

    await until(shown)
    (issue,) = [d for d in shown() if d.code == "double_precision"]
    lines = real.text.split("\n")
    assert "total" in lines[issue.range.start.line]
    summed = next(n for n, line in enumerate(lines) if "total += x" in line)
    assert "Compiled for cuda:90 with BLOCK=512 by triton " in issue.message
    assert "fp64 instructions" in (await real.hover(summed, 9) or "")
    assert (await real.lenses())[0].startswith("cuda:90: ")
    params = {"textDocument": {"uri": uri}, "stage": "ptx"}
    found = await real.client.protocol.send_request_async("tilewright/assembly", params)
    (at,) = [each.text for each in found.lines if each.source == summed]
    assert any("add.f64" in found.text.splitlines()[line] for line in at)
