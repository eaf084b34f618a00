"""Certificates beside a file: shown at its kernels, stale as soon as a covered byte changes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from conversation import KERNEL, NAME_LINE, Conversation, until
from fake_engine import certified
from lsprotocol import types
from pygls import uris

from tilewright.certificates.model import (
    CertificateFile,
    CheckFigures,
    CompiledFigures,
    SpeedFigures,
    Step,
)
from tilewright.certificates.staleness import state_of
from tilewright.checking.certified import KernelProof
from tilewright.serialize import load
from tilewright.source import parse_module
from tilewright_server.certificate_pages import certificate_page

NAME = "kernel.tilewright.json"
VERIFIED = "verified: correct"
SUMMARY = "verified: correct on Triton interpreter on CPU, speed not measured, 21 Nov 2026"


def put(talk: Conversation, engine: str = "nothing", name: str = NAME) -> str:
    """A certificate of the kernel that will be opened; its text."""
    text = KERNEL.format(engine=engine)
    (talk.folder / name).write_text(json.dumps(certified(text, "kernel.py")))
    return text


def told(titles: list[str]) -> list[str]:
    """The lenses that are about certificates."""
    return [t for t in titles if t.startswith(("verif", "Verif", "certificate"))]


async def test_a_lens_says_how_far_a_kernel_was_verified(talk: Conversation) -> None:
    await talk.begin()
    put(talk)
    talk.open("nothing")
    assert told(await talk.lenses()) == [VERIFIED, "Verify again"]
    hover = await talk.hover(NAME_LINE, 6) or ""
    assert f"**Certificate** {SUMMARY}" in hover
    assert "`kernel.tilewright.json`" in hover


async def test_a_hover_says_who_proposed_each_edit(talk: Conversation) -> None:
    await talk.begin()
    text = KERNEL.format(engine="nothing")
    edits = (
        ("rewrite:one_pass", "read the row once"),
        ("model:big-one", "fuse [both](command:x) `now`"),
    )
    (talk.folder / NAME).write_text(json.dumps(certified(text, "kernel.py", edits)))
    talk.open("nothing")
    hover = await talk.hover(NAME_LINE, 6) or ""
    assert "- changed: read the row once (rewrite)" in hover
    assert "- changed: fuse (both)(command:x) 'now' (model big-one)" in hover


async def test_typing_in_what_is_covered_makes_it_stale_and_undoing_current(
    talk: Conversation,
) -> None:
    await talk.begin()
    text = put(talk)
    talk.open("nothing")
    talk.replace(text.replace("BLOCK=32", "BLOCK=64"))
    stale = "certificate stale: dot changed (line 19)"
    assert told(await talk.lenses()) == [stale, "Verify again"]
    assert "What follows is not of this one" in (await talk.hover(NAME_LINE, 6) or "")
    talk.replace(text.replace("+= tl.dot", "-= tl.dot"))
    assert told(await talk.lenses())[0].startswith(
        "certificate stale: dot_kernel changed (line 14)"
    )
    talk.replace("# elsewhere\n" + text)
    assert told(await talk.lenses())[0] == VERIFIED
    talk.replace(text)
    assert told(await talk.lenses())[0] == VERIFIED


async def test_a_file_without_certificates_has_no_such_lens(talk: Conversation) -> None:
    await talk.begin()
    put(talk, name="other.tilewright.json")
    talk.open("nothing")
    assert told(await talk.lenses()) == []
    answer = await talk.execute("tilewright.verify", {"uri": talk.uri})
    assert answer["job"] is None
    assert "has no certificate" in answer["reason"]


async def test_an_altered_certificate_is_none_and_that_is_said(talk: Conversation) -> None:
    await talk.begin()
    put(talk)
    path = talk.folder / NAME
    path.write_text(path.read_text().replace("correct", "faster"))
    talk.open("nothing")
    titles = await talk.lenses()
    assert told(titles) == []
    assert any(t.startswith(f"{NAME} was changed after it was made") for t in titles)
    answer = await talk.execute("tilewright.showCertificate", {"uri": talk.uri})
    assert Path(uris.to_fs_path(answer["uri"]) or "") == path


async def test_a_certificate_that_comes_meanwhile_is_shown(talk: Conversation) -> None:
    await talk.begin()
    talk.open("nothing")
    assert told(await talk.lenses()) == []
    put(talk)
    event = types.FileEvent(
        str(uris.from_fs_path(str(talk.folder / NAME))), types.FileChangeType.Created
    )
    talk.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    assert told(await talk.lenses())[0] == VERIFIED


async def test_verify_again_repeats_a_current_one_in_the_background(talk: Conversation) -> None:
    await talk.begin()
    put(talk)
    talk.open("nothing")
    answer = await talk.execute("tilewright.verify", {"uri": talk.uri, "kernel": "dot_kernel"})
    job = await talk.end_of_job()
    assert (job.job, job.state, job.message) == (answer["job"], "done", "holds: correct")
    await until(lambda: talk.client.messages)
    assert talk.client.messages[-1].type is types.MessageType.Info


async def test_verify_again_makes_a_stale_one_anew(talk: Conversation) -> None:
    await talk.begin()
    text = put(talk)
    talk.open("nothing")
    talk.replace(text.replace("BLOCK=32", "BLOCK=64"))
    await talk.execute("tilewright.verify", {"uri": talk.uri, "certificate": NAME})
    job = await talk.end_of_job()
    assert job.message == "verified anew: correct"
    assert told(await talk.lenses())[0] == VERIFIED


async def test_one_that_does_not_hold_is_a_warning(talk: Conversation) -> None:
    await talk.begin()
    put(talk, "doubt")
    talk.open("doubt")
    await talk.execute("tilewright.verify", {"uri": talk.uri})
    job = await talk.end_of_job()
    assert job.message == "does not hold: 1.10x, certified 1.94x"
    await until(lambda: talk.client.messages)
    assert talk.client.messages[-1].type is types.MessageType.Warning


async def test_nothing_is_verified_where_the_workspace_is_not_trusted(talk: Conversation) -> None:
    await talk.begin(trusted=False)
    put(talk)
    talk.open("nothing")
    assert told(await talk.lenses()) == [VERIFIED]
    answer = await talk.execute("tilewright.verify", {"uri": talk.uri})
    assert answer["job"] is None


async def test_the_certificate_is_named_where_it_cannot_be_opened(talk: Conversation) -> None:
    await talk.begin()
    put(talk)
    talk.open("nothing")
    answer = await talk.execute("tilewright.showCertificate", {"uri": talk.uri})
    assert Path(uris.to_fs_path(answer["file"]) or "") == talk.folder / NAME
    await until(lambda: talk.client.messages)
    assert "certificate-kernel-dot_kernel.md" in talk.client.messages[-1].message


async def test_a_certificate_is_a_page_to_read(talk: Conversation) -> None:
    await talk.begin()
    await talk.settled()  # the settings say where the pages of rules are
    text = KERNEL.format(engine="nothing")
    edits = (("rewrite:dot_accumulator", "accumulate in tl.dot"), ("model:big-one", "fuse both"))
    (talk.folder / NAME).write_text(json.dumps(certified(text, "kernel.py", edits)))
    talk.open("nothing")
    page = await page_of(talk)
    assert page.startswith("# Certificate of dot_kernel\n\nVerified: correct on Triton interp")
    assert "- accumulate in tl.dot (rewrite), stage fusion, rule [`dot_accumulator`](" in page
    assert "- fuse both (model big-one), stage fusion\n" in page
    assert "- Run on: `kernel.yaml` (captured)" in page
    link = page.partition(f"[{NAME}](")[2].partition(")")[0]
    folder = Path(uris.to_fs_path((await shown(talk))["uri"]) or "").parent
    assert (folder / unquote(link)).resolve() == (talk.folder / NAME).resolve()
    assert "Not of the present text" not in page
    talk.replace(text.replace("BLOCK=32", "BLOCK=64"))
    stale = await page_of(talk)
    assert "**Not of the present text.** Since then:\n\n- dot changed (line 19)" in stale


async def shown(talk: Conversation) -> dict[str, Any]:
    answer: dict[str, Any] = await talk.execute("tilewright.showCertificate", {"uri": talk.uri})
    return answer


async def page_of(talk: Conversation) -> str:
    return Path(uris.to_fs_path((await shown(talk))["uri"]) or "").read_text()


def test_the_figures_of_a_certificate_stand_in_tables() -> None:
    kernel = KERNEL.format(engine="nothing")
    made = replace(
        load(CertificateFile, certified(kernel, "kernel.py")),
        speed=(SpeedFigures("n=64", 1.5, 1.4, 1.6, 0.95, 15.0, 10.0, 100, 0.01),),
        checks=(CheckFigures("n=64", 12, oracle="fp64", max_abs_error=1e-3, rtol=0.1, atol=0.2),),
        compiled=(CompiledFigures("dot_kernel", 3, 2, (32, 64), (0, 0), (2048, 4096)),),
        steps=(Step("speed", "skipped", "no device"),),
        unverified=("Other shapes.",),
    )
    module = parse_module(kernel, "kernel.py")
    proof = KernelProof(module.kernels[0], state_of(made, module), Path("/w") / NAME)
    page = certificate_page(proof, lambda _: None, Path("/w/pages"))
    for row in (
        "| n=64 | 12 | fp64 | 0.001 absolute | rtol 0.1, atol 0.2 | nothing |",
        "| n=64 | 1.50x [1.40, 1.60], confidence 0.95 | 15 µs | 10 µs | 100 | 0.01 |",
        "| dot_kernel | 2 of 3 | 32 to 64 | 0 B | 2 KiB to 4 KiB |",
        "- speed: skipped: no device",
        "## Not verified\n\n- Other shapes.",
    ):
        assert row in page


async def test_an_applied_edit_leaves_its_certificate(talk: Conversation) -> None:
    await talk.begin()
    talk.open("improve")
    await talk.optimize()
    job = await talk.end_of_job()
    assert job.message.endswith("; certificate: kernel.tilewright.json")
    talk.replace(talk.text.replace("acc += tl.dot(a, b)", "acc = tl.dot(a, b, acc)"))
    assert told(await talk.lenses())[0] == VERIFIED
