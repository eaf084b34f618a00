"""Every tool with the real engine over stdio, and an agent whose candidate is refused, then not."""

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_session import ROOT, over_stdio, words

from tilewright.devices.service.status import stop_services
from tilewright_server.jobs.process import ENGINE_COMMAND

pytestmark = [pytest.mark.triton, pytest.mark.slow]

ONE_PASS = '''
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_row + cols, mask=cols < n_cols, other=FILLING).to(tl.float32)
    row_max = tl.max(x, axis=0)
    row_sum = tl.sum(tl.exp(x - row_max), axis=0)
    y = tl.exp(x - row_max) / row_sum
    tl.store(y_row + cols, y.to(y_ptr.dtype.element_ty), mask=cols < n_cols)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax over the last dimension of a matrix whose rows are contiguous."""
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    softmax_kernel[(n_rows,)](
        x, y, n_cols, x.stride(0), y.stride(0), BLOCK=triton.next_power_of_2(n_cols)
    )
    return y
'''


@pytest.fixture(scope="module", autouse=True)
def one_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """All commands share a worker, as they do outside of the tests: it takes seconds to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("TILEWRIGHT_SERVICE", "1")
        yield
        stop_services()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    for name in ("softmax.py", "softmax.yaml", "references.py"):
        shutil.copy(ROOT / "examples" / name, root)
    return root


def one_pass(original: str, filling: str) -> str:
    """The example in one pass over the row, with this value where the mask is false."""
    head = original[: original.index("    highest = ")].rstrip()
    return f"{head}\n{ONE_PASS.replace('FILLING', filling)}"


async def transcript(client: Client, root: Path) -> list[dict[str, Any]]:
    """What an agent does: look, propose with a mistake, read the refusal, propose again."""
    turns: list[dict[str, Any]] = []

    async def call(tool: str, **arguments: Any) -> Any:
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, words(result)
        turns.append({"tool": tool, "arguments": arguments, "answer": words(result)})
        return result.structured_content

    original = (root / "softmax.py").read_text()
    found = await call("check", path="softmax.py")
    await call("explain", id=found["issues"][0]["id"])
    settings = {"original": "softmax.py", "device": "interpreter"}
    refused = await call("verify", candidate_text=one_pass(original, "0.0"), **settings)
    assert refused["accepted"] is False
    assert refused["failed"]["step"] == "correctness"
    assert refused["comparisons"][0]["wrong"] > 0
    accepted = await call("verify", candidate_text=one_pass(original, 'float("-inf")'), **settings)
    assert accepted["accepted"] is True
    assert accepted["level"] == "correct"
    assert accepted["speedup"] is None
    assert any("Speed was not measured" in text for text in accepted["not_verified"])
    shown = await call("evidence", candidate=accepted["evidence"])
    assert shown["certificate"]["level"] == "correct"
    return turns


async def test_verify_refuses_and_then_accepts_a_candidate(project: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in project.iterdir()}
    async with over_stdio(project, tmp_path / "errors") as client:
        turns = await transcript(client, project)
    assert turns[2]["answer"].startswith("Refused at correctness: ")
    assert turns[3]["answer"].startswith("Accepted: correct; speed was not measured.")
    assert before == {path.name: path.read_bytes() for path in project.iterdir()}
    if place := os.environ.get("TILEWRIGHT_TRANSCRIPT"):
        Path(place).write_text(json.dumps(turns, indent=1))


async def test_every_tool_answers_over_stdio(project: Path, tmp_path: Path) -> None:
    seen: list[str] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(message or "")

    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("check", {"path": "."}),
        ("check", {"text": (project / "softmax.py").read_text()}),
        ("explain", {"id": "multi_pass_row"}),
        ("compile", {"path": "softmax.py", "targets": ["cuda:90", "hip:gfx942"]}),
        ("verify", {"original": "softmax.py", "candidate": "softmax.py"}),
        ("profile", {"path": "softmax.py", "device": "interpreter"}),
        ("optimize", {"path": "softmax.py", "device": "interpreter", "budget": 2}),
        ("evidence", {"path": "softmax.py"}),
    )
    async with over_stdio(project, tmp_path / "errors", "--device", "interpreter") as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        answers = {}
        for tool, arguments in calls:
            result = await client.call_tool(tool, arguments, progress_callback=on_progress)
            assert not result.is_error, (tool, words(result))
            answers[tool] = result.structured_content
        assert tools == set(answers)
    compiled = answers["compile"]["kernels"][0]["targets"]
    assert [one["target"] for one in compiled] == ["cuda:90", "hip:gfx942"]
    assert all(one["compiles"] and one["registers"] for one in compiled)
    assert answers["profile"]["kernels"][0]["correct"] is True
    assert answers["profile"]["kernels"][0]["time"] is None
    assert answers["optimize"]["changed"] is True
    assert answers["optimize"]["diff"].startswith("--- a/softmax.py")
    assert answers["optimize"]["speedup"] is None
    assert answers["evidence"]["kernels"][0]["status"] == "none"
    assert any("compiling" in message for message in seen)


async def test_code_that_reads_outside_is_refused(project: Path, tmp_path: Path) -> None:
    """The cascade refuses the call in a candidate; the sandbox refuses the file to any code."""
    (tmp_path / "secret.txt").write_text("swordfish")
    original = (project / "softmax.py").read_text()
    reading = f"SPIED = open({str(tmp_path / 'secret.txt')!r}).read()\n"
    spying = original.replace("@triton.jit", f"{reading}\n\n@triton.jit")
    spying = spying.replace(
        '    """Softmax over the last', "    raise ValueError(SPIED)\n" + '    """S'
    )
    async with over_stdio(project, tmp_path / "errors", "--device", "interpreter") as client:
        arguments = {"original": "softmax.py", "candidate_text": spying}
        judged = await client.call_tool("verify", arguments)
        profiled = await client.call_tool("profile", {"path": "softmax.py", "text": spying})
    assert judged.structured_content["accepted"] is False
    assert judged.structured_content["failed"]["step"] == "structure"
    assert "Permission denied" in words(profiled)
    for result in (judged, profiled):
        assert "swordfish" not in words(result) + json.dumps(result.structured_content)


async def test_without_a_spec_nothing_is_judged_and_nothing_called_wrong(
    project: Path, tmp_path: Path
) -> None:
    (project / "softmax.yaml").unlink()
    candidate = one_pass((project / "softmax.py").read_text(), "0.0")
    async with over_stdio(project, tmp_path / "errors") as client:
        arguments = {"original": "softmax.py", "candidate_text": candidate}
        result = await client.call_tool("verify", arguments)
    assert result.structured_content["accepted"] is None
    assert words(result).startswith("Not judged, neither right nor wrong: ")


def _processes(marker: str) -> set[str]:
    """Processes with this text in their environment or command line, this one apart."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError, IndexError):
                text = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                if marker.encode() in text and state != "Z":
                    found.add(folder.name)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
async def test_a_cancelled_verification_leaves_no_process(project: Path, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    env = {"TILEWRIGHT_HOME": home, "TILEWRIGHT_SERVICE": "0"}
    arguments = {"original": "softmax.py", "candidate": "softmax.py", "device": "interpreter"}
    judging = anyio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        if "correctness (" in (message or ""):
            judging.set()

    async with over_stdio(project, tmp_path / "errors", env=env) as client:
        await client.call_tool("explain", {})
        server = _processes(home)
        assert len(server) == 1
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "verify", arguments, None, on_progress)
            with anyio.fail_after(300):
                await judging.wait()
            assert len(_processes(home)) >= 3
            group.cancel_scope.cancel()
        with anyio.fail_after(120):
            while _processes(home) != server:
                await anyio.sleep(0.02)


async def test_a_certificate_file_is_shown_and_repeated(project: Path, tmp_path: Path) -> None:
    candidate = project / "faster.py"
    candidate.write_text(one_pass((project / "softmax.py").read_text(), 'float("-inf")'))
    done = await asyncio.create_subprocess_exec(
        *ENGINE_COMMAND, "verify", "softmax.py", "faster.py", "--certify",
        "--device", "interpreter",
        cwd=project, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert await done.wait() == 0
    certificate = next(project.glob("*.json")).name
    async with over_stdio(project, tmp_path / "errors") as client:
        listed = await client.call_tool("evidence", {"path": "faster.py"})
        edited = candidate.read_text().replace("row_sum = ", "row_sum = 1.0 * ")
        stale = await client.call_tool("evidence", {"path": "faster.py", "text": edited})
        repeated = await client.call_tool("evidence", {"path": certificate, "repeat": True})
    assert listed.structured_content["kernels"][0]["status"] == "current"
    assert listed.structured_content["kernels"][0]["level"] == "correct"
    assert stale.structured_content["kernels"][0]["status"] == "stale"
    assert stale.structured_content["kernels"][0]["changes"]
    assert repeated.structured_content["repeated"] == "holds"
    assert repeated.structured_content["certificate"]["level"] == "correct"
