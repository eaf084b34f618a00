"""Finding compilers, saying what is missing, installing Triton for Intel whole or not at all."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilewright.cli.app import app
from tilewright.devices.service.status import ServiceStatus
from tilewright.targets.ocloc.location import ocloc
from tilewright.targets.registry import all_targets
from tilewright.targets.steps import InstallError
from tilewright.targets.toolchain_list import ToolStatus, all_toolchains, compiled_targets
from tilewright.targets.toolchains import NoToolchainError, xpu_python, xpu_toolchain
from tilewright.targets.xpu import TRAITS, describe
from tilewright.targets.xpu_install import install_xpu

OCLOC = """#!/bin/sh
case "$1" in
  --version) echo 25.13.33276 ;;
  compile) echo "<device_type> can be: tgllp, dg2-g10, pvc, lnl-m, bmg-g21, xe-hpg" ;;
esac
"""


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with no toolchain, and none on the path."""
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    for name in ("TILEWRIGHT_XPU_PYTHON", "TILEWRIGHT_OCLOC", "TILEWRIGHT_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def fake_ocloc(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(OCLOC)
    path.chmod(0o755)
    return path


def test_no_toolchain_names_the_command(bare: Path) -> None:
    with pytest.raises(NoToolchainError, match="run `tilewright toolchain install xpu`"):
        xpu_toolchain()
    assert xpu_python() == str(bare / "toolchains" / "xpu" / "bin" / "python")


def test_an_interpreter_that_was_named_wrongly_is_named_again(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_XPU_PYTHON", "/nowhere/python")
    with pytest.raises(NoToolchainError, match=r"TILEWRIGHT_XPU_PYTHON names /nowhere/python: No"):
        xpu_toolchain()
    monkeypatch.setenv("TILEWRIGHT_XPU_PYTHON", "/bin/true")
    with pytest.raises(NoToolchainError, match="it gave no answer"):
        xpu_toolchain()
    monkeypatch.setenv("TILEWRIGHT_XPU_PYTHON", sys.executable)
    with pytest.raises(NoToolchainError, match="no Triton for Intel"):
        xpu_toolchain()


def test_an_installed_interpreter_that_is_broken_is_not_called_missing(bare: Path) -> None:
    python = Path(xpu_python())
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho no module named encodings >&2\n")
    python.chmod(0o755)
    with pytest.raises(NoToolchainError) as refused:
        xpu_toolchain()
    assert f"{python}: it gave no answer: no module named encodings" in str(refused.value)
    assert "`tilewright toolchain install xpu` installs it again" in str(refused.value)


def test_what_is_missing_is_listed_with_its_command(bare: Path) -> None:
    found = {(status.backend, status.part): status for status in all_toolchains(sys.executable)}
    assert list(found) == [
        ("cuda", "triton"), ("cuda", "ptxas"), ("cuda", "ptxas-blackwell"), ("cuda", "nvdisasm"),
        ("hip", "triton"), ("xpu", "triton"), ("xpu", "ocloc"), ("xpu", "spirv-dis"),
    ]  # fmt: skip
    assert not found["xpu", "triton"].found
    assert found["xpu", "triton"].command == "tilewright toolchain install xpu"
    assert "registers and spills" in found["xpu", "ocloc"].missing
    assert found["xpu", "ocloc"].command == "tilewright toolchain install xpu"
    assert found["xpu", "spirv-dis"].command == "apt-get install spirv-tools"
    assert not [t for t in compiled_targets(found.values()) if t.startswith("xpu")]


@pytest.mark.triton
def test_each_compiler_says_which_chips_it_knows(bare: Path) -> None:
    found = {(s.backend, s.part): s for s in all_toolchains(sys.executable)}
    assert found["cuda", "ptxas"].targets == ("75", "80", "86", "89")
    assert found["cuda", "ptxas-blackwell"].targets == ("90", "100", "120"), "Triton 3.9's choice"
    assert found["cuda", "nvdisasm"].targets == ("75", "80", "86", "89", "90", "100", "120")
    assert found["hip", "triton"].targets == ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
    assert compiled_targets(found.values()) == tuple(
        str(target) for target in all_targets() if target.backend != "xpu"
    )


def test_what_an_assembler_does_not_know_is_not_compiled_for() -> None:
    def status(part: str, *targets: str, lacking: tuple[str, ...] = ()) -> ToolStatus:
        return ToolStatus("cuda", part, "", True, targets=targets, lacking=lacking)

    triton = status("triton", "80", "90", "100", "120", lacking=("75",))
    ptxas = status("ptxas", "75", "80", "90")
    blackwell = status("ptxas-blackwell", "100", lacking=("120",))
    compiled = ("cuda:80", "cuda:90", "cuda:100")
    assert compiled_targets((triton, ptxas, blackwell)) == compiled
    assert compiled_targets((triton, ptxas)) == compiled[:2]


def test_an_ocloc_too_old_for_a_chip_says_which(bare: Path) -> None:
    path = fake_ocloc(bare / "toolchains" / "ocloc" / "ocloc")
    status = all_toolchains(sys.executable)[-2]
    assert (status.found, status.version, status.where) == (True, "25.13.33276", str(path))
    assert status.missing == "it does not know bmg-g31, ptl: a newer ocloc does"
    assert (status.targets, status.lacking) == (
        ("pvc", "dg2", "lnl", "bmg-g21"),
        ("bmg-g31", "ptl"),
    )
    assert status.command == "tilewright toolchain install xpu"


def test_an_ocloc_that_tells_its_version_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = OCLOC.replace("--version) echo 25.13.33276", "query) echo 22.43.24595 > $2")
    path = tmp_path / "ocloc"
    path.write_text(old)
    path.chmod(0o755)
    monkeypatch.setenv("TILEWRIGHT_OCLOC", str(path))
    found = ocloc()
    assert found is not None
    assert found.version == "22.43.24595"


def test_the_list_as_json(bare: Path) -> None:
    run = CliRunner().invoke(app, ["toolchain", "list", "--format", "json"])
    assert run.exit_code == 0
    statuses = json.loads(run.stdout)["toolchains"]
    assert [s["backend"] for s in statuses] == [*["cuda"] * 4, "hip", *["xpu"] * 3]
    assert not [t for t in json.loads(run.stdout)["targets"] if t.startswith("xpu")]
    text = CliRunner().invoke(app, ["toolchain", "list"]).stdout
    assert "get it: tilewright toolchain install xpu" in text
    long = [line for line in text.splitlines() if len(line) > 80]
    assert all("/" in line for line in long), "a path is not broken, all else is"


def test_the_list_names_the_services_that_run(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = (
        ServiceStatus("/run/one.sock", 11, "3.11.2", None, "3.9.0"),
        ServiceStatus("/run/two.sock", 12, answers=False),
    )
    monkeypatch.setattr("tilewright.cli.toolchain.running_services", lambda: found)
    told = CliRunner().invoke(app, ["toolchain", "list", "--format", "json"]).stdout
    assert [(s["pid"], s["triton"]) for s in json.loads(told)["services"]] == [
        (11, "3.9.0"),
        (12, ""),
    ]
    text = CliRunner().invoke(app, ["toolchain", "list"]).stdout
    assert text.splitlines()[-2:] == [
        "worker service: process 11, triton 3.9.0",
        "worker service: process 12, does not answer",
    ]


def test_a_dry_run_tells_and_changes_nothing(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.targets.xpu_install.PYTHON", sys.version_info[:2])
    path = fake_ocloc(bare / "elsewhere" / "ocloc")
    monkeypatch.setenv("TILEWRIGHT_OCLOC", str(path))
    run = CliRunner().invoke(app, ["toolchain", "install", "xpu", "--dry-run", "--format", "json"])
    assert run.exit_code == 0, run.output
    environment, packages, offline = json.loads(run.stdout)["steps"]
    assert str(bare / "toolchains" / "xpu") in environment
    assert "triton-xpu==" in packages
    assert offline == f"ocloc 25.13.33276 is there: {path}"
    assert not (bare / "toolchains").exists()


@pytest.mark.parametrize("target", [t for t in all_targets() if t.backend == "xpu"], ids=str)
def test_every_intel_target_can_be_described(target: object) -> None:
    assert {t.arch for t in all_targets() if t.backend == "xpu"} == set(TRAITS)
    about = describe(target)  # type: ignore[arg-type]
    smallest = min(about["properties"]["sub_group_sizes"])
    assert about["properties"]["gpu_eu_count"] % about["properties"]["gpu_subslice_count"] == 0
    assert smallest == (8 if about["arch"] == "dg2" else 16)


def test_no_python_for_the_package_is_an_error_that_says_which(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilewright.targets.xpu_install.PYTHON", (3, 1))
    with pytest.raises(InstallError, match=r"CPython 3\.1 alone.*no python3\.1 on PATH"):
        install_xpu(lambda line: None)


def test_no_room_is_an_error_before_anything_is_made(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilewright.targets.xpu_install.PYTHON", sys.version_info[:2])
    monkeypatch.setattr("tilewright.targets.xpu_install.NEEDED_MB", 10**9)
    with pytest.raises(InstallError, match="TILEWRIGHT_HOME"):
        install_xpu(lambda line: None)
    assert not list((bare / "toolchains").iterdir())


@pytest.mark.slow
def test_a_failed_installation_leaves_nothing(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.targets.xpu_install.PYTHON", sys.version_info[:2])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(bare / "nothing"))
    said: list[str] = []
    with pytest.raises(InstallError, match="pip download"):
        install_xpu(said.append)
    assert "making an environment" in said[0]
    assert not list((bare / "toolchains").iterdir())


@pytest.mark.triton
def test_an_installation_that_works_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        python = Path(xpu_toolchain().python)
    except NoToolchainError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path))
    monkeypatch.delenv("TILEWRIGHT_XPU_PYTHON", raising=False)
    (tmp_path / "toolchains").mkdir()
    (tmp_path / "toolchains" / "xpu").symlink_to(python.parent.parent)
    said: list[str] = []
    found = install_xpu(said.append)
    assert found.python == str(tmp_path / "toolchains" / "xpu" / "bin" / "python")
    assert len(said) == 1
    assert "already there: triton-xpu" in said[0]
