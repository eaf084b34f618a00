"""Options that several commands have, each with its one wording."""

from pathlib import Path
from typing import Annotated

import typer

ProblemSpec = Annotated[
    Path | None, typer.Option(help="Spec to run on. Default: the one next to FILE.")
]
LaunchSpec = Annotated[
    Path | None, typer.Option(help="Spec with the launches. Default: the one next to FILE.")
]
Captured = Annotated[
    Path | None,
    typer.Option(
        help="Folder of captured launches to run on. Default without a spec: .tilewright/launches."
    ),
]
DeviceName = Annotated[
    str, typer.Option(help="auto, interpreter, neuron-sim, cuda:0, ssh://host, ray:auto, ...")
]
FileStdin = Annotated[
    bool, typer.Option("--stdin", help="Read the text from standard input; FILE is its name.")
]
PathStdin = Annotated[
    bool, typer.Option("--stdin", help="Read the text from standard input; the path is its name.")
]
ReportPath = Annotated[
    Path | None, typer.Option(help="Write the run as an HTML page to this path.")
]
