"""Specifications of searches: their files, their identity, what a bad one is answered."""

import json
import math
from pathlib import Path

import pytest

from tilewright.checking.configuration import ConfigurationError, read_configuration
from tilewright.cli.optimize import _note, _search
from tilewright.errors import InputError
from tilewright.search.configurations import configurations, configured
from tilewright.search.spec import BeamSpec, StrategySpec

PAPERS = {"autocomp", "accelopt", "ascendoptimizer", "kernelfoundry", "xe-forge"}


def test_each_published_system_has_a_configuration() -> None:
    assert set(configurations()) == PAPERS
    assert configurations()["autocomp"].beam.tolerance == (1.1, 1.1, 1.0)
    assert configurations()["accelopt"].beam.tolerance == math.inf
    assert configurations()["kernelfoundry"].hints == "gradient"


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_a_specification_survives_json(name: str) -> None:
    spec = configurations()[name]
    again = StrategySpec.model_validate(json.loads(json.dumps(spec.dump(), allow_nan=False)))
    assert again == spec.model_copy(update={"title": ""})
    assert again.hash() == spec.hash()


def test_each_setting_is_part_of_the_identity_except_for_the_title() -> None:
    spec = StrategySpec()
    assert spec.hash() == StrategySpec(title="another").hash()
    others = {StrategySpec(seed=1), StrategySpec(beam=BeamSpec(width=5)), StrategySpec(phases=2)}
    assert len({spec.hash(), *(other.hash() for other in others)}) == 4


def test_a_strategy_takes_the_settings_of_the_project() -> None:
    settings = StrategySpec(beam=BeamSpec(width=3))
    found = configured("beam", settings)
    assert (found.strategy, found.beam.width) == ("beam", 3)
    assert configured("autocomp", settings).beam.width == 6


def test_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("strategy: grid\ngrid: {children: 3}\n")
    assert configured(str(file), StrategySpec()).grid.children == 3


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("strategy: beam\nbeam:\n  widht: 3\n", 3, "beam.widht: Extra inputs"),
        ("strategy: beams\n", 1, "strategy"),
        ("strategy: beam\nbeam: {tolerance: 0.9}\n", 2, "tolerance"),
        ("strategy: [\n", 2, "not YAML"),
        ("seed: 1\nstrategy: [beam, staged]\n", 2, "strategy: Value error, stages come first"),
        ("strategy: [staged, auto]\n", 1, "name staged or auto first, and once"),
        ("beam:\n  tolerance: []\n", 2, "beam.tolerance"),
        ("menu: {least: 12}\n", 1, "menu: Value error, least is 12 and most is 10"),
        (
            "grid:\n  mixture: {uniform: 0, quality: 0, curiosity: 0, best: 0}\n",
            2,
            "grid.mixture: Value error, all shares are 0",
        ),
    ],
)
def test_a_bad_file_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as raised:
        configured(str(file), StrategySpec())
    assert words in str(raised.value)
    assert (raised.value.path, raised.value.line) == (str(file), line)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match="the nearest are autocomp"):
        configured("autocmp", StrategySpec())
    with pytest.raises(InputError, match="there is no file missing"):
        configured("missing.yaml", StrategySpec())


def test_a_project_has_its_own_settings() -> None:
    text = '[tool.tilewright.search]\nstrategy = "beam"\nbeam = {width = 3}\n'
    found = read_configuration(text, Path("pyproject.toml"))
    assert found is not None
    assert (found.search.steps, found.search.beam.width) == (("beam",), 3)
    with pytest.raises(ConfigurationError, match=r"tool.tilewright.search.beams is no setting"):
        read_configuration(text.replace("beam =", "beams ="), Path("pyproject.toml"))


def test_a_file_with_a_strategy_shares_no_code(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("memory: {use: local, share: true}\n")
    with pytest.raises(InputError, match="for the owner of the code to set"):
        configured(str(file), StrategySpec())


def test_the_settings_of_a_folder_above_share_no_code_of_a_project_inside(tmp_path: Path) -> None:
    settings = "[tool.tilewright.search.memory]\nuse = 'local'\nshare = true\n"
    (tmp_path / "pyproject.toml").write_text(settings)
    inner = tmp_path / "vendored"
    inner.mkdir()
    for file in (tmp_path / "kernel.py", inner / "kernel.py"):
        file.write_text("")
    assert _search(None, inner / "kernel.py").memory.share
    (inner / "pyproject.toml").write_text("[project]\nname = 'another'\n")
    assert _search(None, tmp_path / "kernel.py").memory.share
    memory = _search(None, inner / "kernel.py").memory
    assert (memory.use, memory.share) == ("local", False)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="it cannot be read") as raised:
        configured(str(file), StrategySpec())
    assert raised.value.path == str(file)


def test_auto_stands_for_its_steps_wherever_it_is_named() -> None:
    assert StrategySpec(strategy="auto").steps == ("staged", "stall")
    assert StrategySpec(strategy=("auto", "tiling")).steps == ("staged", "stall", "tiling")


@pytest.mark.parametrize(("text", "words"), [("", "it is empty"), ("- beam\n", "it holds a list")])
def test_a_file_without_fields_says_so(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "strategy.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=f"{words}; fields are needed"):
        configured(str(file), StrategySpec())


def test_prompts_that_are_shown_are_called_those_of_stages() -> None:
    assert "prompts of stages" not in _note(StrategySpec())
    for name, step in (("beam", "beam"), ("auto", "stall")):
        words = _note(StrategySpec.model_validate({"strategy": name}))
        assert f"they are the prompts of stages: {step} asks for one change" in words
