"""The root of every error Tilewright raises on purpose.

Each layer derives its own errors from these two. A message says what is wrong,
where (file and line when there is one) and how to get out of it.
"""


class TilewrightError(Exception):
    """Anything Tilewright reports instead of a traceback."""


class InputError(TilewrightError):
    """What a person handed over cannot be used: a file, a spec, an option.

    Args:
        message: what is wrong and the way out, one sentence each.
        path: the file at fault, if it is one.
        line: 1-based line in that file, if it is known.
        column: 0-based column in that line, if it is known.
    """

    def __init__(
        self,
        message: str,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.message = message
        self.path = path
        self.line = line
        self.column = column
        super().__init__(str(self))

    def __str__(self) -> str:
        if self.path is None:
            return self.message
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.message}"


class Stopped(BaseException):
    """Asked to stop: finish with the best so far.

    A BaseException, so that no handler meant for errors swallows it. The command line raises it
    from its signal handler.
    """
