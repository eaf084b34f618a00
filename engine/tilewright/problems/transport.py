"""A case as JSON and back: what is handed to the worker."""

from typing import Any, cast

from pydantic import ValidationError

from tilewright import serialize
from tilewright.problems.model import Case, ProblemError


def case_to_json(case: Case) -> dict[str, Any]:
    """A JSON object with the fields of ``Case``; tuples become lists."""
    return cast("dict[str, Any]", serialize.dump(case))


def case_from_json(data: Any) -> Case:
    """The case that ``case_to_json`` wrote; raises ProblemError for anything else."""
    try:
        return serialize.load(Case, data)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ProblemError(f"this is no case: {where}: {first['msg']}") from None
