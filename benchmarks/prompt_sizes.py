"""The sizes of prompts by section, and how much of a prompt the one before begins with.

    python benchmarks/prompt_sizes.py [--runs matmul,softmax] [--json out.json]

Nothing is sent, compiled or run: the kernels are the examples and those of `benchmarks/replies`,
and each stage that has an issue has five tries, with a diff and an observation of usual length.
With ``--runs`` the prompts are those of real runs of ``tilewright optimize`` on examples, in
Triton's interpreter, in front of a scripted model whose tries all fail.
"""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any

from tilewright.agents import optimizer
from tilewright.agents.briefing import Briefing
from tilewright.agents.model import Step
from tilewright.agents.prompt import estimated
from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.knowledge.stages import DEFAULT_ORDER, Stage
from tilewright.problems.loading import load_problem
from tilewright.source import parse_module
from tilewright.strategies.briefing import problem_words
from tilewright.targets.model import Target

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
HOPPER, VERSION = Target("cuda", "90"), (3, 6)
TRIES = 5
OBSERVATION = (
    "Refused at correctness after it passed syntax, structure, compile: ci[0], seed 1: output: 37 "
    "of 8192 elements differ, first at (0, 8155): expected 0.0031, got nan; the last 37 columns "
    "(what is left after whole tiles of 128)\n"
    "Compiled, kernel: 64 registers a thread (48 before), 0 bytes "
    "spilled a thread, 16384 bytes of shared memory of 232448."
)
_HEADING = re.compile(r"^## (\d+)\. (.+)$", re.MULTILINE)

Stages = Sequence[Sequence[str]]
"""The prompts of one kernel: those of each stage, in the order in which they are sent."""


def main() -> None:
    """Print the table of sections, then the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", default="", help="names of examples, separated by commas")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    kernels = recorded(given.runs.split(",")) if given.runs else composed()
    sizes, shares = sizes_of(kernels), shares_of(kernels)
    print("| section | median tokens | most |\n| --- | --- | --- |")
    for name, (middle, most) in sizes.items():
        print(f"| {name} | {middle:,.0f} | {most:,} |")
    print("\n| common prefix | median | least | of |\n| --- | --- | --- | --- |")
    for name, found in shares.items():
        print(f"| {name} | {median(found):.0%} | {min(found):.0%} | {len(found)} |")
    if given.json:
        given.json.write_text(json.dumps({"sizes": sizes, "shares": shares}, indent=1), "utf-8")


# Prompts that are composed, and prompts of runs.


def composed(most: int | None = None) -> list[Stages]:
    """The prompts for the first kernels before anything was compiled or run."""
    specs = (
        *sorted(ROOT.glob("examples/*.yaml")),
        *sorted(ROOT.glob("benchmarks/replies/*.yaml")),
    )
    found: list[Stages] = []
    for known in map(briefing, specs[:most]):
        stages = [s for s in DEFAULT_ORDER if any(i.stage is s for i in known.issues)]
        found.append([tried(known, stage) for stage in stages])
    return found


def briefing(spec: Path) -> Briefing:
    """What is known of a kernel before anything was compiled or run."""
    path = spec.with_suffix(".py")
    text = path.read_text(encoding="utf-8")
    problem = load_problem(spec, path)
    context = AnalysisContext(HOPPER, VERSION)
    return Briefing(
        str(path), text, text, context, problem.entry,
        problem="\n".join(problem_words(problem)),
        issues=analyze(parse_module(text, path.name), context),
    )  # fmt: skip


def tried(known: Briefing, stage: Stage) -> list[str]:
    """The prompts of a stage whose tries all fail."""
    lines = known.text.splitlines()
    changed = [line.replace("BLOCK", "TILE") for line in lines]
    diff = "\n".join(difflib.unified_diff(lines, changed, "a", "b", lineterm="", n=1))
    steps: tuple[Step, ...] = ()
    prompts = []
    for number in range(1, TRIES + 1):
        messages = optimizer.build(known, stage, steps).messages()
        prompts.append("\n".join(message.text for message in messages))
        thought = (
            f"Try {number}: rename the tile and read each row once. The results stay the same."
        )
        steps = (*steps, Step(thought, diff, OBSERVATION))
    return prompts


def recorded(names: Sequence[str]) -> list[Stages]:
    """The optimizer's prompts of one optimization of each example, as the server got them."""
    with tempfile.TemporaryDirectory(prefix="tw-prompts-") as folder:
        return [_recorded(Path(folder), name) for name in names]


def _recorded(folder: Path, kernel: str) -> Stages:
    sys.path.insert(0, str(ROOT / "tests" / "models"))
    from scripted_server import serve_process

    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    log = folder / f"{kernel}.log"
    with serve_process("model_load_replies:at_once", log, {"PYTHONPATH": path}) as server:
        calls = _optimized(folder, kernel, server.base_url)["models"]["calls"]
        asked = server.completions
    sent = [call for call in calls if not call.get("from_cache")]
    pairs = zip(sent, asked, strict=True)
    tries = [(call["stage"], request) for call, request in pairs if call["role"] == "optimizer"]
    return [
        ["\n".join(m["content"] for m in request.messages) for _, request in group]
        for _, group in groupby(tries, key=lambda one: one[0])
    ]


def _optimized(folder: Path, kernel: str, base_url: str) -> Any:
    command = [
        sys.executable, "-m", "tilewright", "optimize", str(ROOT / "examples" / f"{kernel}.py"),
        "--model", "scripted", "--device", "interpreter", "--target", "cuda:90",
        "--format", "json",
    ]  # fmt: skip
    home = str(folder / f"home-{kernel}")  # replies of an earlier run would not be asked for again
    env = {**os.environ, "OPENAI_BASE_URL": base_url, "TILEWRIGHT_HOME": home}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


# Sizes and shares.


def sections(prompt: str) -> Iterator[tuple[str, str]]:
    """The sections of a prompt: ``4 PROBLEM`` and the text."""
    found = list(_HEADING.finditer(prompt))
    ends = [match.start() for match in found[1:]] + [len(prompt)]
    for match, end in zip(found, ends, strict=True):
        yield f"{match[1]} {match[2]}", prompt[match.start() : end]


def sizes_of(kernels: Sequence[Stages]) -> Mapping[str, tuple[float, int]]:
    """Median and largest size of each section, in estimated tokens."""
    tokens: dict[str, list[int]] = defaultdict(list)
    for prompt in (one for stages in kernels for stage in stages for one in stage):
        tokens["all"].append(estimated(prompt))
        for name, text in sections(prompt):
            tokens[name].append(estimated(text))
    order = sorted(tokens, key=lambda name: int(name.split()[0]) if name != "all" else 99)
    return {name: (median(tokens[name]), max(tokens[name])) for name in order}


def shares_of(kernels: Sequence[Stages]) -> Mapping[str, list[float]]:
    """How much of a prompt repeats: of a try after a try, of a stage's tries as a whole (what all
    begin with, over their mean length), and of a stage's first after the last of the one before."""
    shares: dict[str, list[float]] = defaultdict(list)
    for stages in kernels:
        for stage in stages:
            shares["try after try"] += [shared(pair) / len(pair[1]) for pair in pairwise(stage)]
            if len(stage) > 1:
                shares["all tries of a stage"].append(shared(stage) / mean(map(len, stage)))
        for one, other in pairwise(stages):
            shares["stage after stage"].append(shared((one[-1], other[0])) / len(other[0]))
    return shares


def shared(texts: Sequence[str]) -> int:
    """How many characters all texts begin with."""
    first, last = min(texts), max(texts)
    pairs = enumerate(zip(first, last, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(first), len(last)))


if __name__ == "__main__":
    main()
