"""``tilewright check``: issues found from source, nothing run."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tilewright.analysis.model import AnalysisContext, IssueLevel
from tilewright.captures.folder import Captures, load_captures
from tilewright.captures.model import Found
from tilewright.captures.problem import stale_note
from tilewright.checking import Checked, ConfigurationError, check_text, configuration_for
from tilewright.checking.annotations import annotations, fault_annotation
from tilewright.checking.checked import NOTEBOOK
from tilewright.checking.configuration import (
    Rules,
    UnknownSelectorError,
    default_configuration,
    issues_meant,
)
from tilewright.checking.entry import entry_facts
from tilewright.checking.imported_launches import with_imported_launches
from tilewright.checking.present import (
    as_json,
    as_lines,
    diff_of,
    fault_as_json,
    fix_line,
    summary,
)
from tilewright.checking.remarks import flawed, with_stale
from tilewright.checking.sarif import sarif
from tilewright.checking.uncompiled_files import with_uncompiled
from tilewright.checking.unused_kernels import with_unused
from tilewright.checking.versions import installed_triton, parse_version
from tilewright.cli.boundary import Faults, OwnFaultError
from tilewright.cli.captured import found_in
from tilewright.cli.inputs import read_sources, sources_of, target_of, write_source
from tilewright.cli.model_options import ModelOptions, MostCalls, MostDollars, require_client
from tilewright.cli.options import PathStdin
from tilewright.cli.output import ERR, OUT, Exit, emit_json
from tilewright.collection import set_aside
from tilewright.errors import InputError
from tilewright.models.settings import NONE, Ensemble
from tilewright.problems.loading import problem_or_flaw
from tilewright.problems.model import ProblemError
from tilewright.textfile import MissingError, one_line


class CheckFormat(StrEnum):
    """Output formats: for a person, a program, GitHub, or a code scanning service."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


AsCheckFormat = Annotated[
    CheckFormat, typer.Option("--format", help="text, json, github or sarif.")
]
_Paths = Annotated[list[Path], typer.Argument(help="Python files, notebooks, or folders of them.")]
_Captured = Annotated[
    Path | None, typer.Option(help="Folder of captured launches; gives shapes and types.")
]
_Compiled = Annotated[
    str | None,
    typer.Option(metavar="TARGETS", help="Also compile for these chips, e.g. cuda:90,xpu:pvc."),
]
_Executed = Annotated[
    bool,
    typer.Option(
        "--executed", help="Also run host functions in the interpreter, on drafted inputs."
    ),
]
_Models = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME[,NAME...]",
        help="With --executed: models that write references and calls; needs a key.",
    ),
]
_Names = "An issue id, a stage, or a pattern such as nki_*; may be repeated."


def check(
    paths: _Paths,
    target: Annotated[str | None, typer.Option(help="Chip, e.g. cuda:90.")] = None,
    triton: Annotated[
        str | None,
        typer.Option(help="Triton version, e.g. 3.9. Default: the project's, else the installed."),
    ] = None,
    form: AsCheckFormat = CheckFormat.TEXT,
    select: Annotated[list[str] | None, typer.Option(help=f"Report only these. {_Names}")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help=f"Do not report these. {_Names}")] = None,
    level: Annotated[
        IssueLevel, typer.Option(help="Report what is at least that certain, or costs as much.")
    ] = IssueLevel.HINT,
    fix: Annotated[
        bool, typer.Option("--fix", help="Apply the rewrites that keep results bit for bit.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Print what --fix would change; write nothing.")
    ] = False,
    isolated: Annotated[
        bool, typer.Option("--isolated", help=r"Ignore \[tool.tilewright] in pyproject.toml.")
    ] = False,
    captured: _Captured = None,
    compiled: _Compiled = None,
    executed: _Executed = False,
    model: _Models = NONE,
    max_calls: MostCalls = None,
    max_dollars: MostDollars = None,
    stdin: PathStdin = False,
) -> None:
    """Report issues in kernels from their source.

    Exits with 1 if there are issues, or files that cannot be read.
    With --compiled or --executed, the formats text and github print each file's
    results as soon as it is compiled or run.
    """
    version = parse_version(triton) if triton else None
    chosen = Chosen(
        AnalysisContext(target_of(target), version),
        _issue_selection(select),
        _issue_selection(ignore),
        isolated,
        load_captures(captured) if captured else None,
        level,
    )
    ensemble = _reviewers(paths[0], model, max_calls, max_dollars)
    is_run = compiled is not None or executed
    _refuse_mixed(is_fix=fix or diff, is_run=is_run, stdin=stdin)
    if ensemble is not None and not executed:
        raise InputError("--model writes what --executed compares with; add --executed")
    if diff or fix:
        _fix(paths, chosen, form, write=fix and not diff)
        return
    sources = sources_of(paths, chosen.faults, isolated=isolated, from_stdin=stdin)
    files = _checked_together(sources, chosen, () if stdin else paths)
    files += chosen.specs
    known = iter(files) if compiled is None else _compiled(files, chosen, compiled, captured)
    told = _tell(_executed(known, chosen, ensemble) if executed else known, form, chosen)
    end(told, any(f.issues or f.module.problems or f.notices for f in told), chosen.faults)


def _checked_together(
    sources: Iterable[tuple[Path, str]], chosen: "Chosen", paths: Sequence[Path]
) -> list[Checked]:
    """Each file that can be checked, with what other files say of it."""
    files = [*checked_files(sources, chosen, once=True)]
    return with_unused(with_uncompiled(with_imported_launches(files, chosen.rules)), paths)


def _reviewers(
    path: Path, names: str, max_calls: int | None, max_dollars: float | None
) -> Ensemble | None:
    """The models that review files, None for none; without a name no settings are read for it."""
    if (names, max_calls, max_dollars) == (NONE, None, None):
        return None
    return ModelOptions(names, max_calls, None, max_dollars, None, None, None).ensemble(path)


def _refuse_mixed(*, is_fix: bool, is_run: bool, stdin: bool) -> None:
    """Refuse options that exclude each other."""
    if stdin and (is_fix or is_run):
        raise InputError("--stdin only checks; remove --fix, --diff, --compiled and --executed")
    if is_fix and is_run:
        raise InputError(
            "--fix and --diff apply to issues of the source only; remove --compiled and --executed"
        )


def checked_files(
    sources: Iterable[tuple[Path, str]], chosen: "Chosen", *, once: bool = False
) -> Iterator[Checked]:
    """Each file that can be checked; what is wrong with the others is among the faults.

    Files that are read ``once`` are all kept until the end: there is nothing to collect.
    """
    for path, text in sources:
        with chosen.faults.collect_from(path):
            checked = check_text(text, str(path), *chosen.rules_and_context(path), once=once)
            if once:
                set_aside()
            yield with_stale(checked, path, text)


def end(files: Sequence[object], found: bool, faults: Faults) -> NoReturn:
    """End with what was found; what could not be read or used is named last."""
    for error in faults.all:
        ERR.print(f"tilewright: {one_line(str(error))}")
    if any(isinstance(error, OwnFaultError) for error in faults.all):
        raise typer.Exit(Exit.INTERNAL)
    is_misused = any(isinstance(e, ConfigurationError | MissingError) for e in faults.all)
    if is_misused or (faults.all and not files):
        raise typer.Exit(Exit.USAGE)
    raise typer.Exit(Exit.FINDINGS if found or faults.all else Exit.DONE)


def _compiled(
    files: Sequence[Checked], chosen: "Chosen", targets: str, captured: Path | None
) -> Iterator[Checked]:
    """The files with what compiling them shows, one by one as they are compiled."""
    # Compilers are loaded where they are asked for.
    from tilewright.cli.compile_issues import targets_of, with_compiled

    wanted = targets_of(targets)
    launches = (load_captures(captured), captured) if captured else None
    for number, each in enumerate(files, 1):
        path = Path(each.module.path)
        far = f" ({number} of {len(files)})" if len(files) > 1 else ""
        found = each
        with chosen.faults.collect_from(path):
            found = with_compiled(
                each, path, chosen.rules_and_context(path)[0], wanted, launches, far
            )
        yield found


def _executed(
    files: Iterable[Checked], chosen: "Chosen", models: Ensemble | None
) -> Iterator[Checked]:
    """The files with what running their host functions shows, one by one as they are run."""
    # What runs them is loaded where it is asked for.
    from tilewright.cli.executed_issues import Reviewers, with_executed

    if models is not None:
        require_client()
    with ExitStack() as stack:
        reviewers = stack.enter_context(closing(Reviewers(models))) if models else None
        for each in files:
            path = Path(each.module.path)
            found = each
            with chosen.faults.collect_from(path):
                found = with_executed(each, path, chosen.rules_and_context(path)[0], reviewers)
            yield found


class Chosen:
    """Options of the command line; they go before what the project sets."""

    def __init__(
        self,
        context: AnalysisContext,
        select: frozenset[str] | None,
        ignore: frozenset[str] | None,
        isolated: bool,
        captures: Captures | None,
        level: IssueLevel = IssueLevel.HINT,
    ) -> None:
        self.level = level
        self._captures = captures
        self._context = context
        self._select = select
        self._ignore = ignore or frozenset()
        self.isolated = isolated
        self.stale: dict[str, None] = {}
        self._flaws: dict[str, ProblemError] = {}
        self.faults = Faults()

    def rules(self, path: Path) -> Rules:
        """Rules of one file."""
        return self.rules_and_context(path)[0]

    def rules_and_context(self, path: Path) -> tuple[Rules, AnalysisContext]:
        """Rules and context of one file; its problem's spec says what the host is called with."""
        found = default_configuration()
        if not self.isolated:
            with self.faults.collect_from(path):
                found = configuration_for(path)
        rules = found.rules_for(path)
        issues = (self._select or rules.issues) - self._ignore
        entry = None
        with self.faults.collect_from(path):
            problem, flaw = problem_or_flaw(path)
            if flaw is not None:
                self._flaws[str(flaw)] = flaw
            entry = entry_facts(problem) if problem is not None else None
        target = self._context.target or (problem.target if problem is not None else None)
        version = rules.triton or installed_triton()
        found_of = found_in(self._captures, path) if self._captures else Found()
        self.stale.update(dict.fromkeys(stale_note(path, kernel) for kernel in found_of.stale))
        context = replace(self._context, target=target, entry=entry, launches=found_of.launches())
        return replace(rules, issues=issues, triton=version), context

    def anew(self) -> "Chosen":
        """The same options, before anything was found."""
        chosen = self._context, self._select, self._ignore, self.isolated, self._captures
        return Chosen(*chosen, self.level)

    @property
    def specs(self) -> list[Checked]:
        """The specs that could not be used so far, each with what is wrong."""
        return [flawed(flaw) for flaw in self._flaws.values()]


def _issue_selection(names: list[str] | None) -> frozenset[str] | None:
    if not names:
        return None
    try:
        return issues_meant(part.strip() for name in names for part in name.split(","))
    except UnknownSelectorError as error:
        raise InputError(str(error)) from None


def _tell(files: Iterable[Checked], form: CheckFormat, chosen: Chosen) -> Sequence[Checked]:
    """Tell of each file as it comes, where the form is lines; returns the files."""
    lines_of = {CheckFormat.TEXT: as_lines, CheckFormat.GITHUB: annotations}.get(form)
    told = []
    for each in files:
        file = each.at_least(chosen.level)
        told.append(file)
        for line in lines_of(file) if lines_of else ():
            OUT.print(line)
        if lines_of:
            OUT.file.flush()
    faults = chosen.faults.all
    if form is CheckFormat.JSON:
        notes = [*chosen.stale]
        found = [fault_as_json(fault) for fault in faults]
        emit_json({"files": [as_json(f) for f in told], "faults": found, "notes": notes})
    elif form is CheckFormat.SARIF:
        emit_json(sarif(told, Path.cwd(), faults))
    elif form is CheckFormat.GITHUB:
        for fault in faults:
            OUT.print(fault_annotation(fault))
    elif told or not faults:
        OUT.print(summary(told, len(faults)))
    return told


def _fix(paths: list[Path], chosen: Chosen, form: CheckFormat, *, write: bool) -> None:
    """Fix what can be fixed exactly; told on standard error, so that a diff can be piped."""
    left: list[Checked] = []
    fixed = 0
    for path, text in read_sources(paths, chosen.faults, isolated=False):
        with chosen.faults.collect_from(path):
            checked, count = _fixed(path, text, chosen, write=write)
            left.append(checked)
            fixed += count
    left = [file.at_least(chosen.level) for file in (*left, *chosen.specs)]
    if write:
        _tell(left, form, chosen)
    end(left, any(f.issues or f.notices for f in left) if write else fixed > 0, chosen.faults)


def _fixed(path: Path, text: str, chosen: Chosen, *, write: bool) -> tuple[Checked, int]:
    """One file after its fixes, and how many there were."""
    # Rewrites are loaded where they are asked for.
    from tilewright.checking.fixes import fix_text

    name = one_line(str(path))
    if path.suffix == NOTEBOOK:
        ERR.print(f"{name}: a notebook is checked and not fixed")
        return check_text(text, str(path), *chosen.rules_and_context(path)), 0
    result = fix_text(text, str(path), *chosen.rules_and_context(path))
    for done in result.fixes:
        ERR.print(fix_line(name, done))
    if result.fixes and write:
        write_source(path, result.text)
    elif result.fixes:
        OUT.print(diff_of(name, text, result.text), end="")
    return result.checked, len(result.fixes)
