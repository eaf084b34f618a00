"""The first step of the cascade: is the candidate Python at all?"""

from tilewright.evaluation.model import StepName, StepResult, StepStatus
from tilewright.python_syntax import parse


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
