"""Faults put into NKI kernels: which change results, and what finds them.

    python benchmarks/nki_mutants.py run > benchmarks/nki_mutants.json
    python benchmarks/nki_mutants.py table

Each mutant is one change of the syntax tree of a kernel of ``examples/nki`` or of
``nki_mutants_kernels.py``. It *changes results* if it stops, if any output bit differs by more than
2e-6 of the largest on any inputs in either order of affine loops, or if it takes the order away
from a loop that needs it. The simulator's trial finds it by a fault, or by an output outside the
kernel's tolerance on the inputs of the trial; the rules find it by an error of correctness that the
kernel does not have. The inputs that decide what changes results are more than the trial's.
"""

import ast
import importlib.util
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from nki_mutations import Change, mutations

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.source import parse_module
from tilewright.worker.nki import kernels, modules
from tilewright.worker.nki.settings import KernelFault, Settings, Simulated

HERE = Path(__file__).parent
STORED = HERE / "nki_mutants.json"
EXAMPLES = HERE.parent / "examples" / "nki"
OWN = HERE / "nki_mutants_kernels.py"
OWN_SHAPES: Mapping[str, Sequence[tuple[int, ...]]] = {
    "masked_step": ((200, 300), (200, 300)),
    "tiled_softmax": ((128, 2048),),
    "turned_product": ((256, 256), (256, 600)),
    "running_state": ((128, 1024), (128, 1024)),
}
CHANGED = 2e-6
Arrays = list[np.ndarray]
Answers = dict[tuple[str, int], Arrays]


def called(kernel: Callable[..., Any], *inputs: np.ndarray) -> Any:
    """The host code of a kernel that takes its inputs as they are."""
    return kernel(*inputs)


@dataclass(frozen=True)
class Case:
    """A kernel with the inputs that it takes.

    Attributes:
        shapes: of its arguments.
        positive: arguments that are not negative.
        host: calls the kernel with the inputs.
    """

    name: str
    text: str
    entry: str
    shapes: Sequence[tuple[int, ...]]
    positive: tuple[bool, ...]
    rtol: float
    atol: float
    host: Callable[..., Any] = called


@dataclass(frozen=True)
class Mutant:
    """One changed kernel, and what found it.

    Attributes:
        kind: of fault that was put in.
        found_by: "rule", "fault", "values" or a join of them; "" for none.
        details: identifiers of rules, kinds of faults.
    """

    kernel: str
    kind: str
    line: int
    change: str
    changes_results: bool
    found_by: str
    details: str


# --- kernels and inputs --------------------------------------------------------------------------


def cases() -> Iterator[Case]:
    """The kernels of the examples in both flavours, fast and slow, then our own."""
    for path in sorted(EXAMPLES.glob("*.yaml")):
        spec = yaml.safe_load(path.read_text())
        ci = spec["ci"][0]
        sizes = ci["dims"][0] if isinstance(ci["dims"], list) else ci["dims"]
        inputs = [spec["inputs"][name] for name in ci["params"]]
        shapes: Sequence[tuple[int, ...]] = [
            tuple(extent(n, sizes) for n in i["shape"]) for i in inputs
        ]
        positive = tuple("abs" in i.get("inits", ()) for i in inputs)
        for file in sorted(EXAMPLES.glob(f"nki?/{path.stem}*.py")):
            if file.stem not in (path.stem, f"{path.stem}_slow"):
                continue
            yield Case(
                f"{file.parent.name}/{file.stem}", file.read_text(), spec["entry"], shapes,
                positive, float(ci["rtol"]), float(ci["atol"]),
            )  # fmt: skip
    for entry, shapes in OWN_SHAPES.items():
        yield Case(
            f"own/{entry}",
            OWN.read_text(),
            entry,
            tuple(shapes),
            (False,) * len(shapes),
            1e-4,
            1e-5,
        )


def extent(stated: Any, sizes: Mapping[str, int]) -> int:
    """A number, a name, or a name divided by a number."""
    name, _, divisor = str(stated).partition("//")
    return int(sizes.get(name, name)) // int(divisor or 1)


def inputs_of(case: Case, family: str, seed: int) -> Arrays:
    """Inputs of a family: normal, large, small, one constant a row, or one spike."""
    random = np.random.default_rng(seed)
    found = []
    for shape, positive in zip(case.shapes, case.positive, strict=True):
        values = random.normal(size=shape)
        if family == "large":
            values = values * 20
        elif family == "small":
            values = values * 1e-3
        elif family == "rows":
            values = np.broadcast_to(
                random.normal(size=(shape[0], *(1,) * (len(shape) - 1))), shape
            )
        elif family == "spike":
            values = np.where(random.random(shape) < 1e-3, 50.0, values * 0.1)
        found.append(np.abs(values).astype(np.float32) if positive else values.astype(np.float32))
    return found


TRIAL = (("normal", 1), ("large", 2), ("small", 3), ("rows", 4))
WIDER = (*TRIAL, ("spike", 5), ("normal", 6), ("large", 7), ("spike", 8))


# --- running -------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """One run: outputs, or None where it stopped, and the kinds of its errors."""

    outputs: list[np.ndarray] | None
    faults: Sequence[str]


class Runner:
    """Runs kernels of texts on the simulator."""

    def __init__(self) -> None:
        self.launches: list[Simulated] = []
        self.runs = kernels.Runs(observe=self.launches.append)
        modules.install(self.runs, replace=True)
        self.folder = Path(tempfile.mkdtemp())
        self.count = 0

    def load(self, case: Case) -> Callable[..., Any]:
        """The host code of a case with its kernel."""
        self.count += 1
        path = self.folder / f"mutant{self.count}.py"
        path.write_text(case.text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise ImportError(path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return partial(case.host, getattr(module, case.entry))

    def run(self, kernel: Callable[..., Any], inputs: Arrays, reverse: bool) -> Outcome:
        self.launches.clear()
        self.runs.settings = Settings(reverse=reverse, record=False)
        try:
            returned = kernel(*inputs)
        except KernelFault:
            return Outcome(None, sorted({f.kind for f in self.launches[-1].errors}))
        outputs = list(returned) if isinstance(returned, tuple) else [returned]
        kinds = sorted({f.kind for launch in self.launches for f in launch.errors})
        return Outcome([np.asarray(o, dtype=np.float64) for o in outputs], kinds)


def differs(got: list[np.ndarray], want: list[np.ndarray], rtol: float, atol: float) -> bool:
    return len(got) != len(want) or any(
        g.shape != w.shape or not np.allclose(g, w, rtol=rtol, atol=atol, equal_nan=True)
        for g, w in zip(got, want, strict=True)
    )


def changes(got: list[np.ndarray], want: list[np.ndarray]) -> bool:
    """Whether any output differs by more than another order of sums may make."""
    return any(
        g.shape != w.shape
        or not np.allclose(g, w, rtol=0, atol=CHANGED * float(np.max(np.abs(w))), equal_nan=True)
        for g, w in zip(got, want, strict=True)
    )


# --- the trial -----------------------------------------------------------------------------------


def rule_ids(text: str, path: str) -> Counter[str]:
    """Errors of correctness that the rules find in a text."""
    found = analyze(parse_module(text, path), AnalysisContext())
    return Counter(i.id for i in found if i.stage == "correctness")


def judged(runner: Runner, case: Case, change: Change, known: Counter[str], whole: Any) -> Mutant:
    """Runs a mutant on all inputs, in both orders of affine loops."""
    kind, line, what, tree = change
    text = ast.unparse(tree)
    kernel = runner.load(replace(case, text=text))
    rules = rule_ids(text, "mutant.py") - known
    faults: set[str] = set()
    altered = kind == "affine where sequential is needed"
    by_values = False
    for family, seed in WIDER:
        inputs = inputs_of(case, family, seed)
        want = whole(family, seed)
        for reverse in (False, True):
            got = runner.run(kernel, inputs, reverse)
            in_trial = (family, seed) in TRIAL
            if in_trial:
                faults |= set(got.faults)
            if got.outputs is None:
                altered = True
                break
            altered = altered or changes(got.outputs, want)
            if in_trial and differs(got.outputs, want, case.rtol, case.atol):
                by_values = True
        if got.outputs is None:
            break
        if altered and (by_values or faults):
            break
    altered = altered or bool(faults)
    found = [
        name for name, held in (("rule", rules), ("fault", faults), ("values", by_values)) if held
    ]
    details = " ".join([*sorted(rules), *sorted(faults)])
    return Mutant(case.name, kind, line, what, altered, "+".join(found), details)


def chosen(changes_of: list[Change], most: int) -> list[Change]:
    """At most so many of a kernel's mutants, spread over kinds and lines."""
    by_kind: dict[str, list[Change]] = {}
    for change in changes_of:
        if change[2] != "unchanged":
            by_kind.setdefault(change[0], []).append(change)
    for found in by_kind.values():
        np.random.default_rng(0).shuffle(found)
    result: list[Change] = []
    while len(result) < most and any(by_kind.values()):
        for kind in sorted(by_kind):
            if by_kind[kind] and len(result) < most:
                result.append(by_kind[kind].pop())
    return result


def one_a_line(records: Iterable[Any]) -> str:
    """A JSON list of dataclasses with a line for each, so that a change of one is one line."""
    return "[\n" + ",\n".join(json.dumps(asdict(one)) for one in records) + "\n]"


def mutants(every: Sequence[Case], most: int) -> Iterator[Mutant]:
    runner = Runner()
    for case in every:
        plain = ast.unparse(ast.parse(case.text))
        kernel = runner.load(replace(case, text=plain))
        answers: Answers = {}

        def whole(
            family: str,
            seed: int,
            case: Case = case,
            kernel: Any = kernel,
            answers: Answers = answers,
        ) -> list[np.ndarray]:
            if (family, seed) not in answers:
                outcome = runner.run(kernel, inputs_of(case, family, seed), False)
                if outcome.outputs is None or outcome.faults:
                    raise ValueError(f"{case.name} has faults: {outcome.faults}")
                answers[family, seed] = outcome.outputs
            return answers[family, seed]

        known = rule_ids(plain, "kernel.py")
        for change in chosen(list(mutations(plain, case.entry)), most):
            yield judged(runner, case, change, known, whole)


def table(found: Sequence[Mutant]) -> str:
    """Kinds of faults, and how many of those that change results each way finds."""
    real = [m for m in found if m.changes_results]
    lines = [
        "| fault | change results | found | by a rule | by a fault of the simulator | by values |",
        "|---|---|---|---|---|---|",
    ]
    for kind in [*sorted({m.kind for m in real}), "all"]:
        rows = [m for m in real if kind in ("all", m.kind)]
        ways = [
            sum(way in m.found_by.split("+") for m in rows) for way in ("rule", "fault", "values")
        ]
        caught = sum(bool(m.found_by) for m in rows)
        lines.append(f"| {kind} | {len(rows)} | {caught} | " + " | ".join(map(str, ways)) + " |")
    missed = [m for m in real if not m.found_by]
    share = 1 - len(missed) / max(1, len(real))
    lines += [
        "",
        f"{len(found)} mutants, {len(real)} change results, {share:.1%} of these found. Not found:",
        *(f"- {m.kernel}: {m.kind}, {m.change}" for m in missed),
    ]
    return "\n".join(lines)


def main(argv: Sequence[str]) -> None:
    if argv[:1] == ["run"]:
        most = int(argv[1]) if len(argv) > 1 else 10
        print(one_a_line(mutants(list(cases()), most)))
    elif argv[:1] == ["table"]:
        print(table([Mutant(**m) for m in json.loads(STORED.read_text())]))
    else:
        print(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
