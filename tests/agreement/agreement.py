"""Compile the kernels of one corpus file and compare what inference says of them."""

import ast
import re
import signal
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from calling import called_with_tiles
from comparing import Tallies, compare
from guessing import guesses
from loading import JitFunction, jit_functions, load
from recording import Place, Recording, Seen
from refusals import REFUSALS
from specializing import Specialization, build_ttir

from tilewright.source import parse_module
from tilewright.source.model import Kernel, Language, Module
from tilewright.targets.model import LaunchFacts

WANTED = 2
SECONDS_A_KERNEL = 10


@dataclass(frozen=True)
class NotCompiled:
    """A kernel, or a whole file, of which there is no TTIR."""

    file: str
    kernel: str
    reason: str


@dataclass
class FileReport:
    """One file: what compiled, in how many specializations, and what differs.

    ``called`` counts functions that kernels of the file call: they are compiled with those.
    ``broken`` lists kernels on which inference itself fails.
    """

    file: str
    kernels: int = 0
    called: int = 0
    specializations: int = 0
    failed: list[NotCompiled] = field(default_factory=list)
    broken: list[NotCompiled] = field(default_factory=list)
    tallies: Tallies = field(default_factory=Tallies)


class _TookTooLong(BaseException):
    """The time of a kernel is over."""


def report_file(root: Path, path: Path) -> FileReport:
    """Compile and compare the kernels of one file."""
    name = str(path.relative_to(root))
    module = parse_module(path.read_text(), name)
    report = FileReport(name)
    wanted = [k for k in module.kernels if k.language is Language.TRITON]
    if not wanted:
        return report
    try:
        jits = jit_functions(load(root, path))
    except REFUSALS as error:
        report.failed += [NotCompiled(name, k.name, _import_reason(error)) for k in wanted]
        return report
    called = _called(module)
    for kernel in wanted:
        if kernel.name in called and not module.launches_of(kernel.name):
            report.called += 1
        elif kernel.name not in jits:
            report.failed.append(NotCompiled(name, kernel.name, "not at the file's top level"))
        else:
            _kernel(module, kernel, jits[kernel.name], path, report)
    return report


def _called(module: Module) -> frozenset[str]:
    """Names of the functions that the file's kernels call."""
    return frozenset(
        call.func.id
        for kernel in module.kernels
        for call in ast.walk(kernel.node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        if call.func.id != kernel.name
    )


def _kernel(
    module: Module, kernel: Kernel, jit: JitFunction, path: Path, report: FileReport
) -> None:
    """Compile one kernel in two specializations, if there are two that compile, and compare."""
    built, reasons = 0, []
    try:
        with _time_limit(SECONDS_A_KERNEL):
            for guess, is_called in _attempts(module, kernel, jit):
                try:
                    recording = _build(jit, guess, is_called)
                except REFUSALS as error:
                    reasons.append(_compile_reason(error))
                    continue
                launch = guess.launch("" if is_called else kernel.name)
                _compare(module, kernel, recording.files.get(str(path), {}), launch, report)
                built += 1
                if built == WANTED:
                    break
    except _TookTooLong:
        reasons.append("took too long")
    report.specializations += built
    report.kernels += bool(built)
    if not built:
        report.failed.append(NotCompiled(module.path, kernel.name, reasons[0]))


def _compare(
    module: Module,
    kernel: Kernel,
    seen: Mapping[Place, set[Seen]],
    launch: LaunchFacts,
    report: FileReport,
) -> None:
    try:
        report.tallies.add(compare(module, seen, launch))
    except REFUSALS as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        report.broken.append(NotCompiled(module.path, kernel.name, reason))


def _attempts(
    module: Module, kernel: Kernel, jit: JitFunction
) -> Iterator[tuple[Specialization, bool]]:
    """(a specialization to try, whether as what a kernel calls with tiles)."""
    if _is_called_with_tiles(module, kernel):
        yield from ((guess, True) for guess in guesses(module, kernel, jit, tiles=True))
    yield from ((guess, False) for guess in guesses(module, kernel, jit))


def _is_called_with_tiles(module: Module, kernel: Kernel) -> bool:
    """Whether it returns something and nothing launches it here: other files' kernels call it."""
    returns = any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(kernel.node))
    return returns and not module.launches_of(kernel.name)


def _build(jit: JitFunction, guess: Specialization, is_called: bool) -> Recording:
    if not is_called:
        return build_ttir(jit.function, guess)[1]
    return build_ttir(*called_with_tiles(jit.function, guess))[1]


class _time_limit:
    def __init__(self, seconds: int) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        def over(number: int, frame: FrameType | None) -> None:
            raise _TookTooLong

        signal.signal(signal.SIGALRM, over)
        signal.alarm(self._seconds)

    def __exit__(self, *error: object) -> None:
        signal.alarm(0)


def _import_reason(error: BaseException) -> str:
    return f"import: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def _compile_reason(error: BaseException) -> str:
    """What the compiler says, of the innermost function where one called another."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line.strip("^ ")]
    sentence = re.sub(r"\s+", " ", said[-1] if said else type(error).__name__)
    return re.sub(r"0x[0-9a-f]+", "0x…", sentence)[:200]
