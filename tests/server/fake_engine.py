"""Stands in for the engine's command line: what it does is named in the text it is given.

The text holds ``# engine: SCENARIO [ARGUMENT]``. Everything it prints follows the real contract,
except where the scenario is to break it.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

OLD, NEW = "acc += tl.dot(a, b)", "acc = tl.dot(a, b, acc)"
DEVICE = "interpreter"


def emit(event: str, **data: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **data}) + "\n")
    sys.stdout.flush()


def result(text: str, target: str, *, changed: bool) -> dict[str, Any]:
    steps = [
        {"step": "compile", "status": "passed"},
        {"step": "correctness", "status": "passed"},
        {"step": "speed", "status": "skipped"},
    ]
    trial = {"number": 1, "rationale": "accumulate in place", "kept": changed, "reason": "correct"}
    return {
        "target": target,
        "device": DEVICE,
        "changed": changed,
        "final": text.replace(OLD, NEW) if changed else text,
        "trials": [trial],
        "level": "correct",
        "speedup": None,
        "certificate": {"level": "correct", "target": target, "device": DEVICE, "steps": steps},
        "notes": [] if changed else ["no GPU here: speed decides nothing"],
    }


def certified(text: str, file: str, edits: Sequence[tuple[str, str]] = ()) -> Any:
    """The certificate file of a kernel that is called by ``dot``; edits: proposer, rationale."""
    from tilewright.certificates.files import as_json
    from tilewright.certificates.model import (
        CertificateFile,
        DeviceFacts,
        Edit,
        Original,
        ProblemFacts,
        Subject,
    )
    from tilewright.certificates.parts import reached
    from tilewright.source import parse_module

    module = parse_module(text, file)
    found = reached(module, ("dot",))
    parts = tuple(placed.part for placed in found.parts)
    made = CertificateFile(
        version=1,
        hash="",
        level="correct",
        summary="correct",
        device=DeviceFacts(DEVICE, "Triton interpreter on CPU"),
        created="2026-11-21T17:00:00+00:00",
        tilewright="0.1.0",
        problem=ProblemFacts("kernel.yaml", "captured", "0" * 32),
        subject=Subject(file, module.content_hash, ("dot",), found.kernels, parts),
        original=Original("0" * 32),
        edits=tuple(Edit("fusion", *edit) for edit in edits),
    )
    return as_json(made)


def verify(text: str, place: str, *, renews: bool) -> None:
    emit("progress", percent=10, message="repeating")
    if "linger" in text:
        time.sleep(300)
    if "doubt" in text:
        emit("result", result={"outcome": "does not hold", "reasons": ["1.10x, certified 1.94x"]})
    elif renews:
        data = certified(text, Path(place).name.replace(".tilewright.json", ".py"))
        Path(place).write_text(json.dumps(data))
        emit("result", result={"outcome": "verified anew", "reasons": ["correct"]})
    else:
        emit("result", result={"outcome": "holds", "reasons": ["correct"]})


def verified(options: argparse.Namespace, text: str) -> None:
    place = options.recheck or options.renew
    if options.original:
        fixed(Path(options.original).read_text(), text)
    else:
        verify(text, place, renews=options.recheck is None)


def fixed(before: str, after: str) -> None:
    """The verdict on an edit, as ``verify`` gives it; ``doubt`` is wrong in both texts."""
    assert before.replace(OLD, NEW) == after
    steps = [{"step": "compile", "status": "passed"}]
    proof = {"level": "correct", "target": "cuda:90", "device": DEVICE, "steps": steps}
    failed = (
        {"step": "correctness", "message": "3 of 9 values differ"} if "doubt" in after else None
    )
    value = {"accepted": failed is None, "level": "correct", "failed": failed, "error": None}
    given = certified(after, "kernel.py") if failed is None else None
    value |= {"speedup": None, "certificate": proof, "certificate_file": given, "notes": []}
    emit("result", result=value)


def profile(text: str, path: str, target: str, *, counters: bool) -> None:
    from tilewright.source import parse_module

    backend, _, arch = target.partition(":")
    emit("progress", percent=50, message="compiling")
    if "linger" in text:
        time.sleep(300)
    kernels = []
    for kernel in parse_module(text, path).entry_kernels():
        spills = 64 if "spill" in text else 0
        message = {"text": "something odd", "line": kernel.range.line + 2, "column": 4}
        launch = {"kernel": kernel.name, "grid": [1], "arguments": [], "options": {}}
        report = {
            "target": {"backend": backend, "arch": arch},
            "ok": "refuse" not in text,
            "registers": 48,
            "spill_bytes": spills,
            "shared_bytes": 24576,
            "messages": [message] if "refuse" in text else [],
            "launch": launch if "launched" in text else None,
        }
        entry = {"name": kernel.name, "line": kernel.range.line, "report": report, "correct": True}
        more = timed(counters) if "timed" in text else {"time": None}
        kernels.append({**entry, "content_hash": kernel.content_hash, "notes": [], **more})
    emit("result", result={"path": path, "kernels": kernels, "device": DEVICE, "notes": []})


def timed(counters: bool) -> dict[str, Any]:
    """What a GPU and, if it was asked, its profiler have to say."""
    time = {"median_us": 90.0, "low_us": 89.0, "high_us": 92.0, "device": "GPU", "case": "big[0]"}
    said = "by counters" if counters else "at least"
    text = f"memory-bound: 3.1 TB/s of 4.8 TB/s (65 %, {said})"
    finding = {"text": text, "suggests": ["multi_pass_row"]}
    return {"time": time, "bottleneck": "memory", "findings": [finding]}


def inspect(text: str, file: str, targets: list[str], stage: str | None) -> None:
    """Line 2 of each kernel has something to it: its first statement, or its docstring's line."""
    from tilewright.source import parse_module

    path, _, wanted = file.partition("::")
    emit("progress", percent=10, message="compiling")
    if "unable" in text:
        emit("error", message="its kernels cannot be imported: no module named foo")
        return
    if "linger" in text:
        time.sleep(300)
    time.sleep(1.0 if "ponder" in text else 0.0)
    entries = [
        compiled(kernel, targets, text)
        for kernel in parse_module(text, path).entry_kernels()
        if wanted in ("", kernel.name)
    ]
    if stage is not None:
        line = entries[0]["issues"][0]["range"]["line"]
        emit("result", result=stage_of(entries[0], targets[0], stage, line))
        return
    for entry in entries:
        emit("inspected", kernel=entry)
    emit("result", result={"path": path, "kernels": entries})


def compiled(kernel: Any, targets: list[str], text: str) -> dict[str, Any]:
    line = kernel.name_range.line + 2
    block = {"name": "BLOCK", "kind": "constexpr", "type": "constexpr", "value": 32}
    launch = {"kernel": kernel.name, "grid": [1], "arguments": [block], "options": {}}
    access = {"kind": "load", "space": "global", "bits": 32, "count": 8, "best_bits": 128}
    lines = [{"line": line, "instructions": 9, "accesses": [access], "tensor": {"wgmma": 2}}]
    reports = []
    for target in targets:
        backend, _, arch = target.partition(":")
        report = {"target": {"backend": backend, "arch": arch}, "kernel": kernel.name}
        figures = {"registers": 128, "spill_bytes": 0, "shared_bytes": 212992, "lines": lines}
        made = {"launch": launch, "ok": True, "toolchain": "triton 3.9.0", "details": {"warps": 8}}
        if "refuse" in text:
            said = {"text": "unsupported operand", "line": line, "column": 4}
            made |= {"ok": False, "messages": [said]}
        reports.append({**report, **figures, **made})
    issue = {
        "id": "unvectorized_access",
        "stage": "memory_access",
        "severity": 3,
        "message": f"On {targets[0]}, one thread loads 4 bytes at a time where 16 would do.",
        "kernel": kernel.name,
        "range": {"line": line, "column": 4, "end_line": line, "end_column": 8},
        "data": {
            "targets": targets[0],
            "toolchain": "triton 3.9.0",
            "configuration": "BLOCK=32",
        },
    }
    if "refuse" in text:
        issue |= {"id": "does_not_compile", "stage": "correctness", "severity": 5}
    return {
        "name": kernel.name,
        "line": kernel.range.line,
        "content_hash": kernel.content_hash,
        "origin": "inferred" if "assumed" in text else "spec",
        "why": "its problem's entry point fails: no GPU" if "assumed" in text else "",
        "targets": [report["target"] for report in reports],
        "reports": reports,
        "estimates": [
            {"us": 17.2, "bound": "memory", "roofline_percent": 61.0, "parts": {}} for _ in reports
        ],
        "issues": [issue],
        "notes": [],
    }


def stage_of(entry: dict[str, Any], target: str, stage: str, line: int) -> dict[str, Any]:
    return {
        "kernel": entry["name"],
        "target": target,
        "stage": "sass" if stage == "native" else stage,
        "stages": ["ptx", "sass"],
        "launch": entry["reports"][0]["launch"],
        "text": "NOP\nLDG R1\nLDG R2\n",
        "missing": "",
        "lines": {str(line): [2, 3]},
        "origin": "spec",
        "notes": [],
    }


def slow(text: str, target: str) -> None:
    """Works until it is asked to stop, then gives its best so far."""
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
    percent = 0
    while not stopped:
        percent = min(99, percent + 1)
        emit("progress", percent=percent, message=f"step {percent}")
        time.sleep(0.02)
    emit("result", result=result(text, target, changed=False))


def deaf(pid_file: str) -> None:
    """Ignores a soft stop and has a child of its own."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "300"])
    Path(pid_file).write_text(f"{os.getpid()} {child.pid}")
    emit("progress", percent=1, message="deaf")
    time.sleep(300)


SPENT = {"calls": 14, "calls_cached": 2, "dollars": 0.1234}


def with_models(text: str, target: str) -> None:
    """What a run reports that keeps a model's edit and a rewrite's."""
    at = {"stage": "fusion", "try": 2, "best": 1.8412, "spent": SPENT}
    emit("progress", percent=40, message="stage fusion", **at)
    time.sleep(0.6)  # so that the client is sent it
    made = result(text, target, changed=True)
    (rewrite,) = made["trials"]
    rewrite = {**rewrite, "proposer": "rewrite:dot_accumulator"}
    model = {**rewrite, "number": 2, "proposer": "model:big-one", "rationale": "fuse both"}
    emit("result", result={**made, "trials": [rewrite, model], "models": {"spent": SPENT}})


def spy(place: str, command: str) -> None:
    """Write down how this process was started."""
    names = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TILEWRIGHT_MODEL_KEYS")
    found = {name: os.environ[name] for name in names if name in os.environ}
    with Path(place).open("a") as file:
        file.write(json.dumps({"command": command, "argv": sys.argv[2:], "env": found}) + "\n")


def improve(text: str, target: str) -> None:
    for percent in range(0, 100, 2):
        emit("progress", percent=percent, message=f"step {percent}")
        time.sleep(0.01)
    made = result(text, target, changed=True)
    emit("trial", trial=made["trials"][0])
    emit("result", result={**made, "certificate_file": certified(made["final"], "kernel.py")})


def judged(text: str) -> dict[str, Any]:
    """The events of a candidate that is kept; its trial."""
    from tilewright.evaluation.model import text_hash

    final = text.replace(OLD, NEW)
    kernel = {"kernel": "dot_kernel", "configurations": 1, "compiled": 1}
    before = {**kernel, "registers": [64, 64], "spill_bytes": [8, 8], "estimate_us": [9.5, 9.5]}
    after = {**kernel, "registers": [48, 48], "spill_bytes": [0, 0], "estimate_us": [7.0, 7.0]}
    ids = {"candidate": text_hash(final), "parent": text_hash(text)}
    emit("original", candidate=ids["parent"], figures=[before])
    emit("judging", **ids, stage="fusion", proposer="rewrite:x", rationale="fuse", text=final)
    emit("step", step="compile")
    trial = {
        **ids, "number": 1, "stage": "fusion", "proposer": "rewrite:x", "rationale": "fuse",
        "kept": True, "reason": "correct", "level": "correct", "seconds": 0.1,
    }  # fmt: skip
    emit("trial", trial=trial, figures=[after], text=final)
    return trial


def wait(text: str, target: str, gate: str) -> None:
    """Goes on, without ending at a soft stop, until a file appears; a second run is resumed."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with Path(f"{gate}.begun").open("a") as file:
        file.write("begun\n")
    emit("progress", percent=40, message="stage fusion", stage="fusion", judged=0, budget=64)
    judged(text)
    while not Path(gate).exists():
        time.sleep(0.02)
    made = result(text, target, changed=True)
    emit("result", result={**made, "certificate_file": certified(made["final"], "kernel.py")})


def optimize(scenario: str, argument: str, text: str, target: str) -> None:
    emit("started", run="r1")
    if scenario == "wait":
        wait(text, target, argument)
    elif (
        act := {"improve": improve, "models": with_models, "slow": slow}.get(scenario)
    ) is not None:
        act(text, target)
    elif scenario == "nothing":
        emit("result", result=result(text, target, changed=False))
    elif scenario == "deaf":
        deaf(argument)
    elif scenario == "crash":
        raise RuntimeError("the compiler fell over")
    elif scenario == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif scenario == "crashhost":
        os.kill(int(argument), signal.SIGKILL)
        time.sleep(300)
    elif scenario == "garbage":
        sys.stdout.write('Hello\n{"event": 3}\n[1]\n{"event": "result"}\n\x00\xff half a li')
    elif scenario == "error":
        emit("error", message="unknown field `shap`", path="k.yaml", line=7)


def recorded() -> dict[str, Any]:
    """A run on record of ``kernel.py`` in this folder, with one candidate that was kept."""
    path = Path(os.environ["TILEWRIGHT_HOME"]).parent / "kernel.py"
    text = path.read_text()
    final = text.replace(OLD, NEW)
    kernel = {"kernel": "dot_kernel", "configurations": 1, "compiled": 1, "registers": [64, 64]}
    trial = {
        "number": 1, "candidate": "c1", "parent": "o", "stage": "fusion", "proposer": "rewrite:x",
        "rationale": "fuse", "kept": True, "reason": "correct", "level": "correct", "seconds": 2,
    }  # fmt: skip
    head = {"run": "a1b2", "path": str(path), "target": "cuda:90", "state": "finished", "kept": 1}
    head |= {"started": "2026-11-20T10:14:00+00:00", "device": "interpreter", "seconds": 38.3}
    texts = {"original": "o", "texts": {"o": text, "c1": final}, "figures": {"o": [kernel]}}
    asked = path.with_name("recorded_problem")
    texts["problem"] = asked.read_text() if asked.exists() else None
    around = path.with_name("recorded_around")
    texts["around"] = json.loads(around.read_text()) if around.exists() else None
    return {**head, **texts, "trials": [trial], "notes": [], "budget": 64, "spent": None}


def on_record(command: str, run: str | None) -> dict[str, Any]:
    """What the store has: one run whole, of another what a page needs of it."""
    if command == "runs":
        return {"runs": [{"run": "a1b2", "kept": 1}], "count": 1}
    missing = {"missing": "no trial was timed"}
    known = {"roof": missing, "estimates": {"chip": "H200 SXM", "texts": []}, "trials": []}
    return {"a1b2": recorded, "8ed9": lambda: known}.get(str(run), dict)()


def captured(arguments: list[str]) -> None:
    """Three launches of a kernel of ``kernel.py``; ``nothing.py`` launches nothing and fails."""
    place = str(Path("kernel.py").resolve())
    found = [{"kernel": "dot_kernel", "file": place, "line": 7, "launches": 3, "distinct": 2}]
    told = {"folder": arguments[2], "exit_code": 0, "kernels": found, "none": ""}
    if arguments[-1] == "nothing.py":
        told |= {"exit_code": 3, "kernels": [], "none": "nothing launched"}
    emit("result", result={**told, "notes": [], "arguments": arguments})


def start() -> None:
    """The command of the arguments; what follows ``capture`` is another command's."""
    if sys.argv[1] == "capture":
        captured(sys.argv[1:])
    else:
        main()


def listed(command: str, path: Path) -> dict[str, Any]:
    """An issue in each kernel, and a certificate of none."""
    from tilewright.source import parse_module

    kernels = parse_module(path.read_text(), str(path)).entry_kernels()
    lines = [(kernel.name, kernel.name_range.line) for kernel in kernels]
    if command == "check":
        issue = {"id": "missing_autotune", "message": "fixed", "severity": 2}
        issues = [{**issue, "kernel": kernel, "line": line} for kernel, line in lines]
        entries = [{"kernel": kernel, "line": line} for kernel, line in lines]
        return {"path": str(path), "issues": issues, "entries": entries}
    nothing = {"status": "none", "summary": None, "changes": [], "time": None}
    return {"path": str(path), "kernels": [{"kernel": k, "line": n, **nothing} for k, n in lines]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("file", nargs="?")
    for option in (
        "--device",
        "--format",
        "--budget",
        "--emit",
        "--recheck",
        "--renew",
        "--original",
    ):
        parser.add_argument(option)
    for option in (
        "--model",
        "--max-dollars",
        "--max-calls",
        "--max-minutes",
        "--tries",
        "--require",
    ):
        parser.add_argument(option)
    parser.add_argument("--target", action="append")
    parser.add_argument("--stdin", action="store_true")
    parser.add_argument("--no-counters", action="store_true")
    options = parser.parse_args()
    if "TEST_SPY" in os.environ:
        spy(os.environ["TEST_SPY"], options.command)
    if options.command in ("runs", "show"):
        sys.stdout.write(json.dumps(on_record(options.command, options.file)))
        return
    if options.command in ("check", "certificates"):
        files = [listed(options.command, path) for path in sorted(Path(options.file).glob("*.py"))]
        sys.stdout.write(json.dumps({"files": files}))
        return
    if options.command == "devices":
        sys.stdout.write(json.dumps({"devices": []}))
        return
    # Reads every line end as a newline, as the engine does where the system does.
    text = sys.stdin.read().replace("\r\n", "\n")
    found = re.search(r"# engine: (\w+) ?(\S*)", text)
    scenario, argument = (found[1], found[2]) if found else ("nothing", "")
    if options.command == "inspect":
        inspect(text, options.file, options.target, options.emit)
    elif options.command == "verify":
        verified(options, text)
    elif options.command == "profile":
        profile(text, options.file, options.target[0], counters=not options.no_counters)
    else:
        optimize(scenario, argument, text, options.target[0])


def host() -> None:
    """As the engine's process that stays: forked for each command."""
    from tilewright.cli.engine_process import serve

    serve(int(sys.argv[2]), start)


if __name__ == "__main__":
    host() if "--host" in sys.argv[1:2] else start()
