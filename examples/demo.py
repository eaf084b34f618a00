"""Optimizes the four example kernels, says what came of each, and writes an HTML report.

Runs the command line as a person would: ``tilewright optimize FILE --format events``.
Without a GPU the candidates are compiled for the target and checked in Triton's
interpreter; their speed is then not measured, and the report says so. What is shown in
its place is an estimate for the target, marked as one.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

from tilewright.report.view import ResultView, result_view, write_report

HERE = Path(os.path.relpath(Path(__file__).parent))
# The quickest comes first, so that there is something to read soon.
EXAMPLES = ("softmax", "matmul", "linear_gelu", "layernorm")
ACCURACY = {
    "cuda:90": "on an H200, estimates were 0.85 to 1.09 times the measured time in 8 of 10 lists"
}
"""How far estimates were off where they could be compared; benchmarks/README.md has the lists."""
# A pipe has no width of its own; tables need more than the usual guess of 80.
OUT = Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def main() -> int:
    """Optimize, print, report; 1 if an example could not be optimized."""
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    started, results, failed = time.monotonic(), [], []
    for name in options.examples:
        result = _optimize(HERE / f"{name}.py", options)
        if result is None:
            failed.append(name)
            continue
        (options.out / f"{name}.json").write_text(json.dumps(result, indent=2), encoding="utf-8")
        results.append(result)
        _show(result_view(result), result["diff"])
        if result["changed"] and result["speedup"] is None:
            _show_estimates(HERE / f"{name}.py", result["final"], options.target)
        OUT.print(f"{name}: {time.monotonic() - started:.0f} s since the start")
    created = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    report = write_report(results, options.out / "report.html", "Tilewright demo", created)
    _summary([result_view(result) for result in results])
    OUT.print(f"\nThe same as a page: {report.resolve()}")
    OUT.print(f"{len(results)} examples in {time.monotonic() - started:.0f} s")
    for name in failed:
        OUT.print(f"[red]{name} could not be optimized; its message is above.[/red]")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", nargs="*", default=EXAMPLES, help="names; all by default")
    parser.add_argument("--target", default="cuda:90", help="chip to optimize for")
    parser.add_argument("--device", default="auto", help="where to run: auto, interpreter, cuda:0")
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="folder to write to")
    parser.add_argument("--budget", type=int, help="most candidates to try for one example")
    return parser.parse_args()


def _optimize(path: Path, options: argparse.Namespace) -> Mapping[str, Any] | None:
    argv = [sys.executable, "-m", "tilewright", "optimize", str(path), "--format", "events"]
    argv += ["--target", options.target, "--device", options.device]
    if options.budget:
        argv += ["--budget", str(options.budget)]
    with (
        OUT.status(f"{path.name}: starting") as status,
        subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as run,
    ):
        assert run.stdout is not None
        for event in _events(run.stdout):
            if event["event"] == "progress":
                status.update(f"{path.name}: {event['percent']} % {event['message']}")
            elif event["event"] == "trial":
                _show_trial(path.name, event["trial"])
            elif event["event"] == "result":
                return dict(event["result"])
            elif event["event"] == "error":
                OUT.print(f"{path.name}: {event['message']}", style="red", markup=False)
    return None


def _events(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    return (json.loads(line) for line in lines if line.startswith("{"))


def _show_trial(name: str, trial: Mapping[str, Any]) -> None:
    mark = "kept" if trial["kept"] else "left"
    OUT.print(f"{name} {mark:4} {trial['proposer']}: {trial['reason']}", style="dim", markup=False)


def _show(view: ResultView, diff: str) -> None:
    OUT.print()
    OUT.rule(f"[bold]{Path(view.path).name}[/bold] for {view.target}, checked on {view.device}")
    found = Table("line", "issue", "severity", "message", "now", title="Found", expand=True)
    for issue in view.issues:
        now = "[green]fixed[/green]" if issue.fixed else "[yellow]remains[/yellow]"
        found.add_row(str(issue.line), issue.id, str(issue.severity), issue.message, now)
    OUT.print(found)
    tried = Table("", "tried", "reached", "speed-up", "outcome", title="Tried", expand=True)
    for trial in view.trials:
        kept = "[green]kept[/green] " if trial.kept else "left "
        what = f"{trial.proposer}\n[dim]{trial.stage}[/dim]"
        outcome = kept + trial.outcome.replace("[", r"\[")
        tried.add_row(str(trial.number), what, trial.level, trial.speedup, outcome)
    OUT.print(tried)
    _show_evidence(view)
    if diff:
        OUT.print(Syntax(diff, "diff", background_color="default", word_wrap=True))


def _show_evidence(view: ResultView) -> None:
    if not view.changed:
        OUT.print(Panel("No candidate was accepted; the file stays as it is.", title="Verified"))
        return
    lines = [f"{view.level}: {view.meaning}", f"speed-up: {view.speedup} {view.speedup_terms}"]
    lines += [f"{step.name} {step.status}: {step.message}" for step in view.steps if step.message]
    lines += [f"NOT VERIFIED  {line}" for line in view.unverified]
    OUT.print(Panel("\n".join(lines).replace("[", r"\["), title="Verified"))


def _show_estimates(path: Path, final: str, target: str) -> None:
    """Print the estimated times on the target before and after, and how good estimates are."""
    before = _estimated_us(path, path.read_text(encoding="utf-8"), target)
    after = _estimated_us(path, final, target)
    if before is None or after is None:
        OUT.print(f"Estimated speed on {target}: none, as the compiler's report is not enough.")
        return
    known = ACCURACY.get(target, "no estimate for this chip was ever compared with a measurement")
    OUT.print(
        f"[bold]Estimated, not measured,[/bold] on {target}: {before:,.0f} us before, "
        f"{after:,.0f} us after ({before / after:.1f}x); {known}."
    )


def _estimated_us(path: Path, text: str, target: str) -> float | None:
    """Microseconds of one launch of each kernel, added up; None where one has no estimate."""
    argv = [sys.executable, "-m", "tilewright", "inspect", str(path), "--stdin", "--format", "json"]
    argv += ["--target", target]
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        OUT.print(done.stderr, style="red", markup=False)
        return None
    kernels = json.loads(done.stdout)["kernels"]
    # A tuner would choose the quickest of its configurations.
    each = [[one["us"] for one in kernel["estimates"] if one] for kernel in kernels]
    return sum(map(min, each)) if each and all(each) else None


def _summary(views: Iterable[ResultView]) -> None:
    OUT.print()
    table = Table(
        "example", "found", "fixed", "tried", "kept", "verified as", "speed-up", title="Summary"
    )
    for view in views:
        counts = (len(view.issues), view.fixed, len(view.trials), view.kept_trials)
        level = view.level if view.changed else "unchanged"
        table.add_row(Path(view.path).name, *map(str, counts), level, view.speedup)
    OUT.print(table)


if __name__ == "__main__":
    sys.exit(main())
