"""What code under test may read, see and ask of the system; and what is said of it."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worker_bench import Bench, case_of, function, tensor

from tilewright.devices.model import JobStatus
from tilewright.worker.sandbox import (
    environment,
    isolation,
    network_namespace,
    read_paths,
    rlimits,
    seccomp,
    triton_cache,
)

CASE = case_of(tensor("x", 4))
ALLOWED, REFUSED = 0x7FFF0000, 0x00050000
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def file_with(folder: Path, body: str, name: str = "kernel.py") -> Path:
    """A file whose ``entry(x)`` does something first."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"import os\nfrom pathlib import Path\n\n\ndef entry(x):\n    {body}\n    return x\n"
    )
    return path


def needs(bench: Bench, *names: str) -> None:
    """Skip where this machine cannot have a protection."""
    lacks = bench.get("tries", protections=["environment"], told="=-")["confinement"]["lacks"]
    if missing := [f"{name}: {lacks[name]}" for name in names if name in lacks]:
        pytest.skip("; ".join(missing))


@pytest.mark.triton
def test_files_of_the_user_cannot_be_read(bench: Bench, worker_home: Path, tmp_path: Path) -> None:
    needs(bench, "reads")
    victim = worker_home / "victim.txt"
    path = file_with(tmp_path, f"Path({str(victim)!r}).read_text()")
    outcome = bench.run(path, "entry", CASE)
    assert outcome.status is JobStatus.ERROR
    assert "PermissionError" in outcome.message
    assert f"{read_paths.MORE}" in outcome.message


@pytest.mark.triton
def test_what_lies_beside_a_file_can_be_read(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text("[1]")
    (tmp_path / "helper.py").write_text("ONE = 1\n")
    body = "import helper; assert (Path(__file__).parent / 'table.json').read_text() == '[1]'"
    assert bench.run(file_with(tmp_path, body), "entry", CASE).status is JobStatus.OK


@pytest.mark.triton
def test_hidden_files_beside_it_cannot(bench: Bench, tmp_path: Path) -> None:
    needs(bench, "reads")
    (tmp_path / ".env").write_text("A_KEY=1")
    path = file_with(tmp_path, "(Path(__file__).parent / '.env').read_text()")
    assert "PermissionError" in bench.run(path, "entry", CASE).message


@pytest.mark.triton
def test_a_member_imports_the_rest_of_its_package(bench: Bench, tmp_path: Path) -> None:
    package = tmp_path / "pack"
    (package / "ops").mkdir(parents=True)
    for folder in (package, package / "ops"):
        (folder / "__init__.py").touch()
    (package / "shared.py").write_text("ONE = 1\n")
    path = file_with(package / "ops", "from ..shared import ONE")
    assert bench.run(path, "entry", CASE).status is JobStatus.OK


@pytest.mark.triton
def test_nothing_tells_what_the_worker_was_started_with(bench: Bench, tmp_path: Path) -> None:
    body = (
        "import posix; seen = str(posix.environ) + str(os.environ) + "
        "Path('/proc/self/environ').read_text(); assert 'do not show' not in seen"
    )
    assert bench.run(file_with(tmp_path, body), "entry", CASE).status is JobStatus.OK


@pytest.mark.triton
def test_a_compiler_still_works(bench: Bench, tmp_path: Path) -> None:
    """As Triton needs one to build its launchers."""
    body = (
        "import subprocess; Path('a.c').write_text('int main(){return 0;}'); "
        "subprocess.run(['gcc', 'a.c', '-o', 'a.out'], check=True); "
        "subprocess.run(['./a.out'], check=True)"
    )
    if subprocess.run(["gcc", "--version"], capture_output=True).returncode:
        pytest.skip("no gcc here")
    outcome = bench.run(file_with(tmp_path, body), "entry", CASE)
    assert outcome.status is JobStatus.OK, (outcome.message, outcome.output)


@pytest.mark.triton
def test_a_unix_socket_cannot_be_reached(bench: Bench, tmp_path: Path) -> None:
    """As a container's or an agent's, which no network namespace keeps away."""
    address = Path("/tmp", f"tw-{os.getpid()}")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(address))
        listening.listen()
        body = f"import socket; socket.socket(socket.AF_UNIX).connect({str(address)!r})"
        try:
            outcome = bench.run(file_with(tmp_path, body), "entry", CASE)
        finally:
            address.unlink()
    assert "PermissionError" in outcome.message


@pytest.mark.triton
def test_pairs_of_processes_still_talk(bench: Bench, tmp_path: Path) -> None:
    body = (
        "import socket; a, b = socket.socketpair(); a.sendall(b'x'); assert b.recv(1) == b'x'; "
        "pid = os.fork() or os._exit(0); os.waitpid(pid, 0)"
    )
    assert bench.run(file_with(tmp_path, body), "entry", CASE).status is JobStatus.OK


@pytest.mark.triton
def test_an_answer_says_how_far_a_job_was_confined(bench: Bench) -> None:
    said = bench.get("tries", protections=["signals"])["confinement"]
    assert said["isolation"] == isolation.level(said["lacks"])
    assert len(said["reasons"]) == len(said["lacks"])


def test_an_entry_of_another_file_is_read_as_well() -> None:
    here = str(Path(__file__).resolve())
    job = {"entry": {**function("f"), "path": here}, "reads": ["/some/folder"]}
    found = read_paths.readable_paths(job)
    assert here in found
    assert "/some/folder" in found


def test_beside_a_file_at_home_only_modules_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "diary.txt").write_text("")
    (tmp_path / "other.py").write_text("")
    (tmp_path / "documents").mkdir()
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    found = {Path(path).name for path in read_paths.importable_from(file_with(tmp_path, "pass"))}
    assert found == {"kernel.py", "other.py", "package"}


def test_links_beside_a_placed_file_are_followed(tmp_path: Path) -> None:
    user, placed = tmp_path / "user", tmp_path / "placed"
    helper = file_with(user, "pass", "helper.py")
    path = file_with(placed, "pass")
    (placed / "helper.py").symlink_to(helper)
    assert str(helper) in read_paths.importable_from(path)


def test_a_candidates_cache_holds_what_the_shared_one_does_and_adds_nothing_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, scratch = tmp_path / "shared", tmp_path / "scratch"
    (shared / "ab12").mkdir(parents=True)
    (shared / "ab12" / "kernel.cubin").write_text("compiled")
    scratch.mkdir()
    monkeypatch.setenv(triton_cache.VARIABLE, str(shared))
    assert triton_cache.use(str(scratch)) == [str(shared)]
    own = Path(os.environ[triton_cache.VARIABLE])
    assert (own / "ab12" / "kernel.cubin").read_text() == "compiled"
    fresh = own / "ab12" / "fresh"
    fresh.write_text("other")
    fresh.replace(own / "ab12" / "kernel.cubin")
    assert (shared / "ab12" / "kernel.cubin").read_text() == "compiled"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("PATH", True), ("LD_LIBRARY_PATH", True), ("TRITON_CACHE_DIR", True),
        ("CUDA_VISIBLE_DEVICES", True), ("ZE_AFFINITY_MASK", True), ("LC_ALL", True),
        ("SSH_AUTH_SOCK", False), ("AWS_PROFILE", False), ("HTTPS_PROXY", False),
        ("TRITON_API_TOKEN", False), ("MY_FLAG", False),
    ],
)  # fmt: skip
def test_variables_are_kept_by_a_list(name: str, kept: bool) -> None:
    assert (name in environment.allowed({name: "value"})) is kept


def test_more_variables_can_be_named() -> None:
    told = {"MY_FLAG": "1", "HF_TOKEN": "x", "OTHER": "2", environment.MORE: "MY_FLAG, HF_TOKEN"}
    assert environment.allowed(told).keys() == {"MY_FLAG", "HF_TOKEN", environment.MORE}


@given(st.sets(st.sampled_from(sorted(isolation.PROTECTIONS))))
def test_isolation_is_strong_where_nothing_lacks(lacking: set[str]) -> None:
    found = isolation.level(dict.fromkeys(lacking, "why"))
    assert (found == isolation.STRONG) is (not lacking)
    assert (found == isolation.WEAK) is bool(lacking & {"writes", "network"})


def test_no_landlock_is_weak_and_says_so() -> None:
    lacks = isolation.lacking(
        landlock=0, mounts=False, netns=True, filtered="", dropped=True,
        groups=frozenset({"memory", "pids"}), own_user=False, is_root=False,
    )  # fmt: skip
    assert isolation.level(lacks) == isolation.WEAK
    assert "Landlock" in lacks["writes"]


def filtered(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    """What the filter returns for a system call: a classic BPF machine as far as it is used."""
    given_words = {0: number, 4: MACHINES[machine] if architecture is None else architecture}
    given_words |= {16 + 8 * at: value for at, value in enumerate(arguments)}
    lines, at, register = seccomp.program(machine), 0, 0
    while True:
        line = lines[at]
        at += 1
        if line.code == 0x20:
            register = given_words.get(line.value, 0)
        elif line.code == 0x54:
            register &= line.value
        elif line.code == 0x06:
            return line.value
        else:
            tests = {0x15: register == line.value, 0x35: register >= line.value}
            holds = tests.get(line.code, bool(register & line.value))
            at += line.if_true if holds else line.if_false


@pytest.mark.parametrize(
    ("machine", "read", "ptrace", "sockets", "clone", "clone3"),
    [("x86_64", 0, 101, 41, 56, 435), ("aarch64", 63, 117, 198, 220, 435)],
)
def test_the_filter_refuses_what_it_is_to_refuse(
    machine: str, read: int, ptrace: int, sockets: int, clone: int, clone3: int
) -> None:
    assert filtered(machine, read) == ALLOWED
    assert filtered(machine, ptrace) == REFUSED | 1
    assert filtered(machine, read, architecture=0x40000003) == REFUSED | 1  # 32-bit code
    assert filtered(machine, clone3) == REFUSED | 38  # ENOSYS: libraries go back to clone
    assert filtered(machine, clone, 0x3D0F00) == ALLOWED  # a thread
    assert filtered(machine, clone, 0x10000011) == REFUSED | 1  # a user namespace
    assert filtered(machine, sockets, socket.AF_UNIX, 1 | 0o2000000) == ALLOWED
    for family, kind in ((socket.AF_INET, 1), (socket.AF_INET6, 2), (40, 1), (socket.AF_UNIX, 2)):
        assert filtered(machine, sockets, family, kind) == REFUSED | 13


def test_numbers_of_the_other_convention_are_refused() -> None:
    assert filtered("x86_64", 0x40000000 | 41, 2, 1) == REFUSED | 1


def test_a_job_may_take_what_it_names() -> None:
    assert rlimits.memory_allowance({"memory_bytes": 1 << 20}) == 1 << 20
    assert 0 < rlimits.memory_allowance({}) <= rlimits.available_memory()


@pytest.mark.parametrize(
    ("release", "expected"),
    [("5.4.0-150-generic", False), ("5.14.0-362.el9", True), ("6.18.1", True), ("odd", False)],
)
def test_old_systems_count_a_users_processes_everywhere(release: str, expected: bool) -> None:
    assert rlimits.counts_by_namespace(release) is expected


def doctor(home: Path, landlock: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of ``tilewright doctor`` with Landlock switched to something."""
    command = [sys.executable, "-m", "tilewright", "doctor", "--device", "interpreter"]
    told = subprocess.run(
        [*command, "--format", "json"],
        capture_output=True,
        text=True,
        env={**os.environ, "TILEWRIGHT_HOME": str(home), "TILEWRIGHT_LANDLOCK": landlock},
    )
    return told.returncode, json.loads(told.stdout or "{}")


@pytest.mark.slow
@pytest.mark.triton
def test_doctor_tries_everything_and_says_what_to_do(tmp_path: Path) -> None:
    code, found = doctor(tmp_path, "0")
    assert code == 1
    assert found["isolation"] == "weak"
    by_name = {one["name"]: one for one in found["protections"]}
    assert by_name.keys() == isolation.PROTECTIONS.keys()
    assert by_name["writes"]["holds"] is False
    assert "Landlock" in by_name["writes"]["remedy"]
    assert by_name["environment"]["holds"] is True
    assert found["devices"]
    assert found["compilers"]
    assert not list(tmp_path.glob("doctor-*"))


@pytest.mark.slow
@pytest.mark.triton
def test_mounts_stand_in_for_landlock(tmp_path: Path) -> None:
    if not network_namespace.can_leave():
        pytest.skip("no namespaces are permitted here")
    _, found = doctor(tmp_path, "mounts")
    by_name = {one["name"]: one["holds"] for one in found["protections"]}
    assert by_name["writes"]
    assert by_name["reads"]
    assert found["isolation"] != "weak"
