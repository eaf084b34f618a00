"""What of the project's claims rests on a GPU, and the command that repeats each of them.

In the order in which they are worth their time on a GPU: what was not seen on one yet comes first.
"""

from __future__ import annotations

from dataclasses import dataclass

PYTHON = "{python}"
OUT = "{out}"
"""In a command: this interpreter; the folder that a step may write to."""


@dataclass(frozen=True)
class Step:
    """One command.

    Attributes:
        feeds: what it shows, and the page that says so.
        seconds: what it takes on one idle H200, as far as that is known; it gets half as many more.
        rehearsal: its smallest form where there is no GPU, which proves nothing of one.
        gpus: how many it needs.
        copies: files that it goes on from, put into its folder first.
    """

    name: str
    command: tuple[str, ...]
    feeds: str
    seconds: float
    rehearsal: tuple[str, ...] = ()
    gpus: int = 1
    copies: tuple[str, ...] = ()


def _script(text: str) -> tuple[str, ...]:
    return (PYTHON, *text.split())


_FAULTS = "benchmarks/faults.py --device cuda:0 --patience-s 1"
_COST = "benchmarks/static_cost/measure.py"
_EVIDENCE = "tests/evidence/judge_all.py"
_SHAPES = "benchmarks/static_cost"

STEPS = (
    Step(
        "written_replies",
        _script(f"benchmarks/written_replies.py --device cuda:0 --limit-s 420 --out {OUT}"),
        "the loop with models on five kernels, by replies written in advance: benchmarks/README.md",
        300,
        _script(
            "benchmarks/written_replies.py --device interpreter --target cuda:90 --only softmax"
            f" --out {OUT}"
        ),
    ),
    Step(
        "slow_spots",
        _script(f"benchmarks/slow_spots/measure.py {OUT}/h200.json --seconds 300"),
        "what the reported forms of lost time cost against their twins: docs/realbugs.md",
        110,
        _script(
            f"benchmarks/slow_spots/measure.py {OUT}/found.json --device interpreter"
            " --only attorch gemlite"
        ),
    ),
    Step(
        "evidence",
        _script(f"{_EVIDENCE} cuda:0 {OUT}/h200.json once"),
        "cheats refused, odd kernels accepted, as far as not judged yet: docs/honesty.md",
        200,
        _script(f"{_EVIDENCE} interpreter {OUT}/interpreter.json once 2/64"),
        copies=("tests/evidence/results/h200.json",),
    ),
    Step(
        "faults",
        (
            *_script(f"{_FAULTS} --times 100 --at-once 5 --limit-s 320 --only"),
            "takes all,floods,hangs,nesting",
        ),
        "a hundred of each fault in a row, nothing left: docs/isolation.md",
        240,
        (
            *_script("benchmarks/faults.py --times 1 --at-once 2 --limit-s 60 --only"),
            "takes all,segfaults",
        ),
    ),
    Step(
        "tests",
        _script("-m pytest -q -m gpu -rfEs --disable-warnings tests/gpu"),
        "what only a GPU can test",
        370,
        _script("-m pytest -q --collect-only -m gpu tests/gpu"),
    ),
    Step(
        "blind_lists",
        _script(
            f"{_COST} {OUT}/blind.json.gz --whole --shapes {_SHAPES}/blind_shapes.json"
            f" --points 1700 --seconds 275 --continue {OUT}/blind.json.gz"
        ),
        "the estimate's order on whole lists of 28 kernels, timed anew: benchmarks/README.md",
        110,
        _script(
            f"{_COST} {OUT}/blind.json.gz --whole --shapes {_SHAPES}/blind_shapes.json"
            f" --points 1700 --no-timing --continue {OUT}/blind.json.gz"
        ),
    ),
    Step(
        "faults_forks",
        (*_script(f"{_FAULTS} --times 100 --at-once 1 --limit-s 280 --only"), "forks without"),
        "the same for forks without end, which take every core: docs/isolation.md",
        290,
    ),
    Step(
        "faults_device",
        (*_script(f"{_FAULTS} --times 100 --at-once 1 --limit-s 300 --only"), "whole device"),
        "a hundred with no device memory left for anybody: docs/isolation.md",
        240,
    ),
    Step(
        "trial_cost",
        _script(
            f"benchmarks/trial_cost.py --device cuda:0 --one-by-one 24 --out {OUT}/trial_cost.json"
        ),
        "what a verdict costs beside a bare loop: docs/trials.md",
        290,
    ),
    Step(
        "timing_trust",
        _script(f"benchmarks/timing_trust.py --device cuda:0 --out {OUT}/trust.json"),
        "false verdicts on identical kernels, gains of 3 % that are found: benchmarks/README.md",
        300,
        _script(f"benchmarks/timing_trust.py --device cpu --selves 1 --tries 1 --out {OUT}/t.json"),
    ),
    Step(
        "profile",
        _script(f"benchmarks/profile_examples.py {OUT} --device cuda:0"),
        "what a profile says of the examples, by clock, trace and counters: docs/profile.md",
        120,
        _script(f"benchmarks/profile_examples.py {OUT} --device interpreter softmax"),
    ),
    Step(
        "several",
        _script(f"benchmarks/several_gpus.py --limit-s 300 --out {OUT}/several.json"),
        "several GPUs as one device, and a GPU over ssh: docs/devices.md",
        330,
        gpus=2,
    ),
    Step(
        "parallel_search",
        _script(f"benchmarks/search_evidence/parallel_search.py compare --out {OUT}/two_gpus.json"),
        "one search on one GPU and on two: docs/search-evidence.md",
        400,
        gpus=2,
    ),
    Step(
        "isolation",
        _script("benchmarks/isolation_probe.py"),
        "what a GPU's driver works under, and how it gets over bad states: docs/isolation.md",
        50,
    ),
    Step(
        "judging",
        _script("benchmarks/judging_trust.py --device cuda"),
        "what the judge of results lets through: docs/correctness.md",
        60,
        _script("benchmarks/judging_trust.py"),
    ),
    Step(
        "examples",
        _script(f"benchmarks/examples_gpu.py --device cuda:0 --json {OUT}/examples.json"),
        "the examples optimized, timed by themselves: README.md, benchmarks/README.md",
        330,
    ),
    Step(
        "layer_lists",
        _script(
            f"{_COST} {OUT}/layers.json.gz --whole --shapes {_SHAPES}/layer_shapes.json"
            f" --seconds 420 --continue {OUT}/layers.json.gz"
        ),
        "the same on 74 lists that nothing is fitted to, timed anew: benchmarks/README.md",
        300,
    ),
    Step(
        "figures",
        _script(f"{_COST} {OUT}/figures.json.gz --figures --points 1000"),
        "registers and memory as Triton reads them from loaded kernels: benchmarks/README.md",
        330,
    ),
    Step(
        "evidence_anew",
        _script(f"{_EVIDENCE} cuda:0 {OUT}/h200.json once"),
        "every cheat and every odd kernel once more: docs/honesty.md",
        600,
    ),
)
