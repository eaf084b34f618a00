"""Whether a text is Python: the first step of the cascade, and of compiling a file."""

from tilewright.errors import InputError
from tilewright.evaluation.model import StepName, StepResult, StepStatus
from tilewright.python_syntax import parse
from tilewright.source.model import Module


def check_syntax(text: str) -> StepResult:
    """Parse the candidate; the message names the line and shows it."""
    try:
        parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        return StepResult(StepName.SYNTAX, StepStatus.FAILED, _describe(error))
    return StepResult(StepName.SYNTAX, StepStatus.PASSED)


def _describe(error: Exception) -> str:
    if not isinstance(error, SyntaxError):
        return f"the source cannot be parsed: {error}"
    shown = f": {error.text.strip()!r}" if error.text else ""
    return f"line {error.lineno}: {error.msg}{shown}"


def unparsed(module: Module) -> InputError | None:
    """The first part of a file that is not Python: nothing of such a file can be imported."""
    if not module.problems:
        return None
    first = module.problems[0]
    return InputError(
        f"this line does not parse ({first.message}), so the file cannot be imported and none of "
        "its kernels compiled; fix it first",
        module.path,
        first.range.line,
    )


def require_python(module: Module) -> None:
    """Raise what ``unparsed`` finds."""
    if (error := unparsed(module)) is not None:
        raise error
