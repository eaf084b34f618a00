"""The options that name models: what they amount to, and what is refused before a run begins."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.cli.model_options import ModelOptions, require_client
from tilewright.errors import InputError
from tilewright.models.model import Role
from tilewright.strategies.optimize import OptimizeRequest

OPTIONS = ModelOptions("none", None, None, None, None, None, None)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    (tmp_path / "pyproject.toml").write_text(
        "[tool.tilewright.models]\ntries = 3\n[tool.tilewright.models.limits]\ncalls = 7\n"
        '[tool.tilewright.models.roles.planner]\nmodels = ["small"]\n'
    )
    return tmp_path / "kernel.py"


def test_no_model_is_asked_unless_one_is_named(file: Path) -> None:
    assert OPTIONS.ensemble(file) is None


def test_options_come_before_the_settings_of_the_project(file: Path) -> None:
    found = replace(OPTIONS, names="large,other", samples=2).ensemble(file)
    assert found is not None
    assert [choice.name for choice in found.by_role[Role.OPTIMIZER]] == ["large", "other"]
    assert [choice.name for choice in found.by_role[Role.PLANNER]] == ["small"]
    assert (found.tries, found.samples, found.limits.calls) == (3, 2, 7)
    found = replace(OPTIONS, names="large", tries=9, calls=2).ensemble(file)
    assert found is not None
    assert (found.tries, found.limits.calls) == (9, 2)


def test_a_limit_without_a_model_is_refused(file: Path) -> None:
    with pytest.raises(InputError, match=r"--max-calls, --tries need --model NAME"):
        replace(OPTIONS, calls=2, tries=2).ensemble(file)


def test_a_limit_in_dollars_needs_a_price(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://models.example/v1")
    with pytest.raises(InputError, match="the price of nobody-knows"):
        replace(OPTIONS, names="nobody-knows", dollars=1.0).ensemble(file)
    assert replace(OPTIONS, names="nobody-knows", calls=1).ensemble(file) is not None


def test_without_the_package_a_run_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(InputError, match=r"pip install 'tilewright\[models\]'"):
        require_client()


@pytest.mark.parametrize("amount", [0.0, -1.0])
def test_a_limit_is_above_zero(file: Path, amount: float) -> None:
    with pytest.raises(InputError, match="--max-minutes: a number above 0"):
        replace(OPTIONS, names="large", minutes=amount).ensemble(file)


def test_runs_with_other_models_are_other_runs(file: Path) -> None:
    request = OptimizeRequest(file, "", None, None, 64)
    large, small = (replace(OPTIONS, names=name).ensemble(file) for name in ("large", "small"))
    keys = {replace(request, models=models).key(None) for models in (None, large, small, large)}
    assert len(keys) == 3
    recorded = replace(request, models=large).record(None)["models"]
    assert recorded["by_role"]["optimizer"][0]["name"] == "large"
