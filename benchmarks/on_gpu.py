"""Repeats what the project claims of GPUs, one step after the other, on the GPUs of this machine.

    python benchmarks/on_gpu.py --list
    python benchmarks/on_gpu.py --out build/gpu [--only faults,tests] [--budget 580] [--pack FILE]
    python benchmarks/on_gpu.py --out build/gpu --rehearse

Steps stand in ``gpu_steps.py``, the most wanted first. Each runs in a process group of its own with
a time limit; what it prints goes to OUT/NAME.log, what it writes to OUT/NAME. One that fails stops
none of the others. With ``--budget`` those run that fit into so many seconds, and the rest is
named. ``--pack`` keeps everything in one archive, written anew as steps go on, so that it is there
when this is cut off. Exit code 1 if anything failed or was cut off.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from gpu_packing import pack
from gpu_steps import OUT, PYTHON, STEPS, Step

ROOT = Path(__file__).resolve().parents[1]
DONE, FAILED, LATE, STOPPED, LEFT_OUT = "done", "failed", "cut off", "stopped", "left out"
_LONGER, _MORE_S = 1.5, 30.0
_ENDING_S = 15.0
_PACK_S = 20.0
_TAIL_LINES = 12


@dataclass(frozen=True)
class Outcome:
    """What became of a step; ``said`` why, where it was not done."""

    name: str
    became: str
    seconds: float = 0.0
    said: str = ""


@dataclass(frozen=True)
class Plan:
    """How steps are run: where results go, and the archive of them, if one is wanted."""

    out: Path
    archive: Path | None = None
    budget_s: float = float("inf")
    gpus: int = 0
    rehearse: bool = False


def run_all(steps: Sequence[Step], plan: Plan) -> list[Outcome]:
    """Run what fits, in order; what became of each step. A KeyboardInterrupt ends it early."""
    plan.out.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    with _interruptible():
        try:
            _run_each(steps, plan, outcomes)
        finally:
            _keep(outcomes, plan)
    return outcomes


def _run_each(steps: Sequence[Step], plan: Plan, outcomes: list[Outcome]) -> None:
    began = time.monotonic()
    for step in steps:
        left_s = plan.budget_s - (time.monotonic() - began)
        why = _left_out(step, plan, left_s)
        outcome = Outcome(step.name, LEFT_OUT, 0.0, why) if why else _run(step, plan, left_s)
        outcomes.append(outcome)
        _tell(outcome, plan)
        _keep(outcomes, plan)
        if outcome.became == STOPPED:
            return


def _left_out(step: Step, plan: Plan, left_s: float) -> str:
    """Why a step does not run; "" if it does."""
    if plan.rehearse:
        return "" if step.rehearsal else "there is no form of it without a GPU"
    if step.gpus > plan.gpus:
        return f"needs {step.gpus} GPUs, and nvidia-smi lists {plan.gpus}"
    if step.seconds > left_s:
        return f"takes about {step.seconds:.0f} s, and {max(0.0, left_s):.0f} s are left"
    return ""


def _run(step: Step, plan: Plan, left_s: float) -> Outcome:
    """Run one step to its end, its limit, or ours."""
    folder = plan.out / step.name
    folder.mkdir(exist_ok=True)
    for file in map(Path, step.copies):
        if not (folder / file.name).exists():  # what an earlier run left goes further
            shutil.copy(ROOT / file, folder)
    limit_s = min(_LONGER * step.seconds + _MORE_S, left_s)
    print(f"== {step.name}: {step.feeds}; {limit_s:.0f} s at most", flush=True)
    began = time.monotonic()
    process: subprocess.Popen[bytes] | None = None
    with (plan.out / f"{step.name}.log").open("wb") as log:
        try:
            with _held() as came:
                process = subprocess.Popen(
                    command_of(step, folder, rehearse=plan.rehearse),
                    cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                    env=_environment(folder), start_new_session=True,
                )  # fmt: skip
            became = STOPPED if came else _waited(process, began + limit_s, plan)
        except KeyboardInterrupt:
            became = STOPPED
        finally:
            if process is not None:
                _end(process)
    seconds = time.monotonic() - began
    if became == DONE and process is not None and process.returncode != 0:
        return Outcome(step.name, FAILED, seconds, f"exit code {process.returncode}")
    return Outcome(step.name, became, seconds)


def _waited(process: subprocess.Popen[bytes], end: float, plan: Plan) -> str:
    """Until a step has ended, or has to; packs meanwhile. An interrupt ends the wait."""
    while True:
        left_s = end - time.monotonic()
        if left_s <= 0:
            return LATE
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(min(left_s, _PACK_S))
            return DONE
        _pack(plan)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask what is left of a step to end, as Ctrl-C does, so that it writes what it has; then end
    it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(_ENDING_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def command_of(step: Step, folder: Path, *, rehearse: bool) -> list[str]:
    """A step's command line."""
    words = step.rehearsal if rehearse else step.command
    return [word.replace(PYTHON, sys.executable).replace(OUT, str(folder)) for word in words]


def _environment(folder: Path) -> dict[str, str]:
    paths = [str(ROOT / "engine"), str(ROOT / "server"), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ, "OUT": str(folder), "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }  # fmt: skip


def _tell(outcome: Outcome, plan: Plan) -> None:
    """One line, after the last ones of what the step said."""
    log = plan.out / f"{outcome.name}.log"
    if outcome.became != LEFT_OUT and log.is_file():
        for line in log.read_text("utf-8", "replace").splitlines()[-_TAIL_LINES:]:
            print(f"   {line[:300]}")
    print(_line(outcome), flush=True)


def _line(outcome: Outcome) -> str:
    took = "" if outcome.became == LEFT_OUT else f" after {outcome.seconds:.0f} s"
    return f"{outcome.name}: {outcome.became}{took}{outcome.said and ': '}{outcome.said}"


def _keep(outcomes: Sequence[Outcome], plan: Plan) -> None:
    """Write what became of these steps, and leave what an earlier call wrote of others."""
    file = plan.out / "summary.json"
    before = json.loads(file.read_text("utf-8"))["steps"] if file.is_file() else []
    steps = {one["name"]: one for one in before}
    # That it was left out this time takes nothing from what it did before.
    ran = (one for one in outcomes if one.became != LEFT_OUT or one.name not in steps)
    steps |= {one.name: asdict(one) for one in ran}
    told = {"device": _device(), "steps": list(steps.values())}
    file.write_text(json.dumps(told, indent=1), "utf-8")
    _pack(plan)


def _pack(plan: Plan) -> None:
    if plan.archive is not None:
        pack(plan.out, plan.archive)


def _nvidia_smi(*arguments: str) -> list[str]:
    """Lines of what the driver's tool says; none where it is missing or fails."""
    try:
        asked = subprocess.run(
            ["nvidia-smi", *arguments], capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return asked.stdout.splitlines() if asked.returncode == 0 else []


def _device() -> list[str]:
    return _nvidia_smi("--query-gpu=name,driver_version,memory.used", "--format=csv,noheader")


@contextlib.contextmanager
def _held() -> Iterator[list[int]]:
    """The signals that come meanwhile, which interrupt nothing.

    An interrupt in the middle of a start would leave the new process running.
    """
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {one: signal.signal(one, note) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM is as Ctrl-C, and Ctrl-C reaches the steps.

    A shell starts what it runs in the background with SIGINT ignored, and a program that is started
    from there ignores it as well. A signal that has a handler here has its default in a step.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {one: signal.signal(one, interrupt) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def main() -> int:
    """List the steps, or run them."""
    asked = _options()
    try:
        steps = chosen(asked.only)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if asked.list:
        print(listing(steps))
        return 0
    gpus = len(_nvidia_smi("--list-gpus"))
    if not gpus and not asked.rehearse:
        print(
            "nvidia-smi lists no GPU here; --rehearse runs what there is of the steps without one",
            file=sys.stderr,
        )
        return 2
    plan = Plan(asked.out.resolve(), asked.pack, asked.budget, gpus, asked.rehearse)
    outcomes = run_all(steps, plan)
    print("\n".join(["==", *map(_line, outcomes)]))
    rest = [step.name for step in steps[len(outcomes) :]]
    rest += [one.name for one in outcomes if one.became == LEFT_OUT]
    if rest:
        print(f"not run: --only {','.join(rest)}")
    return 0 if all(one.became in (DONE, LEFT_OUT) for one in outcomes) else 1


def chosen(names: str) -> tuple[Step, ...]:
    """Steps by their names, in the table's order; all of them for "". Raises ValueError."""
    wanted = [name for name in names.split(",") if name]
    known = [step.name for step in STEPS]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"no step is named {', '.join(unknown)}; there are {', '.join(known)}")
    return tuple(step for step in STEPS if not wanted or step.name in wanted)


def listing(steps: Sequence[Step]) -> str:
    """A line a step, and its command."""
    lines = []
    for step in steps:
        gpus = f", {step.gpus} GPUs" if step.gpus > 1 else ""
        lines.append(f"{step.name:15} {step.seconds:4.0f} s{gpus}  {step.feeds}")
        command = command_of(step, Path("OUT", step.name), rehearse=False)
        lines.append(f"{'':15} {shlex.join(command)}")
    return "\n".join([*lines, f"{sum(step.seconds for step in steps):.0f} s in all"])


def _options() -> Any:
    parser = argparse.ArgumentParser(description="Repeats what the project claims of GPUs.")
    parser.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    parser.add_argument("--only", default="", help="names of steps, separated by commas")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "gpu")
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds in all")
    parser.add_argument("--pack", type=Path, help="one archive (.tar.gz) of everything in OUT")
    parser.add_argument(
        "--rehearse", action="store_true", help="the smallest form of each step, without a GPU"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
