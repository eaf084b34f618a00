"""``tilewright optimize``: the whole path, from issues to a verified diff."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tilewright.certificates.files import as_json as file_json
from tilewright.certificates.model import CertificateFile, Edit
from tilewright.checking.configuration import configuration_for
from tilewright.cli import model_options
from tilewright.cli.captured import problem_for
from tilewright.cli.certificate_output import keep
from tilewright.cli.inputs import read_source, with_permissions, write_source
from tilewright.cli.model_options import ModelOptions, limited_ensemble
from tilewright.cli.options import Captured, DeviceName, FileStdin, ProblemSpec, ReportPath
from tilewright.cli.output import ERR, OUT, AsStream, Exit, StreamFormat, answer, emit_event
from tilewright.cli.report_file import check_report, keep_report
from tilewright.cli.session import device_for, stop_on_signal
from tilewright.cli.show import show_diff, show_trials, speedup_line
from tilewright.cli.target import target_for
from tilewright.devices.discovery import start_worker
from tilewright.devices.model import Device, DeviceInfo
from tilewright.errors import InputError
from tilewright.evaluation.certificate_file import certificate_file
from tilewright.evaluation.model import Candidate, Evaluation, StepName
from tilewright.evaluation.sizing import sized
from tilewright.knowledge.stages import Stage
from tilewright.memory.projects import project_of
from tilewright.models.model import Spent
from tilewright.models.settings import NONE, Ensemble
from tilewright.problems.model import Problem
from tilewright.search.configurations import configured
from tilewright.search.spec import StrategySpec
from tilewright.serialize import load
from tilewright.store.store import open_store
from tilewright.strategies.figures import kernel_figures
from tilewright.strategies.first_prompts import dump_prompt, first_prompts
from tilewright.strategies.model import OptimizeResult, Trial
from tilewright.strategies.observer import Observer, Silent, Standing
from tilewright.strategies.optimize import OptimizeRequest
from tilewright.strategies.optimize import optimize as run_optimize
from tilewright.strategies.present import (
    dump_result,
    dump_standing,
    dump_trial,
    gain_words,
    spent_words,
    standing_words,
)

DEFAULT_BUDGET = 64
_LONGEST_RATIONALE = 240
_Chip = Annotated[str | None, typer.Option(help="Chip to optimize for. Default: the device's own.")]
_Proof = Annotated[
    Path | None,
    typer.Option(help="Path for the certificate. Default with --write: next to FILE."),
]
_Strategy = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE.yaml",
        help="How to search: staged (default), beam, grid, auto, the name of a configuration such "
        "as autocomp, or a file.",
    ),
]
_Budget = Annotated[int | None, typer.Option(min=1, help="Most candidates to verify. Default: 64.")]
_NOTE = (
    "nothing was sent; these prompts are about the original text: later ones show what rewrites "
    "and earlier stages made of it, and the analyzer's reply may add stages"
)


def optimize(
    file: Annotated[Path, typer.Argument(help="A Python file with Triton or NKI kernels.")],
    problem: ProblemSpec = None,
    captured: Captured = None,
    target: _Chip = None,
    device: DeviceName = "auto",
    budget: _Budget = None,
    strategy: _Strategy = None,
    model: model_options.Names = NONE,
    max_calls: model_options.MostCalls = None,
    max_tokens: model_options.MostTokens = None,
    max_dollars: model_options.MostDollars = None,
    max_minutes: model_options.MostMinutes = None,
    tries: model_options.Tries = None,
    samples: model_options.Samples = None,
    prompts: model_options.ShowPrompts = False,
    write: Annotated[bool, typer.Option("--write", help="Write the result into FILE.")] = False,
    certificate: _Proof = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print only the diff.")] = False,
    stdin: FileStdin = False,
    report: ReportPath = None,
    form: AsStream = StreamFormat.TEXT,
) -> None:
    """Optimize FILE's kernels and verify every edit.

    The result says how far each edit was verified: parsed, compiled, correct or faster.
    """
    if write and stdin:
        raise InputError("--write and --stdin exclude each other: there is no file to write")
    check_report(report)
    options = ModelOptions(model, max_calls, max_tokens, max_dollars, max_minutes, tries, samples)
    search = _search(strategy, file)
    models = limited_ensemble(options.ensemble(file), search)
    text = read_source(file, from_stdin=stdin)
    spec = with_permissions(problem_for(problem, captured, file, text), file)
    observer = observer_for(form, file, diff=diff)
    observer.progress(0, "starting the interpreter with Triton")
    with stop_on_signal():
        start_worker(device, needed=spec is not None)
        wanted = target_for(target, device, file, text, spec).target
        with device_for(device, wanted) as opened:
            observer.progress(0, f"preparing the run on the {opened.info.name}")
            spec = sized(spec, opened, file, text)
            most = budget or _most_evaluations(search, models)
            chip = wanted or opened.info.target
            request = OptimizeRequest(file, text, spec, chip, most, models, search)
            if prompts:
                show_prompts(request, opened, form)
                raise typer.Exit(Exit.DONE)
            result = _run(request, opened, observer)
            proof = _certificate(result, spec, opened.info, certificate)
    value = _written(result, proof, file, certificate, write=write)
    raise typer.Exit(_answered(value, form, report, diff=diff))


def _answered(
    value: Mapping[str, Any], form: StreamFormat, report: Path | None, *, diff: bool
) -> Exit:
    """Print a result, and the faults of Tilewright's own; the exit code."""
    answer(value, form, lambda v: show_diff(v) if diff else show_result(v))
    keep_report(value["run"], report)
    for message in dict.fromkeys(fault["message"] for fault in value["harness_faults"]):
        ERR.print(f"tilewright: {message}")
    return Exit.USAGE if value["harness_faults"] else Exit.DONE


def _search(strategy: str | None, file: Path) -> StrategySpec:
    """How to search: by the option, else by the project's settings."""
    found = configuration_for(file)
    spec = found.search if strategy is None else configured(strategy, found.search)
    # A folder above may configure the search, but not share the code of a project inside it.
    owner = found.path is not None and project_of(file) == project_of(found.path)
    share = found.search.memory.share and owner
    return spec.model_copy(update={"memory": spec.memory.model_copy(update={"share": share})})


def _most_evaluations(search: StrategySpec, models: Ensemble | None) -> int:
    """The tighter of the limits on evaluations; the default where there is none."""
    limits = (search.budget.evaluations, models.limits.evaluations if models else None)
    return min((one for one in limits if one is not None), default=DEFAULT_BUDGET)


def _written(
    result: OptimizeResult,
    proof: CertificateFile | None,
    file: Path,
    certificate: Path | None,
    *,
    write: bool,
) -> dict[str, Any]:
    """The result as JSON, once what was asked for is written."""
    if write and result.changed:
        write_atomically(file, result.original, result.final)
    value = dump_result(result) | {"certificate_file": file_json(proof) if proof else None}
    if proof is not None and (write or certificate):
        value["notes"].append(keep(proof, file, certificate)[1])
    return value


def _run(request: OptimizeRequest, device: Device, observer: Observer) -> OptimizeResult:
    if request.models is not None:
        model_options.require_client()
    store = open_store()
    try:
        return run_optimize(request, device, store, observer, model_options.connect)
    finally:
        store.close()
        if isinstance(observer, BarObserver):
            observer.close()


def _certificate(
    result: OptimizeResult, spec: Problem | None, info: DeviceInfo, place: Path | None
) -> CertificateFile | None:
    if result.certificate is None or spec is None:
        return None
    texts = (result.original, result.final)
    source = Path(result.path)
    edits = [_edit(trial) for trial in result.edits]
    return certificate_file(result.certificate, texts, spec, info, source, place, edits)


def _edit(trial: Trial) -> Edit:
    rationale = shorten(trial.candidate.rationale, _LONGEST_RATIONALE, placeholder="…")
    return Edit(trial.stage.value, trial.candidate.proposer, rationale)


def write_atomically(path: Path, expected: str, text: str) -> None:
    """Replace a file's text in one step, unless it is no longer ``expected``.

    Raises:
        InputError: the file changed meanwhile; nothing is written.
    """
    if read_source(path) != expected:
        raise InputError("the file changed while it was optimized; nothing written", str(path))
    write_source(path, text)


def show_result(value: dict[str, Any]) -> None:
    """A run's result for a terminal."""
    OUT.print(f"{value['path']}: {len(value['issues'])} issues found")
    show_trials(value["trials"])
    for note in value["notes"]:
        OUT.print(f"note: {note}")
    models = value.get("models")
    if models:
        spent, speedup = load(Spent, models["spent"]), value["speedup"]
        gain = gain_words(spent, speedup["value"]) if speedup else ""
        told = "; ".join(filter(None, (spent_words(spent), gain)))
        OUT.print(f"Models: {told}.")
    if not value["changed"]:
        asked = "" if models else " No language model was used (--model NAME uses one)."
        OUT.print(f"No edit: nothing tried beat the original by evidence.{asked}")
        return
    speedup, estimate = value["speedup"], value["estimate"]
    if estimate is not None:
        told = f"estimated {estimate['words']}; nothing was measured."
        OUT.print(f"Verified: {value['level']}, simulated; {told}")
    elif speedup is None:
        OUT.print(f"Verified: {value['level']}; speed not measured.")
    else:
        promised = value["screened_gain"]
        told = "" if promised is None else f"; screening promised {promised:.2f}x"
        OUT.print(f"Verified: {value['level']}; {speedup_line(speedup)}{told}")
    show_diff(value)


def show_prompts(request: OptimizeRequest, device: Device, form: StreamFormat) -> None:
    """Print the first prompt of each role and stage."""
    shown = [dump_prompt(one) for one in first_prompts(request, device)]
    answer({"prompts": shown, "note": _note(request.strategy)}, form, _print)


def _note(search: StrategySpec) -> str:
    """What the prompts leave out."""
    others = [step for step in search.steps if step != "staged"]
    if not others:
        return _NOTE
    return (
        f"{_NOTE}; they are the prompts of stages: {', '.join(others)} asks for one change of a "
        "text at a time, by what was tried until then"
    )


def _print(value: dict[str, object]) -> None:
    prompts = value["prompts"]
    assert isinstance(prompts, list)
    for number, one in enumerate(prompts, 1):
        stage = f", stage {one['stage']}" if one["stage"] else ""
        OUT.rule(f"prompt {number} of {len(prompts)}: {one['role']}{stage}", align="left")
        for message in one["messages"]:
            OUT.print(f"[{message['role']} message]")
            OUT.print(message["text"])
        sizes = ", ".join(f"{s['name'].lower()} {s['tokens']:,}" for s in one["sections"])
        OUT.print(f"about {one['tokens']:,} tokens: {sizes}")
        for cut in one["cut"]:
            OUT.print(f"left out: {cut}")
    OUT.print(f"note: {value['note']}")


class EventObserver:
    """Reports a run's progress as JSON lines."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def started(self, run: str, *, resumed: bool) -> None:
        emit_event("started", run=run, resumed=resumed)

    def progress(self, percent: int, message: str, standing: Standing | None = None) -> None:
        emit_event("progress", percent=percent, message=message, **dump_standing(standing))

    def original(self, text: str, evaluation: Evaluation) -> None:
        figures = kernel_figures(text, self._path, evaluation)
        emit_event("original", candidate=evaluation.candidate, figures=figures)

    def judging(self, candidate: Candidate, stage: Stage) -> None:
        emit_event(
            "judging", candidate=candidate.hash, parent=candidate.parent, stage=stage.value,
            proposer=candidate.proposer, rationale=candidate.rationale, text=candidate.text,
        )  # fmt: skip

    def step(self, step: StepName) -> None:
        emit_event("step", step=step.value)

    def trial(self, trial: Trial) -> None:
        text = trial.candidate.text
        figures = kernel_figures(text, self._path, trial.evaluation)
        emit_event("trial", trial=dump_trial(trial), figures=figures, text=text)


class BarObserver(Silent):
    """Shows a run's progress on standard error."""

    def __init__(self) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=ERR
        )
        self._task = self._bar.add_task("starting", total=100)

    def started(self, run: str, *, resumed: bool) -> None:
        self._bar.start()
        if resumed:
            self._bar.console.print(f"taking up run {run} where it was interrupted")

    def progress(self, percent: int, message: str, standing: Standing | None = None) -> None:
        said = f"{message}{standing_words(standing)}"
        self._bar.update(self._task, completed=percent, description=said)

    def trial(self, trial: Trial) -> None:
        mark = "kept" if trial.kept else "left"
        if trial.node is not None:
            mark = "best" if trial.kept else "kept" if trial.node.alive else "left"
        self._bar.console.print(
            f"{trial.number:3d} {mark} {trial.candidate.proposer}: {trial.reason}"
        )

    def close(self) -> None:
        self._bar.stop()


def observer_for(form: StreamFormat, file: Path, *, diff: bool) -> Observer:
    """The observer of a command that answers in a format."""
    if form is StreamFormat.EVENTS:
        return EventObserver(file)
    if form is StreamFormat.TEXT and not diff and ERR.is_terminal:
        return BarObserver()
    return Silent()
