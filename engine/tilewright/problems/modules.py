"""Problems that a Python module states: KernelBench's, and the tasks of robust-kbench.

A module makes its own inputs (``get_inputs``), at sizes that its constants or a task's settings
say. Which smaller sizes its original stands, only running it can tell: ``sizes`` are the choices.
"""

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from tilewright.problems.constants import LIMITS, Constants, constants_of, smaller, varied
from tilewright.problems.model import RAGGED, Case, Dim, ProblemError, Ragged, Sizes
from tilewright.problems.nodes import read_text
from tilewright.problems.pyfile import PythonFile
from tilewright.problems.ragged import ragged_dims, single_dims, thin_dims
from tilewright.problems.splits import Extent, Split, splits_of, steps_of

TASK, SETTINGS = "func_forward.py", "config_forward.json"
OWN = "bench-gpu"
SMALL = "ci"
_MOST_SETTINGS = 4


def module_sizes(file: PythonFile, entry: str) -> tuple[Sizes, ...]:
    """A KernelBench module's sizes: its own, then smaller ones, the smallest first."""
    own = Case(SMALL, 0, {}, None, (), inputs_from_module=True)
    if file.tree is None:
        return (Sizes((own,)),)
    constants = constants_of(file.tree)
    splits = splits_of(file.tree, entry)
    found = [Sizes((own,))]
    for limit in LIMITS:
        values = smaller(constants.values, limit)
        changed = {name: value for name, value in values.items() if value != constants.values[name]}
        if changed and changed != found[-1].cases[0].dims:
            case = replace(own, dims=changed)
            found.append(Sizes((case,), _ragged(case, values, constants, splits)))
    return tuple(found)


def _ragged(
    case: Case, values: Mapping[str, Dim], constants: Constants, splits: Sequence[Split]
) -> Ragged | None:
    """The small case at extents that fit no tile."""
    free = varied(constants, values)
    if not free:
        return None
    steps, kept = steps_of(splits, values, free, partial(_name_of, constants))
    largest = {name: value for name, value in values.items() if isinstance(value, int)}
    thin = thin_dims(values, free, steps=steps)
    primes = ragged_dims(values, free, largest, steps=steps)
    return Ragged(
        primes=_variants(case, 0, primes),
        thin=tuple(_variants(case, at, ways) for at, ways in enumerate(thin, 1) if ways),
        single=_variants(case, 1 + len(thin), single_dims(values, free, steps)),
        kept=tuple(kept.values()),
    )


def _variants(case: Case, index: int, ways: Sequence[Mapping[str, Dim]]) -> tuple[Case, ...]:
    return tuple(
        replace(case, category=f"{SMALL}-{RAGGED}", index=index, dims=dict(dims)) for dims in ways
    )


def _name_of(constants: Constants, extent: Extent) -> str | None:
    if extent.axis is None:
        names = constants.arguments
        return names[extent.position] if extent.position < len(names) else None
    if extent.position >= len(constants.shapes):
        return None
    shape = constants.shapes[extent.position]
    return shape[extent.axis] if -len(shape) <= extent.axis < len(shape) else None


def task_of(source: Path) -> Path | None:
    """The module of the robust-kbench task that a file belongs to: itself, or its neighbour."""
    task = source if source.name == TASK else source.with_name(TASK)
    return task if task.is_file() and task.with_name(SETTINGS).is_file() else None


def task_settings(task: Path) -> str:
    """The text of a task's settings."""
    return read_text(task.with_name(SETTINGS))


def task_sizes(task: Path, text: str) -> tuple[Sizes, ...]:
    """A task's sizes: the settings that it is timed with, then all of them made smaller."""
    path = str(task.with_name(SETTINGS))
    try:
        settings = json.loads(text)
    except ValueError as error:
        line = getattr(error, "lineno", None)
        raise ProblemError(f"the task's settings are not JSON: {error}", path, line) from None
    if not isinstance(settings, dict):
        raise ProblemError("the task's settings must be a JSON object", path, 1)
    timed = [_setting(SMALL, at, *s) for at, s in enumerate(_settings(settings, "single", path))]
    several = list(_settings(settings, "multi", path))[:_MOST_SETTINGS]
    found = [Sizes(tuple(timed))]
    for limit in LIMITS:
        cases = [
            _setting(SMALL, at, smaller(given, limit), smaller(built, limit))
            for at, (given, built) in enumerate([*_settings(settings, "single", path), *several])
        ]
        distinct = {str((case.dims, case.init_named)): case for case in cases}
        found.append(Sizes(tuple(distinct.values())))
    return tuple(found)


def _setting(category: str, index: int, given: Mapping[str, Dim], built: Mapping[str, Dim]) -> Case:
    return Case(
        category, index, dict(given), None, (), inputs_from_module=True, init_named=dict(built)
    )


def _settings(
    settings: Mapping[str, Any], kind: str, path: str
) -> Iterator[tuple[dict[str, Dim], dict[str, Dim]]]:
    """(arguments of ``get_inputs``, of the constructor) of each setting; what is shared goes to
    both."""
    lists = [_objects(settings, f"{kind}_{what}_configs", path) for what in _PARTS]
    for given, built, shared in product(*lists):
        yield {**given, **shared}, {**built, **shared}


_PARTS = ("input", "init", "shared")


def _objects(settings: Mapping[str, Any], key: str, path: str) -> list[dict[str, Dim]]:
    value = settings.get(key, [{}])
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ProblemError(
            f"'{key}' must be a list of objects, such as [{{\"batch_size\": 64}}]", path
        )
    return [{str(name): _dim(given) for name, given in one.items()} for one in value] or [{}]


def _dim(value: Any) -> Dim:
    if isinstance(value, list):
        return tuple(_dim(one) for one in value)  # type: ignore[misc]  # one list deep
    return value if isinstance(value, int | float | str) else str(value)


def completed(text: str, task: str, name: str) -> str:
    """A kernel's text with what it needs of its task's module, where it has no model of its own.

    It stands below, so that lines stay what they are.
    """
    tree, module = ast.parse(text), ast.parse(task)
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    if name in classes:
        return text
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    kept = [n for n in module.body if getattr(n, "name", None) not in own]
    return f"{text}\n\n{ast.unparse(ast.Module(kept, []))}\n"
