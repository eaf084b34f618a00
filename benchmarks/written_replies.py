"""Takes replies that were written in advance through the loop with models, on a GPU or without.

    python benchmarks/written_replies.py --device cuda:0 --out FOLDER [--only NAME,NAME]
    python benchmarks/written_replies.py --device cuda:0 --out FOLDER --direct
    python benchmarks/written_replies.py --device interpreter --target cuda:90 --out FOLDER

``replies/`` has five slow kernels, and for each what a model says: what it finds, then a reply that
is wrong, one that cheats, one that does not compile and a good one. A server on this machine gives
them in this order to ``tilewright optimize``, which has to refuse three and keep the fourth. With
``--direct`` each candidate is verified against its kernel without the loop. OUT gets
``written_replies.md``, ``written_replies.json`` and each run's result. Exit code 1 unless all came
out as they should: on a device that can time, the good one of attention at least 5 times as fast as
the original and the others at least twice, by the lower end of the interval.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "models"))

from scripted_server import Answer, Request, Script, serve  # noqa: E402

from tilewright.agents import optimizer  # noqa: E402
from tilewright.agents.briefing import Briefing  # noqa: E402
from tilewright.agents.model import Unusable  # noqa: E402
from tilewright.cli.judging import Subject, judge  # noqa: E402
from tilewright.devices.model import Device  # noqa: E402
from tilewright.devices.opening import open_device  # noqa: E402
from tilewright.evaluation.compile_step import spill_bytes  # noqa: E402
from tilewright.problems.loading import load_problem  # noqa: E402
from tilewright.serialize import dump  # noqa: E402
from tilewright.strategies.verdict import reports_of  # noqa: E402
from tilewright.targets.registry import parse_target  # noqa: E402

REPLIES = ROOT / "benchmarks" / "replies"
KERNELS = ("attention", "softmax", "linear_gelu", "rms_norm", "swiglu")
KINDS = ("wrong", "cheat", "broken", "good")
"""In the order in which the loop gets them."""
GAINS: Mapping[str, float] = {"attention": 5.0}
_GAIN = 2.0
_SAID_ENOUGH = "I have no further change to propose.\n"
_ORDER = (
    '```json\n{"order": ["algorithmic"], "skip": [], "why": "The algorithm comes first."}\n```\n'
)
_SETTINGS = """\
[tool.tilewright.models]
cache = false

[tool.tilewright.models.roles]
analyzer = {models = ["analyzer"]}
planner = {models = ["planner"]}
extractor = {models = ["extractor"]}
"""
_LONGEST = 160
_GRACE_S = 20.0


def main() -> int:
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    rows: list[dict[str, Any]] = []
    # A noise floor is kept for the kernels that follow; runs and replies of earlier times are not.
    with tempfile.TemporaryDirectory(prefix="written-replies-") as scratch:
        os.environ["TILEWRIGHT_HOME"] = str(options.home or Path(scratch) / "home")
        for row in _direct_rows(options) if options.direct else _loop_rows(options, Path(scratch)):
            rows.append(row)
            _keep(rows, options)
            print(json.dumps(row), flush=True)
    print(table(rows))
    print(f"{time.monotonic() - began:.0f} s")
    return 0 if rows and all(row["as_wanted"] for row in rows) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--target", help="chip to compile for; by default the device's own")
    parser.add_argument("--only", type=_names, default=KERNELS, help="kernels, with commas between")
    parser.add_argument("--direct", action="store_true", help="verify candidates without the loop")
    parser.add_argument("--limit-s", type=float, default=900.0, help="begin nothing after that")
    parser.add_argument("--out", type=Path, default=Path("build/written_replies"))
    parser.add_argument("--home", type=Path, help="state of Tilewright; by default a new one")
    return parser.parse_args()


def _names(given: str) -> tuple[str, ...]:
    names = tuple(given.split(","))
    if unknown := set(names) - set(KERNELS):
        raise argparse.ArgumentTypeError(f"no kernel is named {', '.join(sorted(unknown))}")
    return names


def _keep(rows: Sequence[Mapping[str, Any]], options: argparse.Namespace) -> None:
    name = "direct" if options.direct else "written_replies"
    (options.out / f"{name}.json").write_text(json.dumps(rows, indent=1), "utf-8")
    (options.out / f"{name}.md").write_text(table(rows) + "\n", "utf-8")


def reply(name: str, kind: str) -> str:
    """What the model says."""
    return (REPLIES / name / f"{kind}.md").read_text("utf-8")


def candidate(name: str, kind: str) -> str | Unusable:
    """What a reply makes of its kernel."""
    file = REPLIES / f"{name}.py"
    text = file.read_text("utf-8")
    entry = load_problem(file.with_suffix(".yaml"), file).entry
    found = optimizer.parse(reply(name, kind), Briefing(file.name, text, text, entry=entry))
    return found if isinstance(found, Unusable) else found.text


def script(name: str) -> Script:
    """Answers by role, which the model's name says; the optimizer's replies in their order."""
    said = {"analyzer": reply(name, "analysis"), "planner": _ORDER}
    left = iter([reply(name, kind) for kind in KINDS])
    lock = threading.Lock()

    def answer(request: Request, _number: int) -> Answer:
        role = request.body["model"]
        if role == "optimizer":
            with lock:
                return Answer(next(left, _SAID_ENOUGH))
        return Answer(said.get(role, _SAID_ENOUGH))

    return answer


def _loop_rows(options: argparse.Namespace, scratch: Path) -> Iterator[dict[str, Any]]:
    """Each kernel's run of the loop."""
    ends = time.monotonic() + options.limit_s
    for name in options.only:
        left = ends - time.monotonic()
        if left <= 0:
            yield _missing(name, f"left out, as {options.limit_s:.0f} s are over")
            continue
        began = time.monotonic()
        work = scratch / name
        work.mkdir()
        (work / "pyproject.toml").write_text(_SETTINGS, "utf-8")
        for file in REPLIES.glob(f"{name}.*"):
            (work / file.name).write_bytes(file.read_bytes())
        with serve(script(name), ("analyzer", "planner", "optimizer", "extractor")) as server:
            result = _optimized(work / f"{name}.py", server.base_url, options, left)
            requests = len(server.completions)
        if isinstance(result, str):
            yield _missing(name, result)
            continue
        (options.out / f"{name}.json").write_text(json.dumps(result, indent=1), "utf-8")
        yield {**loop_row(name, result), "requests": requests, "seconds": _since(began)}


def _optimized(
    file: Path, base_url: str, options: argparse.Namespace, limit_s: float
) -> dict[str, Any] | str:
    """The result of a run of the command; a sentence where there is none."""
    command = [sys.executable, "-m", "tilewright", "optimize", str(file), "--model", "optimizer"]
    command += ["--device", options.device, "--budget", str(len(KINDS)), "--format", "json"]
    command += ["--target", options.target] if options.target else []
    engine = os.pathsep.join(filter(None, (str(ROOT / "engine"), os.environ.get("PYTHONPATH"))))
    given = {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "written-in-advance"}
    environment = {**os.environ, **given, "PYTHONPATH": engine}
    process = subprocess.Popen(
        command, cwd=file.parent, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            out, err = process.communicate(timeout=_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
    try:
        found: dict[str, Any] = json.loads(out)
    except ValueError:
        return f"no result, exit code {process.returncode}: {err.strip()[-400:]}"
    return found


def loop_row(name: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """What became of each reply, by the first sentence of its trial, and of the whole."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        opening = " ".join(reply(name, kind).split())[:50]
        trial = next((t for t in result["trials"] if _is_of(t, opening)), None)
        found[kind] = {"judged": trial is not None, "kept": False, "reason": "was not tried"}
        if trial is not None:
            found[kind] |= {"kept": trial["kept"], "reason": trial["reason"][:_LONGEST]}
    others = sum(1 for t in result["trials"] if not t["proposer"].startswith("model"))
    speedup = result["speedup"]
    refused = all(found[kind]["judged"] and not found[kind]["kept"] for kind in KINDS[:-1])
    return {
        "name": name,
        "replies": found,
        "other_trials": others,
        "level": result["level"],
        **_figures(speedup),
        "as_wanted": refused and found["good"]["kept"] and _enough(name, result["level"], speedup),
        "notes": result["notes"],
        "models": (result.get("models") or {}).get("spent"),
    }


def _is_of(trial: Mapping[str, Any], opening: str) -> bool:
    by_model = str(trial["proposer"]).startswith("model")
    return by_model and str(trial["rationale"]).startswith(opening)


def _figures(speedup: Mapping[str, Any] | None) -> dict[str, Any]:
    if not speedup:
        return {"speedup": None, "original_us": None, "candidate_us": None}
    return {
        "speedup": [round(float(speedup[key]), 3) for key in ("value", "low", "high")],
        "original_us": round(speedup["original_us"], 1),
        "candidate_us": round(speedup["candidate_us"], 1),
    }


def _enough(name: str, level: str | None, speedup: Mapping[str, Any] | None) -> bool:
    """Whether a good candidate got as far as it should where it was judged."""
    if speedup is None:
        return level == "correct"
    return level == "faster" and float(speedup["low"]) >= GAINS.get(name, _GAIN)


def _missing(name: str, why: str) -> dict[str, Any]:
    return {"name": name, "as_wanted": False, "trouble": why}


def _since(began: float) -> float:
    return round(time.monotonic() - began, 1)


def _direct_rows(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Each candidate's verdict, on one open device; the good ones first."""
    ends = time.monotonic() + options.limit_s
    with closing(open_device(options.device)) as device:
        wanted = [(name, kind) for kind in reversed(KINDS) for name in options.only]
        for name, kind in wanted:
            label = f"{name} {kind}"
            if time.monotonic() >= ends:
                yield _missing(label, f"left out, as {options.limit_s:.0f} s are over")
                continue
            began = time.monotonic()
            row = verified(name, kind, device, options.target)
            yield {**row, "name": label, "seconds": _since(began)}


def verified(name: str, kind: str, device: Device, target_id: str | None) -> dict[str, Any]:
    """One candidate's verdict, as ``tilewright verify`` gives it."""
    text = candidate(name, kind)
    if isinstance(text, Unusable):
        return {"as_wanted": kind != "good", "level": "unusable", "reason": text.message}
    file = REPLIES / f"{name}.py"
    problem = load_problem(file.with_suffix(".yaml"), file)
    subject = Subject(file.read_text("utf-8"), text, file, file, problem)
    target = parse_target(target_id) if target_id else device.info.target
    evaluation = judge(subject, device, target, secrets.randbits(48)).evaluation
    speedup = dump(evaluation.speedup) if evaluation.speedup else None
    level = evaluation.level.value
    stopped = evaluation.failed or evaluation.error
    good = evaluation.error is None and _enough(name, level, speedup)
    return {
        "as_wanted": good if kind == "good" else level == "rejected",
        "level": level,
        "reason": f"{stopped.step.value}: {stopped.message}"[:_LONGEST] if stopped else "",
        **_figures(speedup),
        "spilled": spill_bytes(reports_of(evaluation)),
        "steps": {step.step.value: round(step.seconds, 1) for step in evaluation.steps},
    }


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as Markdown."""
    head = ("kernel", "reply", "verdict", "against the original", "us", "s", "as it should be")
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for row in rows:
        lines += [f"| {' | '.join(cells)} |" for cells in _cells(row)]
    return "\n".join(lines)


def _cells(row: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for kind, found in row.get("replies", {}).items():
        verdict = f"{'kept' if found['kept'] else 'not kept'}: {found['reason']}"
        yield (row["name"], kind, verdict.replace("|", "/"), "", "", "", "")
    said = row.get("trouble") or row.get("reason") or row.get("level") or "no edit"
    gain = us = ""
    if row.get("speedup"):
        gain = "{:.2f}x [{:.2f}, {:.2f}]".format(*row["speedup"])
        us = f"{row['original_us']} -> {row['candidate_us']}"
    seconds = f"{row['seconds']:.0f}" if "seconds" in row else ""
    good = "yes" if row["as_wanted"] else "no"
    said = " ".join(str(said).replace("|", "/").split())
    yield (row["name"], "", said, gain, us, seconds, good)


if __name__ == "__main__":
    sys.exit(main())
