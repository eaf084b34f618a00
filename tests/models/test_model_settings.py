"""Which models are asked and how: options, ``[tool.tilewright.models]``, keys, prices."""

import json
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_client import KEY, Setup
from scripted_server import Answer, by_turn

from tilewright.checking.configuration import ConfigurationError, read_configuration
from tilewright.errors import InputError
from tilewright.models.client import Client
from tilewright.models.keys import Key, key_for
from tilewright.models.local_servers import local_server
from tilewright.models.model import Limits, ModelChoice, Role
from tilewright.models.prices import Price, dated_prices, is_local, price_of
from tilewright.models.settings import Ensemble, ModelSettings, default_base_url, ensemble
from tilewright.serialize import dump, load

HOSTED = "https://api.example.com/v1"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", HOSTED)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def _no_server() -> tuple[str, str]:
    raise AssertionError("no server was asked for")


def _settings(text: str) -> ModelSettings:
    found = read_configuration(f"[tool.tilewright.models]\n{text}", Path("pyproject.toml"))
    assert found is not None
    return found.models


def _ensemble(names: list[str], text: str = "", **more: object) -> Ensemble:
    found = ensemble(names, _settings(text), _no_server, **more)  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.parametrize("names", [[], [""], ["none"]])
def test_no_model_is_the_default(names: list[str]) -> None:
    assert ensemble(names, ModelSettings(), _no_server) is None


def test_ensemble_goes_into_a_record_and_back() -> None:
    text = "[tool.tilewright.models.named.big]\nprice = {input = 1, output = 2}"
    found = _ensemble(["big", "small"], text, limits=Limits(dollars=3.0))
    assert found.prices == {"big": Price(1, 2)}
    assert load(Ensemble, json.loads(json.dumps(dump(found)))) == found


def test_none_stands_alone() -> None:
    with pytest.raises(InputError, match="cannot be combined"):
        ensemble(["none", "big"], ModelSettings(), _no_server)


def test_names_of_the_command_line_serve_every_role() -> None:
    found = _ensemble(["big", "small", "big"])
    expected = (ModelChoice("big", HOSTED), ModelChoice("small", HOSTED))
    assert found.by_role == dict.fromkeys(Role, expected)
    assert found.choices == expected


def test_settings_of_a_role_and_of_a_model() -> None:
    found = _ensemble(
        ["big"],
        """
        temperature = 0.7
        effort = "medium"
        [tool.tilewright.models.roles.planner]
        models = ["small"]
        temperature = 0
        [tool.tilewright.models.named.small]
        base-url = "http://localhost:8000/v1/"
        effort = "low"
        max-output-tokens = 100
        weight = 2
        """,
    )
    assert found.by_role[Role.OPTIMIZER] == (ModelChoice("big", HOSTED, 0.7, "medium"),)
    small = ModelChoice("small", "http://localhost:8000/v1", 0.0, "low", 100, 2.0)
    assert found.by_role[Role.PLANNER] == (small,)


def test_options_replace_limits_of_the_settings() -> None:
    text = "tries = 3\n[tool.tilewright.models.limits]\ncalls = 10\ntokens = 99"
    found = _ensemble(["big"], text, limits=Limits(calls=2, dollars=1.5), tries=7)
    assert found.limits == Limits(calls=2, tokens=99, dollars=1.5)
    assert (found.tries, found.samples) == (7, 1)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("calls = 3", 2, "tool.tilewright.models.calls is no setting; there are cache, cache-meg"),
        ("[tool.tilewright.models.limits]\ncall = 3", 3, "there are calls, dollars, evaluations"),
        ("[tool.tilewright.models.limits]\ncalls = 0", 3, "greater than or equal to 1"),
        ('[tool.tilewright.models.limits]\ncalls = "3"', 3, "a valid integer"),
        ("[tool.tilewright.models.limits]\ndollars = nan", 3, "dollars: Input should be"),
        ("temperature = 3", 2, "less than or equal to 2"),
        ('[tool.tilewright.models.named.x]\nbase-url = "file:///x"', 3, "http://localhost:8000"),
        ('[tool.tilewright.models.named.x]\nbase-url = "http://u:p@h/v1"', 3, "a user or a pass"),
        ('[tool.tilewright.models.roles.boss]\neffort = "low"', 2, "'planner', 'optimizer'"),
        ("[tool.tilewright.models.named.x]\nprice = {input = 3}", 3, "output: Field required"),
        ('api-key = "sk-1"', 2, "tool.tilewright.models.api-key is no setting"),
    ],
)
def test_wrong_settings_are_named_with_their_line(text: str, line: int, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        _settings(text)
    assert message in caught.value.message
    assert caught.value.line == line


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_each_model_gets_its_share(weights: list[int]) -> None:
    choices = tuple(ModelChoice(f"m{n}", HOSTED, weight=w) for n, w in enumerate(weights))
    found = Ensemble({Role.OPTIMIZER: choices})
    slots = [found.choose(Role.OPTIMIZER, n) for n in range(2 * sum(weights))]
    counted = Counter(choice.name for choice in slots)
    assert counted == {f"m{n}": 2 * weight for n, weight in enumerate(weights)}


def test_endpoint_of_the_openai_package_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    openai = pytest.importorskip("openai")
    assert default_base_url() == str(openai.OpenAI().base_url).rstrip("/") == HOSTED
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert default_base_url() == str(openai.OpenAI().base_url).rstrip("/")


def test_base_url_of_the_environment_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("localhost:8000", "http://host:port/v1", "http://[::1/v1", "http://u:p@h/v1"):
        monkeypatch.setenv("OPENAI_BASE_URL", value)
        with pytest.raises(InputError, match="OPENAI_BASE_URL: "):
            default_base_url()


def test_key_of_the_environment_is_for_its_endpoint_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    key = key_for(HOSTED)
    assert key is not None
    assert key.reveal() == KEY
    assert KEY not in f"{key} {key!r} {[key]}"
    assert key_for("https://elsewhere.example.com/v1") is None
    assert key_for("http://localhost:8000/v1") is None


@pytest.mark.parametrize("value", ["sk-two words", "sk-\u00e9l\u00e8ve-12", "sk-one\nsk-two"])
def test_key_that_cannot_be_sent(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(InputError, match="OPENAI_API_KEY holds a character") as caught:
        key_for(HOSTED)
    assert value not in str(caught.value)


def test_key_of_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {("tilewright", "https://elsewhere.example.com/v1"): "from-the-keyring"}
    keyring, errors = ModuleType("keyring"), ModuleType("keyring.errors")
    errors.KeyringError = RuntimeError  # type: ignore[attr-defined]
    keyring.errors = errors  # type: ignore[attr-defined]
    keyring.get_password = lambda *where: kept.get(where)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    found = key_for("https://elsewhere.example.com/v1")
    assert found is not None
    assert found.reveal() == "from-the-keyring"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert key_for(HOSTED) is None

    def no_keyring(*_: str) -> str:
        raise RuntimeError("no backend")

    keyring.get_password = no_keyring  # type: ignore[attr-defined]
    assert key_for(HOSTED) is None


def test_key_is_removed_from_texts() -> None:
    assert Key("abcdef").remove_from("abcdefabcdef-") == "[key removed][key removed]-"
    assert Key("a").remove_from("banana") == "banana"


@pytest.mark.parametrize(
    ("base_url", "local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.5:1/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://10.0.0.1/v1", False),
        ("http://localhost.example.com/v1", False),
        (HOSTED, False),
    ],
)
def test_what_is_on_this_machine(base_url: str, local: bool) -> None:
    assert is_local(base_url) == local
    assert (price_of(ModelChoice("m", base_url), {}) == Price(0, 0, 0)) == local


def test_prices_hold_at_their_hosts() -> None:
    claude = ModelChoice("claude-sonnet-4-20250514", "https://api.anthropic.com/v1")
    assert price_of(claude, {}) == Price(3.0, 15.0)
    open_model = "accounts/fireworks/models/gpt-oss-120b"
    at = ModelChoice(open_model, "https://api.fireworks.ai/inference/v1")
    assert price_of(at, {}) == Price(0.15, 0.60)
    assert price_of(ModelChoice(open_model, HOSTED), {}) is None
    assert price_of(at, {open_model: Price(1, 2)}) == Price(1, 2)
    assert all(entry.date and entry.source for entry in dated_prices())


def test_price_of_cached_tokens() -> None:
    assert Price(2.0, 10.0, 0.2).cost(1_000_000, 500_000, 100_000) == pytest.approx(2.1)
    assert Price(2.0, 10.0).cost(1_000_000, 500_000, 0) == pytest.approx(2.0)


def test_whether_calls_cost_money() -> None:
    local = Ensemble({Role.PLANNER: (ModelChoice("m", "http://localhost:1/v1"),)})
    assert local.free
    hosted = Ensemble({Role.PLANNER: (ModelChoice("m", HOSTED),)})
    assert not hosted.free


def test_first_server_on_this_machine_that_answers(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = setup.serve(by_turn(Answer("")), models=())
    second = setup.serve(by_turn(Answer("")), models=("qwen", "other"))
    third = setup.serve(by_turn(Answer("")), models=("late",))
    monkeypatch.setenv("OPENAI_BASE_URL", HOSTED)
    places = {"A": "http://127.0.0.1:9/v1", "B": empty.base_url, "C": second.base_url}
    assert local_server({**places, "D": third.base_url}) == (second.base_url, "qwen")
    assert third.requests == []
    assert "authorization" not in second.requests[0].headers
    monkeypatch.setenv("OPENAI_BASE_URL", third.base_url)
    assert local_server(places) == (third.base_url, "late")


def test_no_server_on_this_machine(setup: Setup) -> None:
    empty = setup.serve(by_turn(Answer("")), models=())
    places = {"vLLM": "http://127.0.0.1:9/v1", "Ollama": empty.base_url}
    with pytest.raises(InputError) as caught:
        local_server(places)
    assert "vLLM at http://127.0.0.1:9/v1 (cannot be reached" in str(caught.value)
    assert f"Ollama at {empty.base_url} (it lists no model)" in str(caught.value)


def test_local_asks_once_for_all_roles(setup: Setup) -> None:
    asked: list[int] = []

    def server() -> tuple[str, str]:
        asked.append(1)
        return "http://localhost:1/v1", "qwen"

    found = ensemble(["local"], ModelSettings(), server)
    assert found is not None
    assert asked == [1]
    assert found.choices == (ModelChoice("qwen", "http://localhost:1/v1"),)
    assert found.notes == ("the local model is qwen at http://localhost:1/v1",)
    assert setup.client(*found.choices).notes == ()
    assert Client(found).notes == found.notes


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(InputError, match=r"pip install 'tilewright\[models\]'"):
        local_server({"vLLM": "http://127.0.0.1:9/v1"})
