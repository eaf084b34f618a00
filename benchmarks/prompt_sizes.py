"""The sizes of prompts by section, and how much of a prompt the one before begins with.

    python benchmarks/prompt_sizes.py

Nothing is sent, compiled or run. The kernels are the examples and those of `benchmarks/replies`.
Each stage that has an issue has five tries, with a diff and an observation of usual length, and
three samples of the first.
"""

import difflib
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from statistics import median

from tilewright.agents import optimizer
from tilewright.agents.briefing import Briefing
from tilewright.agents.model import Step
from tilewright.agents.prompt import Prompt
from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.knowledge.stages import DEFAULT_ORDER, Stage
from tilewright.problems import load_problem
from tilewright.source import parse_module
from tilewright.strategies.briefing import problem_words
from tilewright.targets.model import Target

ROOT = Path(__file__).parents[1]
HOPPER, VERSION = Target("cuda", "90"), (3, 6)
TRIES, SAMPLES = 5, 3
OBSERVATION = (
    "Refused at correctness after it passed syntax, structure, compile: ci[0], seed 1: output: 37 "
    "of 8192 elements differ, first at (0, 8155): expected 0.0031, got nan; the last 37 columns "
    "(what is left after whole tiles of 128)\n"
    "Compiled, kernel: 64 registers a thread (48 before), 0 bytes "
    "spilled a thread, 16384 bytes of shared memory of 232448."
)


def main() -> None:
    """Print the table of sections, then the shares."""
    tokens: dict[str, list[int]] = defaultdict(list)
    shares: dict[str, list[float]] = defaultdict(list)
    for path in (
        *sorted(ROOT.glob("examples/*.yaml")),
        *sorted(ROOT.glob("benchmarks/replies/*.yaml")),
    ):
        known = briefing(path)
        stages = [s for s in DEFAULT_ORDER if any(i.stage is s for i in known.issues)]
        firsts = [optimizer.build(known, stage) for stage in stages]
        tries = [tried(known, stage) for stage in stages]
        for prompt in (one for several in tries for one in several):
            tokens["all"].append(prompt.tokens)
            for section in prompt.sections:
                tokens[f"{section.number} {section.name}"].append(section.tokens)
        for several in tries:
            shares["try after try"] += [shared(*pair) for pair in pairwise(several)]
            samples = (several[0],) * SAMPLES
            generation = [*samples, *several[1:]]
            shares["stage as a whole"].append(overall(generation))
        shares["stage after stage"] += [shared(*pair) for pair in pairwise(firsts)]
    print("| section | median tokens | most |\n| --- | --- | --- |")
    for name, values in sorted(
        tokens.items(), key=lambda item: (item[0] == "all", _number(item[0]))
    ):
        print(f"| {name} | {median(values):,.0f} | {max(values):,} |")
    print("\n| common prefix | median | least |\n| --- | --- | --- |")
    for name, found in shares.items():
        print(f"| {name} | {100 * median(found):.0f} % | {100 * min(found):.0f} % |")


def _number(name: str) -> int:
    return int(name.partition(" ")[0]) if name[0].isdigit() else 0


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


def tried(known: Briefing, stage: Stage) -> list[Prompt]:
    """The prompts of a stage whose tries all fail."""
    lines = known.text.splitlines()
    changed = [line.replace("BLOCK", "TILE") for line in lines]
    diff = "\n".join(difflib.unified_diff(lines, changed, "a", "b", lineterm="", n=1))
    steps: tuple[Step, ...] = ()
    prompts = []
    for number in range(1, TRIES + 1):
        prompts.append(optimizer.build(known, stage, steps))
        thought = (
            f"Try {number}: rename the tile and read each row once. The results stay the same."
        )
        steps = (*steps, Step(thought, diff, OBSERVATION))
    return prompts


def _text(prompt: Prompt) -> str:
    return "\0".join(message.text for message in prompt.messages())


def _alike(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def shared(one: Prompt, other: Prompt) -> float:
    """How much of the other prompt the first begins with."""
    return _alike(_text(one), _text(other)) / len(_text(other))


def overall(prompts: list[Prompt]) -> float:
    """Of all characters that several prompts have, those that an earlier one begins with."""
    texts = [_text(prompt) for prompt in prompts]
    again = sum(max(_alike(one, text) for one in texts[:n]) for n, text in enumerate(texts) if n)
    return again / sum(map(len, texts[1:]))


if __name__ == "__main__":
    main()
