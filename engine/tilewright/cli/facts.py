"""``devices``, ``explain`` and ``lsp``: what is there, and what things mean."""

from typing import Annotated

import typer
from rich.markdown import Markdown
from rich.table import Table

from tilewright.cli.output import OUT, Exit, Format, emit_json
from tilewright.devices import list_devices
from tilewright.knowledge import explain as explain_issue
from tilewright.knowledge import taxonomy
from tilewright.knowledge.model import IssueType
from tilewright.knowledge.stages import DEFAULT_ORDER
from tilewright.serialize import dump

AsFormat = Annotated[Format, typer.Option("--format", help="text or json.")]


def devices(form: AsFormat = Format.TEXT) -> None:
    """List where kernels can run here, and what each place can tell."""
    found = list_devices()
    if form is Format.JSON:
        emit_json({"devices": [dump(info) for info in found]})
        return
    if not found:
        OUT.print(
            "No interpreter with torch and triton was found; `pip install torch triton`, "
            "or set TILEWRIGHT_PYTHON to one that has them.",
            markup=False,
        )
    table = Table("id", "what", "target", "times kernels", "torch", "triton")
    for info in found:
        times = "yes" if info.can_time else "no"
        table.add_row(info.id, info.name, str(info.target or "-"), times, info.torch, info.triton)
    if found:
        OUT.print(table)


def explain(
    issue: Annotated[
        str | None,
        typer.Argument(
            help="An issue id, as `check` prints it, or a pattern's; none lists issues."
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(metavar="FILE[:NAME]", help="Say which patterns apply to these kernels."),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Chip, e.g. cuda:90.")] = None,
    form: AsFormat = Format.TEXT,
) -> None:
    """Say what an issue means, why it costs, and what to do; or list all issues."""
    if issue is None:
        _list_issues(form)
        return
    page, value = explain_issue(issue), {}
    if kernel is not None:
        # Analysis is loaded where a kernel is looked at, and not to list devices.
        from tilewright.cli.applicable import applicable, as_json, as_markdown

        found = applicable(issue, kernel, target)
        page, value = f"{page}\n{as_markdown(found)}", {"patterns": as_json(found)}
    if form is Format.JSON:
        emit_json({"id": issue, "markdown": page, **value})
    else:
        OUT.print(Markdown(page))


def _list_issues(form: Format) -> None:
    known = sorted(taxonomy().values(), key=lambda i: (DEFAULT_ORDER.index(i.stage), i.id))
    if form is Format.JSON:
        emit_json({"issues": [dump(issue) for issue in known]})
        return
    width = max(len(issue.id) for issue in known)
    stage = None
    for issue in known:
        if issue.stage is not stage:
            stage = issue.stage
            OUT.print(f"[bold]{stage}[/bold]")
        OUT.print(
            f"  {issue.id:{width}}  {issue.severity}  {issue.title}{_found(issue)}", markup=False
        )


def _found(issue: IssueType) -> str:
    if issue.tier == "compiled":
        return " (found by compiling)"
    return "" if issue.detector else " (not found by check)"


def lsp(
    stdio: Annotated[bool, typer.Option("--stdio", help="Standard streams (default).")] = False,
    tcp: Annotated[
        int | None, typer.Option(metavar="PORT", help="Serve one client on a TCP port instead.")
    ] = None,
    log_level: Annotated[
        str, typer.Option(help="debug, info, warning or error; logs go to stderr.")
    ] = "warning",
) -> None:
    """Serve editors over standard input and output, or over TCP."""
    from tilewright_server.__main__ import main as serve

    arguments = ["--log-level", log_level, *(["--stdio"] if stdio else [])]
    if tcp is not None:
        arguments += ["--tcp", str(tcp)]
    raise typer.Exit(serve(arguments) or Exit.DONE)
