"""No version under test leaves anything in the Triton cache that another one reads."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
from worker_bench import Bench, case_of, tensor

from tilewright.devices.client import with_own_cache
from tilewright.devices.model import JobStatus
from tilewright.worker.sandbox.triton_cache import EMPTY, LAUNCHERS, LINKED, VARIABLE, use
from tilewright.worker.trials.cache_folders import Caches

CASE = case_of(tensor("x", 4))
KEY = hashlib.sha256(b"a kernel").hexdigest()
FOLDER = base64.b32encode(bytes.fromhex(KEY)).decode().rstrip("=")
"""What Triton names a compiled kernel's folder."""

CANDIDATE = f'''
import os
from pathlib import Path

from triton.runtime.cache import get_cache_manager


def leaves_a_binary(x):
    """Puts a wrong binary where Triton looks for another version's."""
    get_cache_manager("{KEY}").put(b"wrong", "kernel.cubin")
    return x


def breaks_in(x, shared="SHARED"):
    """The same, into the cache that others read, past Triton."""
    Path(shared, "{FOLDER}", "kernel.cubin").write_bytes(b"wrong")
    return x


def finds_it_right(x):
    """What Triton would load for that kernel."""
    found = get_cache_manager("{KEY}").get_file("kernel.cubin")
    assert found is not None, f"nothing in {{os.environ['{VARIABLE}']}}"
    assert Path(found).read_bytes() == b"right"
    return x


def finds_nothing(x):
    assert get_cache_manager("{KEY}").get_file("kernel.cubin") is None
    return x
'''


@pytest.fixture
def shared(worker_home: Path) -> Path:
    """The cache that the worker was started with, with a compiled kernel in it."""
    entry = worker_home / "triton" / FOLDER
    entry.mkdir(parents=True, exist_ok=True)
    (entry / "kernel.cubin").write_bytes(b"right")
    return entry.parent


@pytest.fixture
def module(tmp_path: Path, shared: Path) -> Path:
    path = tmp_path / "candidate.py"
    path.write_text(CANDIDATE.replace("SHARED", str(shared)))
    return path


@pytest.mark.triton
def test_a_wrong_binary_is_found_by_nobody_else(
    bench: Bench, module: Path, shared: Path, tmp_path: Path
) -> None:
    """Two jobs with what is compiled linked into their caches, as where kernels are launched."""
    for _ in range(2):
        left = bench.run(module, "leaves_a_binary", CASE, cache=LINKED)
        assert left.status is JobStatus.OK, left.message
        found = bench.run(module, "finds_it_right", CASE, cache=LINKED)
        assert found.status is JobStatus.OK, found.message
    assert (shared / FOLDER / "kernel.cubin").read_bytes() == b"right"
    assert [path.name for path in shared.iterdir()] == [FOLDER]


@pytest.mark.triton
@pytest.mark.parametrize("cache", [LINKED, EMPTY])
def test_the_cache_that_others_read_cannot_be_written(
    bench: Bench, module: Path, shared: Path, cache: str
) -> None:
    lacks = bench.get("tries", protections=["environment"], told="=-")["confinement"]["lacks"]
    if "writes" in lacks:
        pytest.skip(f"nothing keeps a job from writing here: {lacks['writes']}")
    outcome = bench.run(module, "breaks_in", CASE, cache=cache)
    assert outcome.status is JobStatus.ERROR
    assert (shared / FOLDER / "kernel.cubin").read_bytes() == b"right"


@pytest.mark.triton
@pytest.mark.parametrize("kind", ["run", "measure", "profile"])
def test_where_no_device_is_used_the_cache_starts_empty(
    bench: Bench, module: Path, shared: Path, kind: str
) -> None:
    job = {
        "module": str(module), "case": CASE, "inputs": bench.inputs(CASE), "out": bench.out(),
        "entry": {"kind": "function", "name": "finds_nothing", "path": None}, "budget_s": 0.01,
    }  # fmt: skip
    bench.get(kind, device="interpreter", **job)


@pytest.mark.parametrize(
    ("job", "cache"),
    [
        ({"kind": "measure", "device": "cuda:0"}, LAUNCHERS),
        ({"kind": "profile", "device": "xpu:0"}, LINKED),
        ({"kind": "counters", "device": "cuda:0"}, LINKED),
        ({"kind": "measure", "device": "interpreter"}, EMPTY),
        ({"kind": "capture"}, EMPTY),
        ({"kind": "compile"}, EMPTY),
        ({"kind": "run", "device": "cuda:0", "cache": "/mine"}, "/mine"),
        ({"kind": "trial", "device": "cuda:0"}, None),
    ],
)
def test_each_job_is_told_its_cache(job: dict[str, Any], cache: str | None) -> None:
    assert with_own_cache(job).get("cache") == cache


def test_a_candidate_finds_what_its_original_compiled_and_leaves_it_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shared" / "a").mkdir(parents=True)
    (tmp_path / "shared" / "a" / "launcher.so").write_bytes(b"shared")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "shared"))
    caches = Caches("cuda:0", tmp_path)
    of_original = Path(caches.of_kept("original.py")["cache"], FOLDER)
    of_original.mkdir()
    (of_original / "kernel.cubin").write_bytes(b"right")
    given = caches.of_candidate(1, "original.py", "never_run.py", None)
    assert use(given["cache"], given["caches"]) == [
        str(tmp_path / "shared"),
        str(of_original.parent),
    ]
    own = Path(given["cache"])
    assert (own / FOLDER / "kernel.cubin").read_bytes() == b"right"
    assert (own / "a" / "launcher.so").read_bytes() == b"shared"
    caches.forget(1)
    assert not own.exists()
    assert (of_original / "kernel.cubin").read_bytes() == b"right"


def test_a_quick_look_finds_what_launches_kernels_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "of the original"
    for entry, file in (("kernel", "k.cubin"), ("launcher", "stub.cpython-312.so")):
        (cache / entry).mkdir(parents=True)
        (cache / entry / file).write_text("made before")
    for name, found in ((LINKED, ["kernel", "launcher"]), (LAUNCHERS, ["launcher"]), (EMPTY, [])):
        monkeypatch.delenv(VARIABLE, raising=False)
        assert use(str(tmp_path / name), [str(cache), "/nowhere"]) == [str(cache)] * bool(found)
        assert sorted(path.name for path in (tmp_path / name).iterdir()) == found
    stub = tmp_path / LAUNCHERS / "launcher" / "stub.cpython-312.so"
    assert stub.read_text() == "made before"


def test_on_the_interpreter_nothing_is_found_and_nothing_kept(tmp_path: Path) -> None:
    caches = Caches("interpreter", tmp_path)
    assert caches.of_kept("original.py") == caches.of_candidate(1, "o.py") == {"cache": EMPTY}
