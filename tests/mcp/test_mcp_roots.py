"""Roots: what lies in them, what is refused, and that the engine reads nothing outside either."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from mcp_session import here, listing, words

from tilewright.checking.configuration import configuration_for
from tilewright.errors import InputError
from tilewright.problems.loading import load_problem
from tilewright.problems.model import ProblemError
from tilewright.textfile import ROOTS, in_roots, read_bytes
from tilewright_server.mcp.entry import ENGINE_COMMAND
from tilewright_server.mcp.refusal import RefusedError
from tilewright_server.mcp.roots import Roots, from_uris, named_roots

KERNEL = "import triton\n\n@triton.jit\ndef k(x):\n    pass\n"
SECRET = "SECRET = 'not for you'\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A root with a kernel; next to it what must not be read."""
    root = tmp_path / "pro:ject"
    (root / "sub").mkdir(parents=True)
    (root / "k.py").write_text(KERNEL)
    (root / "sub" / "k2.py").write_text(KERNEL)
    (tmp_path / "outside.py").write_text(SECRET)
    (root / "leaves.py").symlink_to(tmp_path / "outside.py")
    (root / "folder").symlink_to(tmp_path)
    (root / "circle.py").symlink_to(root / "circle.py")
    os.mkfifo(root / "pipe.py")
    with (root / "huge.py").open("wb") as file:
        file.truncate(5 * 1024 * 1024)
    return root


HOSTILE = [
    "../outside.py", "sub/../../outside.py", "{up}/outside.py", "leaves.py", "folder/outside.py",
    "circle.py", "pipe.py", "huge.py", "/etc/passwd", "/proc/self/environ", "/dev/stdin",
    "/dev/zero", "folder", "~/.ssh/id_rsa", "file:///etc/passwd", "missing.py", "k.py\x00.py",
    "sub", "a" * 3000, "k.py/../../outside.py", "--help", "-", "$(id).py",
]  # fmt: skip


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_hostile_paths_are_refused_by_every_tool_that_takes_one(
    project: Path, mode: str
) -> None:
    async with here(project, mode=mode) as client:
        for path in HOSTILE:
            named = path.format(up=project.parent) if "{up}" in path else path
            for tool, arguments in (
                ("profile", {"path": named}),
                ("compile", {"path": named, "targets": ["cuda:90"]}),
                ("verify", {"original": named, "candidate_text": KERNEL}),
                ("verify", {"original": "sub/k2.py", "candidate": named}),
                ("verify", {"original": "sub/k2.py", "candidate_text": "x", "problem": named}),
                ("optimize", {"path": named}),
            ):
                result = await client.call_tool(tool, arguments)
                assert result.is_error, (tool, path)
                assert "not for you" not in words(result)
                assert result.structured_content is None


async def test_the_refusals_say_what_to_do(project: Path) -> None:
    async with here(project) as client:
        for path, what in (
            ("../outside.py", "outside of the roots"),
            ("../nothing-there.py", "outside of the roots"),
            ("pipe.py", "is a pipe (FIFO); name a file"),
            ("huge.py", "larger than 4 MiB"),
            ("missing.py", "no such file; check the path"),
            ("sub", "is a folder; name a file"),
        ):
            result = await client.call_tool("profile", {"path": path})
            assert what in words(result)


async def test_a_file_with_a_link_out_next_to_it_is_not_run(project: Path) -> None:
    async with here(project) as client:
        result = await client.call_tool("profile", {"path": "k.py"})
        assert "is a link out of the roots" in words(result)
        (project / "leaves.py").unlink()
        (project / "folder").unlink()
        result = await client.call_tool("profile", {"path": "circle.py"})
        assert result.is_error


def test_a_package_that_reaches_above_the_root_is_not_run(tmp_path: Path) -> None:
    inner = tmp_path / "package" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner, inner.parent):
        (folder / "__init__.py").touch()
    (inner / "k.py").write_text(KERNEL)
    roots = Roots((os.path.realpath(inner),))
    with pytest.raises(RefusedError, match="outside of the roots"):
        roots.check_surroundings(roots.file("k.py"))
    whole = Roots((os.path.realpath(tmp_path),))
    whole.check_surroundings(whole.file("package/inner/k.py"))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_roots_of_the_client_narrow_those_of_the_server(project: Path, mode: str) -> None:
    sub = listing(project / "sub")
    async with here(project, mode=mode, list_roots_callback=sub) as client:
        assert (await client.call_tool("profile", {"path": "k.py"})).is_error
        outside = await client.call_tool("profile", {"path": str(project / "k.py")})
        assert "outside of the roots" in words(outside)
        inside = {"original": "k2.py", "candidate_text": KERNEL}
        assert not (await client.call_tool("verify", inside)).is_error


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_roots_of_the_client_do_not_widen_those_of_the_server(
    project: Path, mode: str
) -> None:
    wide = listing(project.parent)
    async with here(project / "sub", mode=mode, list_roots_callback=wide) as client:
        result = await client.call_tool("profile", {"path": str(project / "k.py")})
        assert "outside of the roots" in words(result)
    elsewhere = listing(project.parent.parent / "elsewhere")
    async with here(project, mode=mode, list_roots_callback=elsewhere) as client:
        result = await client.call_tool("profile", {"path": "k.py"})
        assert "none in common" in words(result)


async def test_a_client_that_does_not_list_its_roots_reads_nothing(project: Path) -> None:
    async def fails(_: object) -> None:
        raise RuntimeError("no roots today")

    async with here(project, mode="legacy", list_roots_callback=fails) as client:
        result = await client.call_tool("profile", {"path": "k.py"})
        assert result.is_error
        assert "nothing is read" in words(result)


def test_uris_of_roots() -> None:
    uris = ["file:///a%20b", "file://localhost/c", "https://x/d", "file://far/e", "file:///"]
    assert from_uris(uris) == ("/a b", "/c", "/")


def test_roots_meet() -> None:
    assert Roots(("/a", "/b/c")).meet(("/a/x", "/b", "/ab")).folders == ("/a/x", "/b/c")


def test_the_roots_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RefusedError, match="is not a folder"):
        named_roots([tmp_path / "missing"])
    monkeypatch.chdir(tmp_path)
    assert named_roots([]).folders == (os.path.realpath(tmp_path),)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(RefusedError, match="name the project"):
        named_roots([])
    assert named_roots([tmp_path]).folders == (os.path.realpath(tmp_path),)


def test_the_engine_reads_only_the_roots(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ROOTS, json.dumps([os.path.realpath(project)]))
    assert read_bytes(project / "k.py")
    assert not in_roots(project.parent)
    assert not in_roots(project / "k\x00.py")
    for path in (project / "leaves.py", project.parent / "outside.py", project / ".." / "nothing"):
        with pytest.raises(InputError, match="outside the folders"):
            read_bytes(path)


def test_a_spec_that_names_a_file_outside_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "k.py").write_text(f"{KERNEL}\ndef run(X):\n    k[(1,)](X)\n    return X\n")
    (project / "k.yaml").write_text(
        "entry: run\nreference: {file: ../outside.py, entry: k}\n"
        "inputs: {X: {shape: [N], dtype: float32}}\nci: [{params: [X], dims: {N: 4}}]\n"
    )
    monkeypatch.setenv(ROOTS, json.dumps([os.path.realpath(project)]))
    with pytest.raises(ProblemError, match="outside the folders"):
        load_problem(project / "k.yaml", project / "k.py")


def test_settings_above_the_roots_are_not_read(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.parent / "pyproject.toml").write_text('[tool.tilewright]\ntarget = "cuda:90"\n')
    assert str(configuration_for(project / "k.py").rules_for(project / "k.py").target) == "cuda:90"
    monkeypatch.setenv(ROOTS, json.dumps([os.path.realpath(project)]))
    assert configuration_for(project / "k.py").rules_for(project / "k.py").target is None


def test_the_command_line_takes_a_text_under_a_files_name(project: Path) -> None:
    run = subprocess.run(
        [*ENGINE_COMMAND, "check", str(project / "absent.py"), "--stdin", "--format", "json"],
        input=KERNEL.replace("def k(", "def another("),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["files"][0]["kernels"] == ["another"]
