"""What a judge is made of: turns on the device, compiling ahead, messages and what they bring."""

import errno
import gc
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright.worker.protocol import HarnessError
from tilewright.worker.runtime.connections import Line, Wire
from tilewright.worker.trials import (
    answers,
    baselines,
    coordinator,
    precompilation,
    results,
    run_faults,
    trial,
)
from tilewright.worker.trials.device_lock import Turns
from tilewright.worker.trials.runner_handle import (
    BrokenOffError,
    CandidateEndedError,
    Handle,
    RunnerEndedError,
    owned,
)

WAIT_S = 600.0


def test_who_times_waits_for_those_who_compute_and_then_keeps_them_out() -> None:
    turns, said = Turns(), []
    computing, may_end, timing, may_stop = (threading.Event() for _ in range(4))

    def compute(name: str) -> None:
        with turns.shared():
            said.append(name)
            computing.set()
            assert may_end.wait(WAIT_S)

    def time_it() -> None:
        with turns.alone():
            said.append("timed")
            timing.set()
            assert may_stop.wait(WAIT_S)

    first = threading.Thread(target=compute, args=("first",))
    first.start()
    assert computing.wait(WAIT_S)
    clock = threading.Thread(target=time_it)
    clock.start()
    assert not timing.wait(0.1)
    late = threading.Thread(target=compute, args=("late",))
    late.start()
    may_end.set()
    assert timing.wait(WAIT_S)
    assert said == ["first", "timed"]
    may_stop.set()
    for thread in (first, clock, late):
        thread.join(WAIT_S)
    assert said == ["first", "timed", "late"]


def check(**told: Any) -> dict[str, Any]:
    case = {"category": "ci", "index": 0, "dims": {"N": 64}, "dtype": "float32", "rtol": 1e-3}
    return {"name": "c", "case": case, "layout": "plain", "launch_options": {}, "seed": 0, **told}


def test_checks_that_compile_alike_are_compiled_once_and_the_rest_is_dealt_out() -> None:
    other = check(case={**check()["case"], "dims": {"N": 65}})
    looser = check(case={**check()["case"], "rtol": 1e-2, "index": 1}, seed=1)
    strided, warps = check(layout="strided"), check(launch_options={"num_warps": 8})
    shares = precompilation.shares([check(), looser, other, strided, warps], 2)
    assert [len(share) for share in shares] == [2, 2]
    assert precompilation.shares([check(), looser], 4) == [
        [precompilation.shares([check()], 1)[0][0]]
    ]
    assert precompilation.shares([], 4) == []


def test_a_result_outside_of_ones_own_folder_is_refused(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for folder in (mine, other):
        folder.mkdir()
        (folder / "output0.bin").write_bytes(b"0000")
    (mine / "link.bin").symlink_to(other / "output0.bin")
    kept = owned(
        [{"name": "a", "file": str(mine / "output0.bin")}, {"name": "b", "value": 3}], mine
    )
    assert [entry["name"] for entry in kept] == ["a", "b"]
    for file in (other / "output0.bin", mine / "link.bin", mine / ".." / "other" / "output0.bin"):
        with pytest.raises(ValueError, match="not its own"):
            owned([{"name": "a", "file": str(file)}], mine)


def test_descriptors_come_with_the_message_that_brought_them() -> None:
    ours, theirs = socket.socketpair()
    line, wire = Line(ours), Wire(theirs)
    ends = [os.pipe() for _ in range(2)]
    wire.send({"perform": "1"}, ends[0][0])
    wire.send({"kill": "x"})
    wire.send({"perform": "2"}, ends[1][0])
    found: list[dict[str, Any]] = []
    while len(found) < len(("1", "x", "2")):
        found += line.receive()
    assert [next(iter(message.values())) for message in found] == ["1", "x", "2"]
    for number, (_, end) in enumerate(ends):
        os.write(end, str(number).encode())
        received = line.descriptors.popleft()
        assert os.read(received, 1) == str(number).encode()
        os.close(received)
    line.close()
    wire.close()


def test_what_the_original_does_too_is_no_fault() -> None:
    stray = {"out_of_bounds": ["writes 4 elements past the end of output"], "races": ["two race"]}
    told = {**stray, "inputs_changed": ["x"], "races_lines": [["k.py:4"]]}
    assert list(run_faults.of_run({**stray, "inputs_changed": ["x"]}, told)) == []
    found = list(run_faults.of_run({}, told))
    assert [text.split(" ")[1] for text in found] == ["overwrites", "writes", "race"]
    assert "check the mask of the store" in found[1]
    assert "at k.py:4" in found[2]


def test_memory_that_is_not_there_to_be_read_or_written_is_told_of_with_its_line() -> None:
    early = {"name": "output", "text": "output (shape (8,), float32)", "elements": 8}
    stored = {"inputs": ["input x", "weight w"], "lines": ["k.py:7"], "changes": True}
    told = {"unwritten": [{**early, "lines": ["k.py:4"]}], "stored_inputs": [stored]}
    first, second = run_faults.of_run({}, told)
    assert (
        "it reads 8 elements of output (shape (8,), float32) before anything has written" in first
    )
    assert "at k.py:4: its contents depend on earlier kernels" in first
    assert second.startswith(
        "it writes into input x, weight w at k.py:7, which the original leaves alone"
    )


@pytest.mark.parametrize(
    "base",
    [
        {"stored_inputs": [{"inputs": ["input x"], "lines": [], "changes": False}]},
        {"inputs_changed": ["y"]},
    ],
)
def test_an_input_that_the_original_stores_into_may_be_stored_into(base: dict[str, Any]) -> None:
    stored = {"inputs": ["input x", "input y"], "lines": [], "changes": True}
    assert list(run_faults.of_run(base, {"stored_inputs": [stored]})) == []
    early: dict[str, Any] = {"name": None, "text": "a tensor", "elements": 1, "lines": []}
    assert list(run_faults.of_run({"unwritten": [early]}, {"unwritten": [early]})) == []
    same = {"stored_inputs": [{**stored, "changes": False}]}
    assert list(run_faults.of_run({}, same)) == []


def test_a_launch_may_not_look_at_what_the_original_only_writes() -> None:
    out = {"inputs": ["input out_ptr"], "lines": ["k.py:5"], "changes": True}
    told = {"stored_inputs": [out], "loaded_inputs": [out]}
    (found,) = run_faults.of_run({"stored_inputs": [out]}, told)
    assert found.startswith("it reads input out_ptr at k.py:5 before it has written there")
    assert list(run_faults.of_run(told, told)) == []


def test_the_order_is_blamed_only_where_nothing_else_was_out_of_the_ordinary() -> None:
    plain, strange = check(order="reversed"), check(order="shuffled", layout="offset")
    assert "changes with the order of programs" in run_faults.in_other_order(plain, "1 differs")
    assert run_faults.in_other_order(strange, "1 differs") == "1 differs"
    assert run_faults.in_other_order(check(), "1 differs") == "1 differs"


@pytest.mark.parametrize(("forward", "is_blamed"), [(1.0, True), (2.0, False)])
def test_the_order_is_blamed_only_where_the_usual_one_is_right(
    forward: float, *, is_blamed: bool
) -> None:
    torch = pytest.importorskip("torch")

    def result(value: float) -> results.Results:
        return results.Results(("y",), (torch.tensor([value]),), {})

    base: Any = SimpleNamespace(oracle=result(1.0), own=None, noisy=())
    hearing: Any = SimpleNamespace(_call=lambda plain, _: result(forward))
    odd = check(order="reversed")
    odd["case"] |= {"rtol": 1e-3, "atol": 1e-3}
    said = trial.Hearing._said_of_order(hearing, odd, base, "1 differs")
    assert ("order of programs" in said) is is_blamed


@pytest.mark.parametrize(
    ("device", "launches", "is_beside_torch"),
    [
        ("interpreter", {}, True),
        ("interpreter", {"kernel": {"count": 1}}, False),
        ("cuda:0", {}, False),
    ],
)
def test_an_original_in_torch_is_no_measure_of_the_interpreter(
    device: str, launches: dict[str, Any], *, is_beside_torch: bool
) -> None:
    hearing: Any = SimpleNamespace(_job={"device": device})
    base: Any = SimpleNamespace(original=SimpleNamespace(told={"facts": {"launches": launches}}))
    assert trial.Hearing._is_beside_torch(hearing, base) is is_beside_torch


class FailsAtFirst(baselines.Originals):
    """Originals whose first call ends as told, and whose later ones end otherwise."""

    ends: list[str]

    def inputs(self, job: Any, check: Any) -> baselines.InputFiles:
        return baselines.InputFiles([], self.folder / "none")

    def _ask_original(self, job: Any, check: Any, base: baselines.Base) -> None:
        raise RunnerEndedError(self.ends.pop(0), "it ended")


class Answers(baselines.Originals):
    """Originals that give nothing, of inputs that are files."""

    def _ask_original(self, job: Any, check: Any, base: baselines.Base) -> None:
        base.original = results.Results((), (), {})


def test_files_of_inputs_stay_until_the_last_measure_of_them_goes(
    tmp_path: Path, small_heap: None
) -> None:
    case = {"inputs": [{"name": "x", "shape": [64], "dtype": "float32"}], "rtol": 0, "atol": 0}
    one = {"case": case, "seed": 0}
    asked = Answers("interpreter", tmp_path, lambda job, timeout_s: pytest.fail("started"), 256)
    first = asked.base({"seed": 0}, one)
    second = asked.base({"seed": 1}, one)
    assert asked.base({"seed": 1}, one) is second
    assert [Path(entry["file"]).stat().st_size for entry in first.inputs] == [256]
    again = asked.base({"seed": 0}, one)
    assert again is not first
    assert len(list(tmp_path.glob("*/*"))) == 3
    del first, second
    gc.collect()
    assert [Path(entry["file"]).parent for entry in again.inputs] == list(tmp_path.iterdir())


class TakesLong(Answers):
    """Originals that take as long for a second check as the test wants."""

    begun: threading.Event
    go_on: threading.Event

    def _ask_original(self, job: Any, check: Any, base: baselines.Base) -> None:
        if check["seed"]:
            self.begun.set()
            assert self.go_on.wait(60.0)
        super()._ask_original(job, check, base)


def test_a_measure_that_is_there_does_not_wait_for_one_that_is_made(tmp_path: Path) -> None:
    case = {"inputs": [{"name": "x", "shape": [64], "dtype": "float32"}], "rtol": 0, "atol": 0}
    asked = TakesLong("interpreter", tmp_path, lambda job, timeout_s: pytest.fail("started"))
    asked.begun, asked.go_on = threading.Event(), threading.Event()
    first = asked.base({"seed": 0}, {"case": case, "seed": 0})
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(asked.base, {"seed": 0}, {"case": case, "seed": 1})
        assert asked.begun.wait(60.0)
        assert asked.base({"seed": 0}, {"case": case, "seed": 0}) is first
        assert not second.done()
        asked.go_on.set()
    assert second.result() is not first


@pytest.mark.parametrize(
    ("status", "left"), [("out_of_memory", 0), ("timeout", 0), ("lost", 0), ("crashed", 1)]
)
def test_what_may_pass_is_not_kept_against_an_original(
    tmp_path: Path, status: str, left: int
) -> None:
    asked = FailsAtFirst("interpreter", tmp_path, lambda job, timeout_s: pytest.fail("started"))
    asked.ends = [status, "crashed"]
    job = {"seed": 0}
    for _ in range(2):
        assert asked.base(job, check()).failure == "the original itself fails: it ended"
    assert len(asked.ends) == left


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (OSError(errno.ENOSPC, "No space left"), "out_of_memory", "no memory left for tensors"),
        (RuntimeError("CUDA error: out of memory"), "out_of_memory", "ran out of memory"),
        (KeyError("outputs"), "fault", "KeyError: 'outputs'"),
        (FileNotFoundError(errno.ENOENT, "gone", "in/1.bin"), "fault", "in/1.bin"),
        (ZeroDivisionError("by zero"), "fault", "ZeroDivisionError"),
        (HarnessError("no process could be started"), "fault", "no process could be started"),
        (RunnerEndedError("error", "get_inputs failed"), "error", "get_inputs failed"),
        (BrokenOffError("timeout", "it took too long"), "timeout", "it took too long"),
    ],
)
def test_a_candidate_is_not_blamed_for_what_the_judge_lacks(
    monkeypatch: pytest.MonkeyPatch, error: Exception, status: str, words: str
) -> None:
    class NoTrial:
        asked, deadline, job, prepared, failed = 0.0, 0.0, {}, None, None
        candidate, compiled = None, ()

    class NoJudge:
        _originals, _turns, _watching = None, None, None
        _compile_rest = None

    class Raises:
        def __init__(self, *_: Any) -> None:
            pass

        def value(self, *_: Any) -> Any:
            raise error

    monkeypatch.setattr(coordinator, "Hearing", Raises)
    monkeypatch.setattr(coordinator, "partial", lambda *_: None)
    answer = coordinator.Coordinator._hear(NoJudge(), NoTrial())  # type: ignore[arg-type]
    assert answer["status"] == status
    assert words in answer["message"]


def handle(folder: Path) -> Handle:
    ours, theirs = socket.socketpair()
    theirs.close()
    made = Handle("1", Wire(ours), folder, lambda *_: None, CandidateEndedError)
    made.outbox.mkdir(parents=True)
    return made


def test_an_answer_that_makes_no_sense_is_its_runners_fault(tmp_path: Path) -> None:
    candidate = handle(tmp_path)
    with (
        pytest.raises(CandidateEndedError, match="makes no sense: KeyError"),
        candidate.answering(),
    ):
        raise KeyError("outputs")
    full = OSError(errno.ENOSPC, "No space left on device")
    for error in (
        full,
        MemoryError(),
        RuntimeError("CUDA error: unknown error"),
        HarnessError("x"),
    ):
        with pytest.raises(type(error)), candidate.answering():
            raise error


@pytest.mark.parametrize(
    ("status", "raised"),
    [("lost", HarnessError), ("fault", HarnessError), ("crashed", CandidateEndedError)],
)
def test_who_could_not_be_started_is_not_blamed(
    tmp_path: Path, status: str, raised: type[Exception]
) -> None:
    candidate = handle(tmp_path)
    candidate.has_ended(status, "why")
    candidate.wire.gone = True
    with pytest.raises(raised, match="why"):
        candidate.reply(1.0)


ENTRY = {
    "name": "output",
    "file": "o.bin",
    "dtype": "float32",
    "shape": [2],
    "strides": [1],
    "offset": 0,
}
TREE = {"kind": "tensor", "name": "output"}
CALL = {"outputs": [ENTRY], "changed_inputs": [], "output_tree": TREE, "inputs_changed": []}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"outputs": 3}, "outputs"),
        ({"outputs": [{"name": 1, "file": 2}]}, r"outputs\.dtype"),
        ({"outputs": [{**ENTRY, "shape": ["many"]}]}, r"shape\[0\]"),
        ({"outputs": [{"name": "n", "value": [1]}]}, "value"),
        ({"output_tree": {"kind": "dict", "items": [TREE]}}, "keys"),
        ({"configs": {"k": "many"}}, "configs"),
        ({"facts": {"launches": {"k": 5}}}, "launches"),
        ({"unwritten": [{"name": None}]}, "unwritten"),
    ],
)
def test_an_answer_of_another_shape_is_refused(change: dict[str, Any], said: str) -> None:
    assert answers.of_call(dict(CALL)) == CALL
    with pytest.raises(ValueError, match=said):
        answers.of_call({**CALL, **change})
