"""Calls of tools: arguments, answers, the queue, progress, limits and cancellation."""

import asyncio
import time
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import MCPError
from mcp_session import here, words

from tilewright.knowledge.base import taxonomy
from tilewright_server.mcp.engine import JobQueue
from tilewright_server.mcp.refusal import RefusedError
from tilewright_server.mcp.tools import TOOLS

KERNEL = "import triton\n\n@triton.jit\ndef k(x):\n    pass\n"
LIMITS_S = (1, 8, 64, 512)
"""One after the other until an engine has begun within it, however slow the machine is."""
BAD_ARGUMENTS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("check", {}, "pass `path`, `text`, or both"),
    ("check", {"path": 3}, "path: Input should be a valid string"),
    ("check", {"path": "k.py", "fix": True}, "fix: Extra inputs are not permitted"),
    ("check", {"path": "k.py", "target": "--fix"}, "target: String should match"),
    ("explain", {"id": "../../etc/passwd"}, "id: String should match"),
    ("explain", {"id": "no_such_issue"}, "call explain without an id"),
    ("compile", {"path": "k.py"}, "targets: Field required"),
    ("compile", {"path": "k.py", "targets": []}, "at least 1 item"),
    ("verify", {"original": "k.py"}, "pass `candidate_text` or `candidate`, one of them"),
    ("verify", {"original": "k.py", "candidate": "k.py", "candidate_text": "x"}, "one of them"),
    ("verify", {"original": "k.py", "candidate_text": "x", "require": "best"}, "require: Input"),
    ("profile", {"path": "k.py", "device": "ssh://elsewhere"}, "device: String should match"),
    ("profile", {"path": "k.py", "timeout_s": 0}, "timeout_s: Input should be greater than 0"),
    ("optimize", {"path": "k.py", "budget": 10**9}, "budget: Input should be less than"),
    ("optimize", {"path": "k.py", "write": True}, "write: Extra inputs are not permitted"),
    ("evidence", {}, "pass `candidate` or `path`, one of them"),
    ("evidence", {"candidate": "b" * 32}, "no candidate of this session has this id"),
    ("evidence", {"candidate": "b" * 32, "repeat": True}, "`repeat` and `text` go with `path`"),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "k.py").write_text(KERNEL)
    return tmp_path


def _verify(scenario: str) -> dict[str, Any]:
    return {"original": "k.py", "candidate_text": f"# engine: {scenario}\n"}


async def test_tools_resources_and_prompt_are_listed(root: Path) -> None:
    async with here(root) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [*TOOLS]
        for tool in tools:
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema or {})
            assert tool.output_schema is not None
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
        listed = next(tool for tool in tools if tool.name == "explain").output_schema["$defs"]
        assert set(listed["Listed"]["properties"]) == {"id", "title", "stage", "severity"}
        resources = (await client.list_resources()).resources
        assert {resource.name for resource in resources} == set(taxonomy())
        page = await client.read_resource(resources[0].uri)
        assert page.contents[0].text.startswith("# ")
        for uri in ("tilewright://issues/none", "file:///etc/passwd", "tilewright://issues/../x"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        assert [prompt.name for prompt in (await client.list_prompts()).prompts]
        text = await client.get_prompt("optimize_kernel", {"path": "k.py", "target": "cuda:90"})
        assert "k.py" in text.messages[0].content.text
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool("rm", {})


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_wrong_arguments_are_errors_with_a_way_out(root: Path, mode: str) -> None:
    async with here(root, mode=mode) as client:
        for tool, arguments, what in BAD_ARGUMENTS:
            result = await client.call_tool(tool, arguments)
            assert result.is_error, tool
            assert what in words(result), (tool, words(result))
        assert not (await client.call_tool("verify", _verify("accept"))).is_error


async def test_errors_of_the_engine_are_no_verdicts(root: Path) -> None:
    async with here(root) as client:
        for scenario, what in (
            ("usage", "Not done: k.py:3: no spec"),
            ("fault", "a fault in Tilewright, please report it"),
            ("garbage", "a fault in Tilewright"),
            ("surrogate", "a fault in Tilewright"),
        ):
            result = await client.call_tool("verify", _verify(scenario))
            assert result.is_error
            assert what in words(result)
            assert "refused" not in words(result).lower()
        answer = await client.call_tool("verify", _verify("accept"))
        assert words(answer).startswith("Accepted: correct; speed was not measured.")
        assert answer.structured_content["not_verified"] == ["Speed was not measured."]
        shown = await client.call_tool(
            "evidence", {"candidate": answer.structured_content["evidence"]}
        )
        assert shown.structured_content["certificate"]["level"] == "correct"


async def test_the_engine_gets_no_key_of_a_model(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    async with here(root) as client:
        result = await client.call_tool("verify", _verify("environment"))
    assert "OPENAI_API_KEY=None" in words(result)
    assert "PYTHONUTF8=1" in words(result)


@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.slow)])
async def test_progress_only_rises(root: Path, mode: str) -> None:
    seen: list[tuple[float, str]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert total == 100.0
        seen.append((progress, message or ""))

    async with here(root, mode=mode) as client:
        await client.call_tool("verify", _verify("slow"), progress_callback=on_progress)
    assert [value for value, _ in seen] == sorted({value for value, _ in seen})
    assert any(message == "at 60" for _, message in seen)


def _alive(pid: str) -> bool:
    try:
        state = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def _ended(pids: list[str]) -> None:
    """Wait until no process of these runs: one that was killed goes a moment later."""
    with anyio.fail_after(600):
        while any(map(_alive, pids)):
            await anyio.sleep(0.02)


async def _started(place: Path) -> list[str]:
    with anyio.fail_after(600):
        while not (place.exists() and len(place.read_text().split()) == 2):
            await anyio.sleep(0.02)
    return place.read_text().split()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_cancellation_leaves_no_process(root: Path, mode: str) -> None:
    """The child refuses to end, and has started another process."""
    place = root / "pids"
    async with here(root, mode=mode) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "verify", _verify(f"hang\n# pids: {place}"))
            pids = await _started(place)
            assert all(map(_alive, pids))
            group.cancel_scope.cancel()
        await _ended(pids)
        # The queue is free again.
        assert not (await client.call_tool("verify", _verify("accept"))).is_error


async def test_a_call_is_stopped_when_its_time_is_over(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilewright_server.mcp.engine._TIMEOUT_GRACE_S", 0.3)
    async with here(root) as client:
        place = root / "pids"
        for limit_s in LIMITS_S:
            call = {**_verify(f"hang\n# pids: {place}"), "timeout_s": limit_s}
            result = await client.call_tool("verify", call)
            assert result.is_error
            assert f"stopped after {limit_s} s without a result" in words(result)
            assert "neither right nor wrong" in words(result)
            if place.exists() and len(place.read_text().split()) == 2:
                break
        await _ended(place.read_text().split())


async def test_an_optimization_that_is_stopped_gives_the_best_so_far(root: Path) -> None:
    arguments = {"path": "k.py", "text": "# engine: best\n", "timeout_s": 10_000}
    for limit_s in LIMITS_S:
        async with here(root, limit_s=limit_s) as client:
            result = await client.call_tool("optimize", arguments)
        if not result.is_error:
            break
    assert not result.is_error
    assert any("best so far" in note for note in result.structured_content["notes"])


async def test_a_flood_of_calls_is_queued_and_then_refused(root: Path) -> None:
    place, seen, answers = root / "pids", [], []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(message or "")

    async with here(root) as client, anyio.create_task_group() as group:

        async def call() -> None:
            answers.append(
                await client.call_tool("verify", _verify("accept"), progress_callback=on_progress)
            )

        hanging = asyncio.create_task(client.call_tool("verify", _verify(f"hang\n# pids: {place}")))
        await _started(place)
        for _ in range(60):
            group.start_soon(call)
        with anyio.fail_after(600):
            while len(answers) < 44 or not any("16 calls ahead" in message for message in seen):
                await anyio.sleep(0.02)
        assert all("16 calls are waiting already" in words(answer) for answer in answers)
        # Reading is not behind the calls that run kernels.
        began = time.monotonic()
        assert not (await client.call_tool("explain", {})).is_error
        assert len(answers) == 44, f"after {time.monotonic() - began} s"
        hanging.cancel()
    assert len(answers) == 60
    assert sum(not answer.is_error for answer in answers) == 16


async def test_the_queue_gives_turns_in_order_and_to_those_that_still_wait() -> None:
    queue, moves, done = JobQueue(1, 2), [], []

    async def take(name: str) -> None:
        async with queue.turn(lambda ahead: moves.append((name, ahead))):
            done.append(name)
            await asyncio.sleep(0)

    async with queue.turn(lambda ahead: None):
        first, second = asyncio.create_task(take("first")), asyncio.create_task(take("second"))
        await asyncio.sleep(0)
        with pytest.raises(RefusedError, match="2 calls are waiting already"):
            await take("third")
        first.cancel()
        await asyncio.sleep(0)
        assert moves == [("first", 1), ("second", 2), ("second", 1)]
    await second
    await take("fourth")
    assert done == ["second", "fourth"]
