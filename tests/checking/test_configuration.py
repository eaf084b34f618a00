"""``[tool.tilewright]``: what it selects, for which files, and what it says of mistakes."""

from pathlib import Path

import pytest

from tilewright.checking import ConfigurationError, configuration_for
from tilewright.checking.configuration import Configuration, read_configuration
from tilewright.knowledge.base import taxonomy
from tilewright.problems.permissions import PERMISSIONS

HEAD = '[project]\nname = "x"\n\n[tool.tilewright]\n'


def read(body: str, root: Path = Path("/project")) -> Configuration:
    found = read_configuration(HEAD + body, root / "pyproject.toml")
    assert found is not None
    return found


def issues(body: str, file: str = "kernels/a.py") -> frozenset[str]:
    return read(body).rules_for(Path("/project") / file).issues


def test_everything_is_on_unless_the_project_says_otherwise(tmp_path: Path) -> None:
    assert issues("") == frozenset(taxonomy())
    assert read_configuration('[project]\nname = "x"\n', Path("p.toml")) is None
    assert configuration_for(tmp_path / "a.py").rules.issues == frozenset(taxonomy())


def test_issues_are_named_by_id_stage_or_pattern() -> None:
    tuning = {i for i, kind in taxonomy().items() if kind.stage == "autotuning"}
    assert issues('select = ["autotuning"]') == tuning
    assert issues('select = ["missing_autotune", "missing_tma"]') == {
        "missing_autotune",
        "missing_tma",
    }
    assert issues('select = ["missing_*"]') == {i for i in taxonomy() if i.startswith("missing_")}
    assert issues('ignore = ["autotuning"]') == frozenset(taxonomy()) - tuning
    assert issues("select = []") == frozenset()


PER_PATH = """
target = "cuda:90"
ignore = ["missing_tma"]
[tool.tilewright.per-path."benchmarks/**"]
ignore = ["missing_autotune"]
[tool.tilewright.per-path."xpu"]
select = ["device_specific"]
target = "xpu:bmg-g31"
"""


@pytest.mark.parametrize(
    ("file", "target", "tuned", "tma"),
    [
        ("a.py", "cuda:90", True, False),
        ("benchmarks/a.py", "cuda:90", False, False),
        ("benchmarks/deep/a.py", "cuda:90", False, False),
        ("xpu/a.py", "xpu:bmg-g31", False, False),
        ("../elsewhere/a.py", "cuda:90", True, False),
    ],
)
def test_a_path_has_rules_of_its_own(file: str, target: str, tuned: bool, tma: bool) -> None:
    rules = read(PER_PATH).rules_for(Path("/project") / file)
    assert str(rules.target) == target
    assert ("missing_autotune" in rules.issues) is tuned
    assert ("missing_tma" in rules.issues) is tma


def test_the_version_of_triton_and_what_is_left_out() -> None:
    found = read('triton = "3.6.0"\nexclude = ["build", "**/gen_*.py"]')
    assert found.rules.triton == (3, 6)
    for file, out in {
        "build/a.py": True,
        "gen_a.py": True,
        "b/gen_a.py": True,
        "a.py": False,
    }.items():
        assert found.excludes(Path("/project") / file) is out


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ('target = "cuda:90"\nselect = ["missing_autotun"]', 6, "did you mean missing_autotune?"),
        ('\nsellect = ["a"]', 6, "tool.tilewright.sellect is no setting; there are allow, exclude"),
        ('allow = ["workspace"]', 5, "Input should be 'workspaces', 'prepacked-weights'"),
        ('select = "missing_tma"', 5, "tool.tilewright.select: "),
        ('target = "cuda:1"', 5, "cuda:1"),
        ('triton = "new"', 5, "tool.tilewright.triton: "),
        ('[tool.tilewright.per-path."a"]\nfoo = 1', 6, "per-path.a.foo is no setting"),
    ],
)
def test_mistakes_name_the_file_the_line_and_the_way_out(
    body: str, line: int, message: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(body)
    assert (caught.value.path, caught.value.line) == ("/project/pyproject.toml", line)
    assert message in caught.value.message


def test_not_toml(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tilewright\n")
    with pytest.raises(ConfigurationError, match="not TOML"):
        configuration_for(tmp_path / "a.py")


def test_the_nearest_table_holds_and_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    inner = tmp_path / "inner" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.tilewright]\nselect = ["autotuning"]\n')
    nearer = tmp_path / "inner" / "pyproject.toml"
    nearer.write_text('[project]\nname = "inner"\n')
    assert "missing_tma" not in configuration_for(inner / "a.py").rules.issues
    (tmp_path / "inner" / "pyproject.toml").write_text(
        '[tool.tilewright]\nselect = ["missing_tma"]\n'
    )
    assert configuration_for(inner / "a.py").rules.issues == {"missing_tma"}


def test_what_candidates_may_do_is_permitted_for_the_project_and_for_paths(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    text = (
        'allow = ["workspaces"]\n[tool.tilewright.per-path."fast"]\nallow = ["inline-assembly"]\n'
    )
    found = read_configuration(HEAD + text, path)
    assert found is not None
    assert found.rules_for(tmp_path / "a.py").allow == ("workspaces",)
    fast = found.rules_for(tmp_path / "fast" / "a.py").allow
    assert fast == ("workspaces", "inline-assembly")


def test_the_settings_are_those_that_the_engine_knows() -> None:
    path = Path("pyproject.toml")
    found = read_configuration(f"{HEAD}allow = {list(PERMISSIONS)}".replace("'", '"'), path)
    assert found is not None
    assert found.rules.allow == tuple(PERMISSIONS)
