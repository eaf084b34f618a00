"""Commands' arguments, checked where they come in."""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pygls.exceptions import JsonRpcInvalidParams

from tilewright_server.settings import TargetText


class Arguments(BaseModel):
    """What a command takes; an unknown name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class OptimizeArguments(Arguments):
    """``version`` is the document's version that was seen; None to take what is there now.

    ``target`` None asks the person, or takes the default where they cannot be asked.
    """

    uri: str
    version: int | None = None
    target: TargetText | None = None
    kernel: str | None = None


class FileArguments(Arguments):
    uri: str


class ProfileArguments(Arguments):
    """``kernel`` says where the click was; the whole file is profiled."""

    uri: str
    target: TargetText | None = None
    kernel: str | None = None


class CertificateArguments(Arguments):
    """``certificate`` is its file's name; None takes the kernel's, or the first of the document."""

    uri: str
    kernel: str | None = None
    certificate: str | None = None


class KernelArguments(Arguments):
    """``kernel`` is what is compared, or what the spec is to be for."""

    uri: str
    kernel: str


class CaptureArguments(Arguments):
    """``command`` is what is run, as it would be typed; None asks the person."""

    uri: str
    command: str | None = None


class ExplainArguments(Arguments):
    issue: str


class CancelArguments(Arguments):
    job: str


class RunTextArguments(Arguments):
    """``candidate`` is its id in the run's tree; None takes the text as it was sent."""

    run: str
    candidate: str | None = None


A = TypeVar("A", bound=Arguments)


def read_arguments(kind: type[A], arguments: tuple[Any, ...]) -> A:
    """The command's one argument, an object. Raises ``JsonRpcInvalidParams``."""
    try:
        return kind.model_validate(arguments[0] if arguments else {})
    except ValidationError as error:
        detail = error.errors()[0]
        field = ".".join(str(part) for part in detail["loc"]) or "argument"
        raise JsonRpcInvalidParams(f"{field}: {detail['msg']}") from error
