"""``devices``, ``explain`` and ``lsp``: what is there, and what things mean."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markdown import Markdown

from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.preconditions.match import Applicable, judged
from tilewright.checking.versions import installed_triton
from tilewright.cli.inputs import read_source, target_of
from tilewright.cli.output import OUT, AsFormat, Exit, Format, emit_json
from tilewright.devices.discovery import list_devices
from tilewright.devices.facts import DeviceFacts, device_facts
from tilewright.devices.model import DeviceInfo
from tilewright.errors import InputError
from tilewright.knowledge.base import all_patterns, patterns_of, taxonomy
from tilewright.knowledge.explain import explain as explain_issue
from tilewright.knowledge.model import IssueType
from tilewright.knowledge.stages import DEFAULT_ORDER
from tilewright.serialize import dump
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module

_ORDER = (True, None, False)
_MARKS = {True: "holds", False: "does not hold", None: "not known"}


def devices(
    device: Annotated[
        str | None,
        typer.Option(help=r"One device id, or another host: ssh://\[user@]host\[:port]\[/python]."),
    ] = None,
    form: AsFormat = Format.TEXT,
) -> None:
    """List the devices that kernels can run on.

    For each device: what it can compile, check, time and profile. Devices are
    local or on a host reached over ssh.
    """
    if device is None and not list_devices(fresh=True):
        _print_none(form)
        return
    found = device_facts(device)
    if form is Format.JSON:
        emit_json({"devices": [_as_json(facts) for facts in found]})
        return
    for facts in found:
        _print_facts(facts)


def _print_none(form: Format) -> None:
    if form is Format.JSON:
        emit_json({"devices": []})
        return
    OUT.print(
        "No interpreter with torch and triton was found; `pip install torch triton`, "
        "or set TILEWRIGHT_PYTHON to one that has them."
    )


def _as_json(facts: DeviceFacts) -> dict[str, Any]:
    value: dict[str, Any] = dump(facts)
    return {**value.pop("info"), **value}


def _print_facts(facts: DeviceFacts) -> None:
    info = facts.info
    OUT.print(f"{info.id}: {info.name}")
    for name, text in _rows(facts):
        OUT.print(f"  {name:12}{text}", soft_wrap=True)


def _rows(facts: DeviceFacts) -> Iterator[tuple[str, str]]:
    info = facts.info
    yield "python", f"{facts.interpreter} ({info.python}) on {facts.host}"
    yield "versions", f"torch {info.torch}, triton {info.triton}"
    if info.target is not None:
        yield "target", str(info.target)
    if facts.memory_bytes:
        free = f", {facts.free_bytes >> 20} MiB free" if facts.free_bytes is not None else ""
        yield "memory", f"{facts.memory_bytes >> 20} MiB{free}"
    if facts.driver:
        yield "driver", facts.driver
    kernels = "NKI kernels" if info.runs_nki else "yes"
    yield "runs", kernels if facts.can_run else "no: this Triton has no driver for it"
    yield "times", "yes" if info.can_time else _untimed(info)
    if info.target is not None:
        yield "used by", _users(facts)
        found = ", ".join(f"{name} ({where})" for name, where in facts.profilers.items())
        yield "profilers", found or "none"
    why = f": {'; '.join(facts.reasons)}" if facts.reasons else ""
    yield "isolation", f"{facts.isolation or 'not known'}{why}"


def _untimed(info: DeviceInfo) -> str:
    if info.runs_nki:
        return "no: a cost model estimates the time on neuron:trn1, trn2 and trn3"
    return "no: an interpreter's time is not a chip's time"


def _users(facts: DeviceFacts) -> str:
    if facts.users is None:
        return "unknown: no tool on that host reports it"
    told = []
    for user in facts.users:
        used = f" ({user.memory_bytes >> 20} MiB)" if user.memory_bytes is not None else ""
        told.append(f"process {user.pid}{used}")
    return ", ".join(told) or "none"


def explain(
    issue: Annotated[
        str | None,
        typer.Argument(
            help="Issue id, as `check` prints it, or pattern id. Default: list all issues."
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(metavar="FILE[:NAME]", help="List the patterns that apply to these kernels."),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Chip, e.g. cuda:90.")] = None,
    form: AsFormat = Format.TEXT,
) -> None:
    """Explain an issue, its cost and its fix; or list all issues."""
    if issue is None:
        _list_issues(form)
        return
    page, value = explain_issue(issue), {}
    if kernel is not None:
        # Analysis is loaded where a kernel is looked at, and not to list devices.
        from tilewright.cli.facts import applicable, as_json, as_markdown

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
            OUT.print(stage.value, style="bold")
        OUT.print(f"  {issue.id:{width}}  {issue.severity}  {issue.title}{_tier_note(issue)}")


def _tier_note(issue: IssueType) -> str:
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
    """Start the language server, on standard input and output or TCP."""
    from tilewright_server.__main__ import main as serve

    arguments = ["--log-level", log_level, *(["--stdio"] if stdio else [])]
    if tcp is not None:
        arguments += ["--tcp", str(tcp)]
    raise typer.Exit(serve(arguments) or Exit.DONE)


def applicable(
    entry: str, where: str, target: str | None
) -> list[tuple[str, tuple[Applicable, ...]]]:
    """Kernels of ``FILE`` or ``FILE:NAME``, each with the patterns of an issue, or the one named.

    Raises:
        InputError: no such file, or no such kernel in it.
    """
    context = AnalysisContext(target_of(target), installed_triton())
    path, _, name = where.partition(".py:")
    file = Path(f"{path}.py" if name else where)
    module = parse_module(read_source(file), str(file))
    kernels = [kernel for kernel in module.kernels if name in ("", kernel.name)]
    if not kernels:
        known = ", ".join(kernel.name for kernel in module.kernels) or "none"
        raise InputError(
            f"no kernel '{name}'; there is {known}" if name else "no kernel", str(file)
        )
    return [(kernel.name, _judged(entry, module, kernel, context)) for kernel in kernels]


def _judged(
    entry: str, module: Module, kernel: Kernel, context: AnalysisContext
) -> tuple[Applicable, ...]:
    """What applies first, then what is not known, then what does not apply."""
    named = all_patterns().get(entry)
    patterns = (named,) if named is not None else patterns_of(entry)
    found = (judged(pattern, module, kernel, context) for pattern in patterns)
    return tuple(sorted(found, key=lambda each: _ORDER.index(each.holds)))


def as_markdown(found: list[tuple[str, tuple[Applicable, ...]]]) -> str:
    """A section for each kernel."""
    return "\n\n".join(part for name, patterns in found for part in _section(name, patterns)) + "\n"


def _section(name: str, patterns: tuple[Applicable, ...]) -> Iterator[str]:
    yield f"## In `{name}`"
    if not patterns:
        yield "There is no pattern for this issue."
    for each in patterns:
        yield f"`{each.pattern.id}` {_MARKS[each.holds]}:"
        lines = (f"- {_MARKS[v.holds]}: {v.statement} ({v.reason})" for v in each.verdicts)
        yield "\n".join(lines)


def as_json(found: list[tuple[str, tuple[Applicable, ...]]]) -> list[dict[str, Any]]:
    """The same for a program."""
    return [
        {
            "kernel": name,
            "pattern": each.pattern.id,
            "holds": each.holds,
            "preconditions": [
                {"statement": v.statement, "holds": v.holds, "reason": v.reason}
                for v in each.verdicts
            ],
        }
        for name, patterns in found
        for each in patterns
    ]
