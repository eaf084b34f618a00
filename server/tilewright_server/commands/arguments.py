"""Commands' arguments, checked where they come in."""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pygls.exceptions import JsonRpcInvalidParams

from tilewright_server.settings import TargetText


class OptimizeArguments(BaseModel):
    """``version`` is the document's version that was seen; None to take what is there now.

    ``target`` None asks the person, or takes the default where they cannot be asked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: str
    version: int | None = None
    target: TargetText | None = None
    kernel: str | None = None


class FileArguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: str


class ProfileArguments(BaseModel):
    """``kernel`` says where the click was; the whole file is profiled."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: str
    target: TargetText | None = None
    kernel: str | None = None


class CertificateArguments(BaseModel):
    """``certificate`` is its file's name; None takes the kernel's, or the first of the document."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: str
    kernel: str | None = None
    certificate: str | None = None


class CompareArguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: str
    kernel: str


class SpecArguments(BaseModel):
    """``kernel`` is what the spec is to be for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: str
    kernel: str


class CaptureArguments(BaseModel):
    """``command`` is what is run, as it would be typed; None asks the person."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: str
    command: str | None = None


class ExplainArguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    issue: str


class CancelArguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    job: str


class RunTextArguments(BaseModel):
    """``candidate`` is its id in the run's tree; None takes the text as it was sent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    candidate: str | None = None


A = TypeVar("A", bound=BaseModel)


def read_arguments(kind: type[A], arguments: tuple[Any, ...]) -> A:
    """The command's one argument, an object. Raises ``JsonRpcInvalidParams``."""
    try:
        return kind.model_validate(arguments[0] if arguments else {})
    except ValidationError as error:
        detail = error.errors()[0]
        field = ".".join(str(part) for part in detail["loc"]) or "argument"
        raise JsonRpcInvalidParams(f"{field}: {detail['msg']}") from error
