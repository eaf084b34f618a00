"""``tilewright check``: issues found from source, nothing run."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tilewright.analysis.model import AnalysisContext
from tilewright.captures import Captures, Found, load_captures, stale_note
from tilewright.checking import Checked, check_text, configuration_for
from tilewright.checking.annotations import annotations
from tilewright.checking.checked import NOTEBOOK
from tilewright.checking.configuration import Rules, default_configuration
from tilewright.checking.entry import entry_facts
from tilewright.checking.present import as_json, as_lines, diff_of, fix_line, summary
from tilewright.checking.remarks import flawed, with_stale
from tilewright.checking.sarif import sarif
from tilewright.checking.selectors import UnknownSelectorError, issues_meant
from tilewright.checking.versions import installed_triton, parse_version
from tilewright.cli.captured import found_in
from tilewright.cli.inputs import read_sources, target_of, write_source
from tilewright.cli.output import ERR, OUT, Exit, emit_json
from tilewright.errors import InputError
from tilewright.problems import ProblemError, problem_or_flaw


class CheckFormat(StrEnum):
    """How findings are told: to a person, a program, GitHub, or a code scanning service."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


_Paths = Annotated[list[Path], typer.Argument(help="Python files, notebooks, or folders of them.")]
_Names = "An issue id, a stage, or a pattern such as nki_*; may be repeated."


def check(
    paths: _Paths,
    target: Annotated[str | None, typer.Option(help="Chip, e.g. cuda:90.")] = None,
    triton: Annotated[
        str | None,
        typer.Option(help="Triton version, e.g. 3.9; else the project's, else the installed."),
    ] = None,
    form: Annotated[
        CheckFormat, typer.Option("--format", help="text, json, github or sarif.")
    ] = CheckFormat.TEXT,
    select: Annotated[list[str] | None, typer.Option(help=f"Report only these. {_Names}")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help=f"Leave these out. {_Names}")] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Apply the rewrites that keep every bit of the result.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Print what --fix would change; write nothing.")
    ] = False,
    isolated: Annotated[
        bool, typer.Option("--isolated", help=r"Do not look for \[tool.tilewright].")
    ] = False,
    captured: Annotated[
        Path | None, typer.Option(help="Folder of captured launches, to check with what they say.")
    ] = None,
    compiled: Annotated[
        str | None,
        typer.Option(
            metavar="TARGETS", help="Also compile for these chips and say what that shows: cuda:90."
        ),
    ] = None,
) -> None:
    """Find issues in kernels from their source. Exits with 1 if there are any.

    With --compiled, text and github say what each file shows as soon as it is compiled.
    """
    version = parse_version(triton) if triton else None
    chosen = _Chosen(
        AnalysisContext(target_of(target), version),
        _meant(select),
        _meant(ignore),
        isolated,
        load_captures(captured) if captured else None,
    )
    if diff or fix:
        if compiled is not None:
            raise InputError("--fix and --diff change what the source shows; leave out --compiled")
        _fix(paths, chosen, form, write=fix and not diff)
        return
    texts, unread = read_sources(paths, isolated=isolated)
    files = [
        with_stale(check_text(text, str(path), *chosen.of(path)), path, text)
        for path, text in texts
    ]
    files += chosen.specs
    known = files if compiled is None else _compiled(files, chosen, compiled, captured)
    told = _tell(known, form, [*chosen.stale, *map(str, unread)])
    _end(any(f.issues or f.module.problems or f.notices for f in told), unread)


def _end(found: bool, unread: Sequence[InputError]) -> NoReturn:
    """End with what was found; files of a folder that nobody could read are named last."""
    for error in unread:
        ERR.print(f"tilewright: {error}", markup=False)
    raise typer.Exit(Exit.USAGE if unread else Exit.FINDINGS if found else Exit.DONE)


def _compiled(
    files: Sequence[Checked], chosen: "_Chosen", targets: str, captured: Path | None
) -> Iterator[Checked]:
    """The files with what compiling them shows, one by one as they are compiled."""
    # Compilers are loaded where they are asked for.
    from tilewright.cli.compile_issues import targets_of, with_compiled

    wanted = targets_of(targets)
    launches = (load_captures(captured), captured) if captured else None
    for number, each in enumerate(files, 1):
        path = Path(each.module.path)
        far = f" ({number} of {len(files)})" if len(files) > 1 else ""
        yield with_compiled(each, path, chosen.of(path)[0], wanted, launches, far)


class _Chosen:
    """Options of the command line; they go before what the project sets."""

    def __init__(
        self,
        context: AnalysisContext,
        select: frozenset[str] | None,
        ignore: frozenset[str] | None,
        isolated: bool,
        captures: Captures | None,
    ) -> None:
        self._captures = captures
        self._context = context
        self._select = select
        self._ignore = ignore or frozenset()
        self._isolated = isolated
        self.stale: dict[str, None] = {}
        self._flaws: dict[str, ProblemError] = {}

    def of(self, path: Path) -> tuple[Rules, AnalysisContext]:
        """Rules and context of one file; its problem's spec says what the host is called with."""
        found = default_configuration() if self._isolated else configuration_for(path)
        rules = found.rules_for(path)
        issues = (self._select or rules.issues) - self._ignore
        problem, flaw = problem_or_flaw(path)
        if flaw is not None:
            self._flaws[str(flaw)] = flaw
        entry = entry_facts(problem) if problem is not None else None
        version = rules.triton or installed_triton()
        found_of = found_in(self._captures, path) if self._captures else Found()
        self.stale.update(dict.fromkeys(stale_note(path, kernel) for kernel in found_of.stale))
        context = replace(self._context, entry=entry, launches=found_of.launches())
        return replace(rules, issues=issues, triton=version), context

    @property
    def specs(self) -> list[Checked]:
        """The specs that could not be used so far, each with what is wrong."""
        return [flawed(flaw) for flaw in self._flaws.values()]


def _meant(names: list[str] | None) -> frozenset[str] | None:
    if not names:
        return None
    try:
        return issues_meant(part.strip() for name in names for part in name.split(","))
    except UnknownSelectorError as error:
        raise InputError(str(error)) from None


def _tell(
    files: Iterable[Checked], form: CheckFormat, notes: Iterable[str] = ()
) -> Sequence[Checked]:
    """Tell of each file as it comes, where the form is lines; returns the files."""
    lines_of = {CheckFormat.TEXT: as_lines, CheckFormat.GITHUB: annotations}.get(form)
    told = []
    for file in files:
        told.append(file)
        for line in lines_of(file) if lines_of else ():
            OUT.print(line, markup=False)
        if lines_of:
            OUT.file.flush()
    if form is CheckFormat.JSON:
        emit_json({"files": [as_json(f) for f in told], "notes": list(notes)})
    elif form is CheckFormat.SARIF:
        emit_json(sarif(told, Path.cwd()))
    elif form is CheckFormat.TEXT:
        OUT.print(summary(told))
    return told


def _fix(paths: list[Path], chosen: _Chosen, form: CheckFormat, *, write: bool) -> None:
    """Fix what can be fixed exactly; told on standard error, so that a diff can be piped."""
    # Rewrites are loaded where they are asked for.
    from tilewright.checking.fixing import fix_text

    left: list[Checked] = []
    fixed = 0
    texts, unread = read_sources(paths, isolated=False)
    for path, text in texts:
        if path.suffix == NOTEBOOK:
            ERR.print(f"{path}: a notebook is checked and not fixed", markup=False)
            left.append(check_text(text, str(path), *chosen.of(path)))
            continue
        result = fix_text(text, str(path), *chosen.of(path))
        left.append(result.checked)
        fixed += len(result.fixes)
        for done in result.fixes:
            ERR.print(fix_line(str(path), done), markup=False)
        if result.fixes and write:
            write_source(path, result.text)
        elif result.fixes:
            OUT.print(diff_of(str(path), text, result.text), markup=False, end="")
    left += chosen.specs
    if write:
        _tell(left, form, map(str, unread))
    _end(any(f.issues or f.notices for f in left) if write else fixed > 0, unread)
