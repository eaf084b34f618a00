"""What each rewind costs on a GPU, measured twice: which of them teach something.

    python benchmarks/rewinds_gpu.py --device cuda:0 --out FOLDER [--limit-s 210] [--per-file 12]

Good kernels: the examples, the modules of ``benchmarks/modules``, golden files of rewrites, and
files of published packages at their captured launches, where ``build/corpora`` has them. Each
rewind is judged alone in the good text, as ``tilewright memory mine`` does. One that is measured to
be slower is measured once more on other inputs. As a control each file is judged with a comment
added, which must cost nothing. OUT gets ``rewinds.json``, with the entries, and ``rewinds.md``.
Exit code 1 if nothing was judged.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from tilewright.captures.problem import problem_of_captured
from tilewright.devices.model import Device
from tilewright.devices.opening import open_device
from tilewright.errors import TilewrightError
from tilewright.evaluation.model import Evaluation
from tilewright.evaluation.sizing import sized
from tilewright.evaluation.workbench import Workbench
from tilewright.memory.mining import GoodKernel
from tilewright.memory.rewinds import Effect, Rewinding, effect_of
from tilewright.problems.loading import load_problem
from tilewright.problems.model import Problem, small_category
from tilewright.rewrites.rewinds import all_rewinds
from tilewright.scratch import scratch_folder
from tilewright.serialize import dump
from tilewright.targets.model import Target
from tilewright.targets.registry import parse_target

ROOT = Path(__file__).resolve().parents[1]
CAPTURED = ROOT / "tests" / "corpora" / "captured"
SPELLINGS = {
    "sigmoid_slow_exp",
    "unstable_tanh",
    "dot_accumulator",
    "device_option_on_wrong_backend",
}
"""Rewinds that only spell the same computation otherwise; most should cost nothing."""
GOLDEN: Mapping[str, Mapping[str, Sequence[int]]] = {
    "group_programs_lambda": {"a": (2048, 2048), "b": (2048, 2048)},
    "hoist_load_beside_store": {"x": (2048, 4096)},
    "single_pass_row_two_pass_variance": {"x": (8192, 1024)},
    "add_autotune_elementwise": {"x": (1 << 24,), "y": (1 << 24,)},
    "reuse_load_branch": {"x": (512,)},
    "stable_tanh_named": {"x": (1 << 22,)},
    "sigmoid_swish": {"x": (1 << 22,)},
    "constexpr_stride_fresh": {},
}
"""Golden files of rewrites by name, with the extents of what ``run`` takes; empty: left out."""
_HALF = {"group_programs_lambda"}
_LIGER = (
    "geglu", "swiglu", "rms_norm", "layer_norm", "softmax", "cross_entropy", "rope", "group_norm",
    "jsd", "kl_div", "tvd", "dyt",
)  # fmt: skip


@dataclass(frozen=True)
class Good:
    """A file that is taken for good, and what it runs on."""

    name: str
    corpus: str
    path: Path
    problem: Problem


def files(folder: Path) -> Iterator[Good]:
    """All good files, those of each corpus in turn, so that a limit cuts all of them alike."""
    corpora = [list(_own()), list(_golden(folder)), list(_published())]
    for number in range(max(map(len, corpora))):
        yield from (corpus[number] for corpus in corpora if number < len(corpus))


def _own() -> Iterator[Good]:
    for top in ("examples", "benchmarks/modules"):
        for spec in sorted((ROOT / top).glob("*.yaml")):
            source = spec.with_suffix(".py")
            yield Good(source.stem, top.rpartition("/")[2], source, load_problem(spec, source))


def _golden(folder: Path) -> Iterator[Good]:
    """Golden files of rewrites, each with a spec that is written for it."""
    for name, inputs in GOLDEN.items():
        if not inputs:
            continue
        text = (ROOT / "tests" / "rewrites" / "golden" / f"{name}.after.py").read_text("utf-8")
        source = folder / f"{name}.py"
        source.write_text(text, "utf-8")
        spec = source.with_suffix(".yaml")
        spec.write_text(yaml.safe_dump(_spec(name, inputs)), "utf-8")
        yield Good(name, "golden", source, load_problem(spec, source))


def _spec(name: str, inputs: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    dims = {f"{one}_{at}": size for one, shape in inputs.items() for at, size in enumerate(shape)}
    small = {dim: min(size, 64) if len(dims) > 1 else min(size, 512) for dim, size in dims.items()}
    params = {"params": list(inputs), "dtype": "float16" if name in _HALF else "float32"}
    tolerance = {"rtol": 1e-2, "atol": 1e-2}
    return {
        "name": name,
        "entry": "run",
        "inputs": {
            one: {"shape": [f"{one}_{at}" for at in range(len(shape))], "dtype": "inherit"}
            for one, shape in inputs.items()
        },
        "default_variant": "bench-gpu",
        "ci": [{**params, "dims": small, **tolerance}],
        "bench-gpu": [{**params, "dims": dims, **tolerance}],
    }


def _published() -> Iterator[Good]:
    """Files of liger_kernel at their captured launches; none where it is not installed."""
    folder = ROOT / "build" / "corpora" / "liger_kernel" / "ops"
    archive = CAPTURED / "liger_kernel.jsonl.gz"
    for name in _LIGER:
        source = folder / f"{name}.py"
        if source.is_file():
            found = problem_of_captured(source, source.read_text("utf-8"), archive)
            if found.problem is not None:
                yield Good(name, "liger_kernel", source, found.problem)


@dataclass(frozen=True)
class Limits:
    """When to stop: seconds in all, sites of each file, sites of each issue over all files.

    ``small``: time the cases that are meant for checks, to rehearse without a GPU.
    """

    seconds: float
    per_file: int
    per_issue: int
    small: bool = False


def judged(
    goods: Sequence[Good], device: Device, target: Target, limits: Limits
) -> Iterator[dict[str, Any]]:
    """A row for each rewind and each control, as long as time is left."""
    began = time.monotonic()
    counts: Counter[str] = Counter()
    for good in goods:
        if time.monotonic() - began > limits.seconds:
            yield {"file": good.name, "corpus": good.corpus, "effect": "left out"}
            continue
        try:
            for row in _of_file(good, device, target, limits, counts):
                counts[row["issue"]] += 1
                yield row
                if time.monotonic() - began > limits.seconds:
                    break
        except TilewrightError as error:
            yield {
                "file": good.name, "corpus": good.corpus, "effect": "broken", "reason": str(error),
            }  # fmt: skip


def _of_file(
    good: Good, device: Device, target: Target, limits: Limits, counts: Counter[str]
) -> Iterator[dict[str, Any]]:
    text = good.path.read_text("utf-8")
    named = {"file": good.name, "corpus": good.corpus}
    with scratch_folder() as scratch:
        problem = sized(good.problem, device, good.path, text) or good.problem
        if limits.small and (small := small_category(problem.cases)) is not None:
            problem = replace(problem, default_category=small)
        kernels = [
            GoodKernel(
                text,
                good.path,
                Workbench(device, problem, good.path, scratch, secrets.randbits(48)),
                target,
            )
            for _ in range(2)
        ]
        control = kernels[0].judge(f"{text.rstrip()}\n# A comment costs nothing.\n")
        yield {**named, "issue": "control", **_measured(control)}
        created = datetime.now(UTC).isoformat(timespec="seconds")
        enough = {issue for issue, count in counts.items() if count >= limits.per_issue}
        for one in kernels[0].rewound(limits.per_file, created, enough):
            row = {**named, **_rewound(one)}
            if one.effect is Effect.SLOWER:
                row["again"] = _measured(kernels[1].judge(one.site.rewound.text))
            yield row


def _rewound(one: Rewinding) -> dict[str, Any]:
    return {
        "issue": one.site.rewind.issue,
        "kernel": one.site.kernel,
        "line": one.site.rewound.line,
        "form": one.site.rewound.form,
        **_measured(one.evaluation),
        "entry": dump(one.entry) if one.entry is not None else None,
    }


def _measured(evaluation: Evaluation) -> dict[str, Any]:
    effect, reason = effect_of(evaluation)
    speedup = evaluation.speedup
    return {
        "effect": effect.value,
        "reason": reason,
        "speedup": dump(speedup) if speedup is not None else None,
        "seconds": round(sum(step.seconds for step in evaluation.steps), 2),
    }


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The effects by issue, as Markdown, with the shares that are claimed."""
    by_issue: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if "issue" in row:
            by_issue[row["issue"]].append(row)
    lines = [
        "| Issue put in | judged | slower | again slower | no effect | faster | refused "
        "| no verdict | cost when slower |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for issue in ["control", *(rewind.issue for rewind in all_rewinds())]:
        lines.append(_line(issue, by_issue.get(issue, [])))
    return "\n".join([*lines, "", *_claims(rows)])


def _line(issue: str, rows: Sequence[Mapping[str, Any]]) -> str:
    def count(effect: Effect) -> int:
        return sum(row["effect"] == effect.value for row in rows)

    slower = [row for row in rows if row["effect"] == Effect.SLOWER.value]
    again = sum(_again_slower(row) for row in slower)
    costs = sorted(1 / row["speedup"]["value"] for row in slower)
    told = f"{costs[0]:.2f}x to {costs[-1]:.2f}x" if costs else "-"
    figures = (
        len(rows), len(slower), again, count(Effect.NONE), count(Effect.FASTER),
        count(Effect.REFUSED), count(Effect.UNKNOWN),
    )  # fmt: skip
    return f"| `{issue}` | {' | '.join(map(str, figures))} | {told} |"


def _again_slower(row: Mapping[str, Any]) -> bool:
    return bool(row.get("again", {}).get("effect") == Effect.SLOWER.value)


def _claims(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    rewinds = [row for row in rows if row.get("issue") not in (None, "control")]
    timed = [row for row in rewinds if row["speedup"] is not None]
    slower = [row for row in timed if row["effect"] == Effect.SLOWER.value]
    again = sum(map(_again_slower, slower))
    controls = [row for row in rows if row.get("issue") == "control" and row["speedup"]]
    wrong = sum(row["effect"] == Effect.SLOWER.value for row in controls)
    spelled = [row for row in timed if row["issue"] in SPELLINGS]
    cheap = sum(row["effect"] != Effect.SLOWER.value for row in spelled)
    yield _share("Kept entries that were slower once more", again, len(slower), 0.95)
    yield _share("Timed rewinds without a measurable cost", len(timed) - len(slower), len(timed))
    yield _share("Controls (a comment added) that were taken for slower", wrong, len(controls))
    yield _share("Rewinds of spellings without a measurable cost", cheap, len(spelled), 0.5)
    left = sorted({row["file"] for row in rows if row["effect"] in ("left out", "broken")})
    yield f"- Files left out or broken: {', '.join(left) or 'none'}."


def _share(what: str, count: int, of: int, wanted: float | None = None) -> str:
    if not of:
        return f"- {what}: none to count."
    asked = "" if wanted is None else f" (asked for {wanted:.0%}: {_reached(count / of >= wanted)})"
    return f"- {what}: {count} of {of}, {count / of:.0%}{asked}."


def _reached(yes: bool) -> str:
    return "reached" if yes else "not reached"


def run(
    device: Device, target: Target, limits: Limits, out: Path, names: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Judge everything; what is found so far is in ``out`` at every moment."""
    out.mkdir(parents=True, exist_ok=True)
    with scratch_folder() as sources:
        goods = [one for one in files(sources) if not names or one.name in names]
        return _kept(judged(goods, device, target, limits), device, out)


def _kept(found: Iterable[dict[str, Any]], device: Device, out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for row in found:
        rows.append(row)
        told = {
            name: value for name, value in row.items() if name not in ("entry", "speedup", "again")
        }
        print(json.dumps(told), flush=True)
        value = {"device": dump(device.info), "rows": rows}
        (out / "rewinds.json").write_text(json.dumps(value, indent=1), "utf-8")
        (out / "rewinds.md").write_text(table(rows) + "\n", "utf-8")
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="files; all of them where none is named")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--target", default="", help="by default the device's own")
    parser.add_argument("--out", type=Path, default=Path("build/rewinds"))
    parser.add_argument("--limit-s", type=float, default=210.0, help="begin nothing after that")
    parser.add_argument("--per-file", type=int, default=12, help="most rewinds of a file")
    parser.add_argument("--per-issue", type=int, default=14, help="most rewinds of an issue")
    options = parser.parse_args()
    with closing(open_device(options.device)) as device:
        target = parse_target(options.target) if options.target else device.info.target
        if not device.info.can_time or target is None:
            print(f"{device.info.name} cannot time a kernel: nothing is judged", file=sys.stderr)
            return 1
        limits = Limits(options.limit_s, options.per_file, options.per_issue)
        rows = run(device, target, limits, options.out, options.names)
    print(table(rows))
    return 0 if any(row.get("speedup") for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
