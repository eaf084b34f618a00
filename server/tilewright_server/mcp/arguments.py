"""Arguments of the tools: read from outside, checked, and shown to clients as JSON schemas."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

LONGEST_TEXT = 4 * 1024 * 1024
"""Characters of the longest text that a tool takes, and bytes of the largest file it reads."""

_PATH = "Path relative to a root, or absolute inside one."
_TEXT = "Text to use in place of the file's content; `path` then only names it."

Path = Annotated[str, Field(min_length=1, max_length=4096, description=_PATH)]
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
Target = Annotated[
    str,
    Field(
        pattern=r"^[a-z]+:[A-Za-z0-9_.]+$",
        max_length=40,
        description="Chip, e.g. cuda:80, cuda:90, cuda:100, hip:gfx942, xpu:pvc.",
    ),
]
Device = Annotated[
    str,
    Field(
        pattern=r"^(auto|interpreter|[a-z]+:([0-9]+|all))$",
        max_length=40,
        description="Device to run on: auto, interpreter (no GPU needed), cuda:0, ...",
    ),
]
Seconds = Annotated[
    float, Field(gt=0, description="Stop after this many seconds; the server has a limit, too.")
]


class Arguments(BaseModel):
    """Arguments of a tool; an unknown name is an error."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


class Subject(Arguments):
    """A file, a text, or a text under the name of a file."""

    path: Path | None = None
    text: Annotated[Text | None, Field(description=_TEXT)] = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.path is None and self.text is None:
            raise ValueError("pass `path`, `text`, or both")
        return self


class Check(Subject):
    """Arguments of ``check``; ``path`` may name a folder."""

    target: Target | None = None


class Explain(Arguments):
    """Arguments of ``explain``."""

    id: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Za-z0-9_]+$",
            max_length=100,
            description="Id of an issue or a pattern. Without it: the list of all issues.",
        ),
    ] = None


class Compile(Subject):
    """Arguments of ``compile``."""

    targets: Annotated[list[Target], Field(min_length=1, max_length=8)]
    timeout_s: Seconds | None = None


class Require(StrEnum):
    """The level that a candidate needs to be accepted."""

    COMPILED = "compiled"
    CORRECT = "correct"
    FASTER = "faster"


class Run(Arguments):
    """What all tools that run kernels take."""

    problem: Annotated[
        Path | None,
        Field(description="Spec to run on. Default: the one next to the file."),
    ] = None
    target: Target | None = None
    device: Device | None = None
    timeout_s: Seconds | None = None


class Verify(Run):
    """Arguments of ``verify``."""

    original: Annotated[Path, Field(description=f"File before the edit. {_PATH}")]
    candidate: Annotated[Path | None, Field(description=f"File after the edit. {_PATH}")] = None
    candidate_text: Annotated[
        Text | None,
        Field(description="Whole text of the file after the edit, in place of `candidate`."),
    ] = None
    require: Annotated[
        Require | None,
        Field(description="Default: faster on a device that can time, otherwise correct."),
    ] = None

    @model_validator(mode="after")
    def _one_candidate(self) -> Self:
        if (self.candidate is None) == (self.candidate_text is None):
            raise ValueError("pass `candidate_text` or `candidate`, one of them")
        return self


class Profile(Run):
    """Arguments of ``profile``."""

    path: Path
    text: Annotated[Text | None, Field(description=_TEXT)] = None
    counters: Annotated[
        bool, Field(description="Read hardware counters (ncu, ...) too; takes seconds.")
    ] = False


class Optimize(Run):
    """Arguments of ``optimize``."""

    path: Path
    text: Annotated[Text | None, Field(description=_TEXT)] = None
    budget: Annotated[int, Field(ge=1, le=256, description="Most candidates to verify.")] = 64


class Evidence(Arguments):
    """Arguments of ``evidence``."""

    candidate: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9a-f]{32}$",
            description="`evidence` id from a result of verify or optimize of this session.",
        ),
    ] = None
    path: Annotated[
        Path | None,
        Field(description=f"Python file or folder; with `repeat`, a certificate file. {_PATH}"),
    ] = None
    text: Annotated[Text | None, Field(description=_TEXT)] = None
    repeat: Annotated[
        bool, Field(description="Run the checks of the certificate file `path` again.")
    ] = False
    device: Device | None = None
    timeout_s: Seconds | None = None

    @model_validator(mode="after")
    def _one_subject(self) -> Self:
        if (self.candidate is None) == (self.path is None):
            raise ValueError("pass `candidate` or `path`, one of them")
        if self.candidate is not None and (self.repeat or self.text is not None):
            raise ValueError("`repeat` and `text` go with `path`")
        return self
