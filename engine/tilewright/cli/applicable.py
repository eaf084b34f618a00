"""What ``tilewright explain --kernel`` says: which patterns apply to the kernels of a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.preconditions import Applicable, judged
from tilewright.checking.versions import installed_triton
from tilewright.cli.inputs import read_source, target_of
from tilewright.errors import InputError
from tilewright.knowledge import all_patterns, patterns_of
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module

_ORDER = (True, None, False)
_MARKS = {True: "holds", False: "does not hold", None: "not known"}


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
