"""An optimization with language models: consent, options, keys, progress, cost."""

import asyncio
import json
from typing import Any

import pytest
from conversation import Conversation, capabilities, until
from lsprotocol import types

from tilewright.models.settings import ModelSettings as ProjectSettings
from tilewright_server import wording
from tilewright_server.models import ModelKeys, configured, question
from tilewright_server.settings import ModelSettings, read_settings

REMOTE = {"names": ["big-one", "small-one"], "baseUrl": "https://models.example/v1"}
LOCAL = {"names": ["big-one"], "baseUrl": "http://127.0.0.1:8000/v1"}
KEYS = ("sk-from-the-environment", "sk-from-the-editor")


def asking() -> types.ClientCapabilities:
    """An editor that shows questions."""
    window = types.WindowClientCapabilities(
        work_done_progress=True, show_message=types.ShowMessageRequestClientCapabilities()
    )
    return capabilities(window=window)


def answering(talk: Conversation, *titles: str | None) -> list[types.ShowMessageRequestParams]:
    """Answer questions one after the other by a button's title; returns what was asked."""
    asked: list[types.ShowMessageRequestParams] = []
    left = list(titles)

    @talk.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
    def answer(params: types.ShowMessageRequestParams) -> Any:
        asked.append(params)
        title = left.pop(0)
        return None if title is None else types.MessageActionItem(title)

    return asked


def starts(talk: Conversation) -> list[dict[str, Any]]:
    """How the engine was started, each time."""
    file = talk.folder / "spied"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


async def change(talk: Conversation, models: dict[str, Any]) -> None:
    """Change the settings, and wait until they are in force."""
    talk.client.set_configuration({"tilewright": {"models": models}})
    talk.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
    for _ in range(500):
        found = (await talk.execute("tilewright.debugInfo"))["settings"]["models"]
        if found["names"] == models["names"] and found["ask"] == models.get("ask", "remote"):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the settings did not come into force")


async def run(talk: Conversation, count: int = 1) -> Any:
    await talk.optimize()
    return await talk.end_of_job(count)


async def test_the_question_names_models_endpoint_limits_and_what_is_sent(
    keyed: Conversation,
) -> None:
    limits = {"maxDollars": 2.5, "maxCalls": 40, "maxMinutes": 10, "tries": 3}
    asked = answering(keyed, "Use models")
    await keyed.begin(asking(), models={**REMOTE, **limits})
    keyed.open("improve")
    job = await run(keyed)
    assert job.state == "done"
    (question,) = asked
    assert [action.title for action in question.actions or ()] == [
        "Use models", "Rewrites only", "Cancel",
    ]  # fmt: skip
    said = ("kernel.py", "big-one, small-one", "https://models.example/v1", "$2.5", "40 calls")
    assert not [text for text in (*said, "10 minutes", "its spec") if text not in question.message]
    (start,) = starts(keyed)
    options = ["--model=big-one,small-one", "--max-dollars=2.5", "--max-calls=40"]
    assert start["argv"][-5:] == [*options, "--max-minutes=10.0", "--tries=3"]


async def test_a_consent_is_remembered_until_the_settings_change(keyed: Conversation) -> None:
    asked = answering(keyed, "Use models", "Use models")
    await keyed.begin(asking(), models=REMOTE)
    keyed.open("nothing")
    await run(keyed, 1)
    await run(keyed, 2)
    assert len(asked) == 1
    await change(keyed, {**REMOTE, "names": ["another"]})
    await run(keyed, 3)
    assert len(asked) == 2
    assert "another" in asked[1].message
    assert starts(keyed)[-1]["argv"][-1] == "--model=another"


@pytest.mark.parametrize(("button", "state"), [("Cancel", "cancelled"), (None, "cancelled")])
async def test_without_an_answer_nothing_is_sent(
    keyed: Conversation, button: str | None, state: str
) -> None:
    answering(keyed, button)
    await keyed.begin(asking(), models=REMOTE)
    keyed.open("improve")
    job = await run(keyed)
    assert (job.state, job.message) == (state, "cancelled; nothing was sent to a model")
    assert starts(keyed) == []


async def test_rewrites_only_is_for_one_run_and_needs_no_key(keyed: Conversation) -> None:
    asked = answering(keyed, "Rewrites only", "Rewrites only")
    await keyed.begin(asking(), models=REMOTE)
    keyed.open("improve")
    assert (await run(keyed, 1)).state == "done"
    await run(keyed, 2)
    assert len(asked) == 2
    assert [start["env"] for start in starts(keyed)] == [{}, {}]
    assert not [word for start in starts(keyed) for word in start["argv"] if "big-one" in word]


async def test_an_editor_that_cannot_ask_uses_rewrites_only(keyed: Conversation) -> None:
    await keyed.begin(models=REMOTE)
    keyed.open("improve")
    assert (await run(keyed)).state == "done"
    (start,) = starts(keyed)
    assert start["env"] == {}
    await until(lambda: [m for m in keyed.client.messages if "no model was asked" in m.message])


async def test_a_dialog_of_the_client_goes_before_a_message(keyed: Conversation) -> None:
    asked = []

    @keyed.client.feature("tilewright/modelConsent")
    def answer(params: Any) -> Any:
        asked.append(params)
        return {"action": "Use models"}

    await keyed.begin(asking(), models=REMOTE, modelDialog=True)
    keyed.open("nothing")
    await run(keyed)
    assert asked[0].message == "Optimize kernel.py with big-one, small-one?"
    assert "Endpoint: https://models.example/v1" in asked[0].detail
    assert list(asked[0].actions) == ["Use models", "Rewrites only", "Cancel"]
    assert starts(keyed)[0]["env"]["OPENAI_BASE_URL"] == "https://models.example/v1"


async def test_this_machine_is_not_asked_for_unless_always(keyed: Conversation) -> None:
    asked = answering(keyed, "Use models")
    await keyed.begin(asking(), models=LOCAL)
    keyed.open("nothing")
    await run(keyed, 1)
    assert (asked, len(starts(keyed))) == ([], 1)
    await change(keyed, {**LOCAL, "ask": "always"})
    await run(keyed, 2)
    assert len(asked) == 1


async def test_an_untrusted_workspace_sends_nothing(keyed: Conversation) -> None:
    asked = answering(keyed)
    await keyed.begin(asking(), models=LOCAL, trusted=False)
    keyed.open("improve")
    assert "not trusted" in (await keyed.optimize())["reason"]
    assert (asked, starts(keyed)) == ([], [])


async def test_only_an_optimization_has_the_key_of_its_endpoint(keyed: Conversation) -> None:
    answering(keyed, "Use models")
    await keyed.begin(asking(), models=REMOTE)
    keyed.open("nothing")
    await run(keyed, 1)
    await keyed.execute("tilewright.profile", {"uri": keyed.uri})
    await keyed.end_of_job(2)
    await keyed.execute("tilewright.compile", {"uri": keyed.uri})
    await keyed.end_of_job(3)
    found = {start["command"]: start["env"] for start in starts(keyed)}
    assert found["optimize"]["OPENAI_API_KEY"] == "sk-from-the-editor"
    others = {command: env for command, env in found.items() if command != "optimize"}
    assert others.keys() >= {"profile", "inspect"}
    assert not any(others.values())


@pytest.mark.parametrize(
    ("endpoint", "key"),
    [
        ("https://api.openai.com/v1", "sk-from-the-environment"),
        ("https://models.example/v1", "sk-from-the-editor"),
        ("https://another.example/v1", None),
    ],
)
def test_a_key_goes_to_its_own_endpoint_only(endpoint: str, key: str | None) -> None:
    stored = '{"https://models.example/v1/": "sk-from-the-editor"}'
    variables = {"OPENAI_API_KEY": "sk-from-the-environment", "TILEWRIGHT_MODEL_KEYS": stored}
    keys = ModelKeys(variables)
    assert variables == {}
    found = keys.environment(endpoint)
    assert found.pop("OPENAI_BASE_URL") == endpoint
    assert found.get("OPENAI_API_KEY") == key
    assert bool(keys.origin(endpoint)) is (key is not None)


async def test_this_machine_gets_no_key_of_the_environment(keyed: Conversation) -> None:
    await keyed.begin(models=LOCAL)
    keyed.open("nothing")
    await run(keyed)
    assert starts(keyed)[0]["env"] == {"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"}


async def test_no_key_is_in_what_the_server_shows_or_logs(keyed: Conversation) -> None:
    answering(keyed, "Use models")
    received: list[str] = []
    handle = keyed.client.protocol.handle_message
    keyed.client.protocol.handle_message = lambda message: (
        received.append(repr(message)),
        handle(message),
    )[1]
    await keyed.begin(asking(), models=REMOTE)
    keyed.open("models")
    job = await run(keyed)
    await keyed.execute("tilewright.debugInfo")
    assert (await keyed.execute("tilewright.models"))["key"] == "editor"
    log = keyed.folder.with_suffix(".log").read_text()
    assert "tilewright.debugInfo" in log, "the log has what was said"
    assert any("sk-" not in text and "models.example" in text for text in received)
    for key in KEYS:
        assert key not in log
        assert not [text for text in received if key in text]
        assert key not in json.dumps(job.result, default=str)


async def test_progress_and_end_say_stage_try_best_and_cost(keyed: Conversation) -> None:
    await keyed.begin(models=LOCAL)
    keyed.open("models")
    job = await run(keyed)
    (reports,) = keyed.client.progress_reports.values()
    shown = "stage fusion, try 2, best 1.84x, $0.12 in 14 calls and 2 replies from the cache"
    messages = [str(getattr(report, "message", None)) for report in reports]
    assert any(message.startswith(f"{shown}; ") for message in messages)
    assert job.message.endswith("models: $0.12 in 14 calls and 2 replies from the cache")
    (annotation,) = (keyed.edits[0].edit.change_annotations or {}).values()
    assert annotation.description == "accumulate in place (rewrite); fuse both (model big-one)"


def test_a_project_may_name_other_models_and_endpoints() -> None:
    project = ProjectSettings.model_validate({
        "roles": {"planner": {"models": ["small-one"]}},
        "named": {"small-one": {"base-url": "https://elsewhere.example/v1"}},
        "limits": {"dollars": 3, "tokens": 100000},
    })  # fmt: skip
    settings = ModelSettings(names=("big-one",), base_url="http://localhost:8000/v1", max_calls=9)
    use = configured(settings, project, {})
    assert use is not None
    assert use.asks, "one of the endpoints is on another machine"
    assert use.limits == "$3, 9 calls, 100000 tokens"
    asked, detail = question("a.py", use)
    assert asked == "Optimize a.py with big-one, small-one?"
    places = "big-one at http://localhost:8000/v1; small-one at https://elsewhere.example/v1"
    assert f"Endpoints: {places}\n" in detail


async def test_the_question_names_the_endpoints_of_the_project(keyed: Conversation) -> None:
    named = '[tool.tilewright.models.named."big-one"]\nbase-url = "https://other.example/v1"\n'
    (keyed.folder / "pyproject.toml").write_text(named)
    asked = answering(keyed, "Cancel")
    await keyed.begin(asking(), models=LOCAL)
    keyed.open("improve")
    assert (await run(keyed)).state == "cancelled"
    assert "https://other.example/v1" in asked[0].message
    assert starts(keyed) == []


def test_an_endpoint_comes_from_the_settings_then_the_environment() -> None:
    variables = {"OPENAI_BASE_URL": "https://two.example/"}
    for base_url, given, endpoint in (
        ("https://one.example/v1/", variables, "https://one.example/v1"),
        (None, variables, "https://two.example"),
        (None, {}, "https://api.openai.com/v1"),
    ):
        settings = ModelSettings(names=("a",), base_url=base_url)
        found = configured(settings, ProjectSettings(), given)
        assert found is not None
        assert found.places == (("a", endpoint),)
    assert configured(ModelSettings(), ProjectSettings(), variables) is None
    local = configured(ModelSettings(names=("local",)), ProjectSettings(), {})
    assert local is not None
    assert not local.asks, "the engine looks for a server on this machine alone"


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ({"names": ["a,b"]}, "models.names.0: Value error, 'a,b' is not the name of a model"),
        ({"names": ["--write"]}, "no leading dash"),
        ({"names": ["a"], "baseUrl": "models.example"}, "is not an endpoint"),
        ({"names": ["a"], "baseUrl": "https://u:sk-1@models.example"}, "Set Model Key"),
        ({"names": ["a"], "maxDollars": 0}, "models.maxDollars"),
    ],
)
def test_a_setting_that_cannot_be_used_leaves_no_model(models: Any, said: str) -> None:
    settings, problems = read_settings({"models": models})
    assert settings.models == ModelSettings()
    assert said in problems[0]
    assert "sk-1" not in problems[0]


def test_a_limit_or_a_failure_of_the_calls_is_said() -> None:
    spent = {"calls": 2, "dollars": 0.5}
    failed = [{"error": "https://h.example [refuses](command:x) the key"}, {"error": None}]
    said = wording.model_use({"spent": spent, "calls": failed, "ended": None})
    refusal = "https://h.example (refuses)(command:x) the key"
    assert said == f"$0.50 in 2 calls; 1 of 2 calls failed: {refusal}"
    said = wording.model_use({"spent": spent, "calls": failed, "ended": "dollars"})
    assert said == "$0.50 in 2 calls; the limit of dollars ended the calls"


def test_an_unknown_price_is_said() -> None:
    assert wording.cost({"calls": 1, "dollars": None}) == "cost not known in 1 call"
    assert wording.cost({"calls": 0, "calls_cached": 0, "dollars": 0.0}) == ""
