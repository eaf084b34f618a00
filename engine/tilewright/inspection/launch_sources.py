"""Which launches a file's kernels are compiled with: one order of sources for every command.

The problem's launches come first, then captured ones, then inferred ones. The editor, ``compile``,
``tune`` and ``check --compiled`` ask here, so that they show the same launch of a kernel;
``verify``, ``optimize`` and ``profile`` run the problem, or captured launches where there is none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tilewright.captures.folder import Captures, load_captures
from tilewright.captures.model import Found
from tilewright.captures.problem import project_captures
from tilewright.errors import InputError
from tilewright.evaluation.syntax import unparsed
from tilewright.evaluation.workbench import Capture, Workbench
from tilewright.signatures.model import Origin, Signature
from tilewright.signatures.selection import inferred
from tilewright.signatures.sources import inferable, specialization_key
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import LaunchFacts

Source = Mapping[str, tuple[Signature, ...]]

_NO_SOURCE = "there is neither a spec nor a captured launch"
_STALE = "it was edited since its launches were captured; capture again"


@dataclass(frozen=True)
class KernelLaunches:
    """A kernel and what to compile it with, the launch that stands for it first.

    Attributes:
        signatures: all of one source; those that the compiler's front end refuses say so.
        notes: what was assumed or left out.
        why: why they are not of the problem, nor captured; empty where that needs no reason.
    """

    kernel: Kernel
    signatures: tuple[Signature, ...] = ()
    notes: tuple[str, ...] = ()
    why: str = ""

    @property
    def launches(self) -> tuple[LaunchFacts, ...]:
        """Those that a compiler can be asked about."""
        return tuple(s.launch for s in self.signatures if not s.compiler_says)

    @property
    def origin(self) -> Origin | None:
        """Where they come from; None if there is none."""
        return self.signatures[0].origin if self.launches else None

    def first(self, most: int) -> "KernelLaunches":
        """With the number of launches limited."""
        count = len(self.signatures)
        if count <= most:
            return self
        left = f"the first {most} of its {count} launches are compiled"
        return replace(self, signatures=self.signatures[:most], notes=(left, *self.notes))


@dataclass(frozen=True)
class LaunchSources:
    """What to compile a file with.

    Attributes:
        imported: launches that the problem makes of kernels of other files.
        notes: what was left out to make the problem's launches, or to import the file.
        failure: why the problem's entry point launched nothing; None if it ran.
        recorded: what is captured of the file's kernels, and of which it is stale.
    """

    kernels: tuple[KernelLaunches, ...]
    imported: tuple[LaunchFacts, ...] = ()
    notes: tuple[str, ...] = ()
    failure: str | None = None
    recorded: Found = field(default_factory=Found)

    def kernels_from(self, origin: Origin) -> Iterator[KernelLaunches]:
        """The kernels whose launches come from there."""
        return (k for k in self.kernels if any(s.origin is origin for s in k.signatures))


def captures_near(path: Path) -> Captures | None:
    """The captured launches of the nearest folder at or above a file's; None if there are none.

    Raises:
        CaptureError: a file in it cannot be read.
    """
    folder = project_captures(path)
    return None if folder is None else load_captures(folder)


def launch_sources(
    bench: Workbench,
    module: Module,
    captures: Captures | None,
    *,
    kernel: str | None = None,
    configs: int | None = 1,
    infer: bool = True,
) -> LaunchSources:
    """Each Triton kernel that can be compiled by itself, with the best known of its launches.

    Args:
        kernel: the one that is wanted, whether or not others call it.
        configs: how many configurations of an autotuned kernel are inferred; None for all.
        infer: whether a launch is inferred where none is known.

    Raises:
        InputError: the file does not parse, and none of its kernels does.
    """
    if (error := unparsed(module)) is not None:
        kernels = tuple(inferable(module))
        if not kernels:
            raise error
        return LaunchSources(tuple(KernelLaunches(k, notes=(str(error),)) for k in kernels))
    capture, why = _of_problem(bench, module.text)
    found = Found() if captures is None else captures.launches_of(module, bench.source_path)
    specified = _by_kernel(Signature(launch, Origin.SPEC) for launch in capture.launches)
    recorded = _captured(found)
    stale = {one.kernel for one in found.stale}
    wanted = _wanted(module, kernel, specified.keys() | recorded.keys())
    rows = {k.name: _row(k, specified, recorded, why, stale) for k in wanted}
    notes = capture.notes
    if infer and (left := [row for row in rows.values() if not row.signatures]):
        guessed, import_notes = _inferred(bench, module, left, configs)
        rows, notes = rows | guessed, (*notes, *import_notes)
    own = {k.name for k in module.kernels}
    imported = tuple(x for x in capture.launches if kernel is None and x.kernel not in own)
    return LaunchSources(tuple(rows.values()), imported, notes, capture.failure, found)


def _of_problem(bench: Workbench, text: str) -> tuple[Capture, str]:
    """What the problem's measured case launches, and why it may not launch some kernel."""
    case = next(iter(bench.problem.compiled_cases()), None)
    if case is None:
        return Capture(()), "its problem has no case" if bench.problem.cases else ""
    capture = bench.capture(text, case)
    if capture.failure is not None:
        return capture, f"its problem's entry point fails: {capture.failure}"
    return capture, f"{bench.problem.entry.name} does not launch it"


def _captured(found: Found) -> Source:
    """Once for those that compile alike, the ones that the kernel works most on first."""
    alike: dict[str, LaunchFacts] = {}
    for launch in found.launches():
        alike.setdefault(specialization_key(launch), launch)
    return _by_kernel(Signature(launch, Origin.CAPTURED) for launch in alike.values())


def _by_kernel(signatures: Iterable[Signature]) -> Source:
    found: dict[str, tuple[Signature, ...]] = {}
    for one in signatures:
        found[one.launch.kernel] = (*found.get(one.launch.kernel, ()), one)
    return found


def _wanted(module: Module, kernel: str | None, launched: set[str]) -> Iterator[Kernel]:
    """The kernel that was named, or all that are launched or can be compiled by themselves."""
    alone = {k.name for k in inferable(module)}
    for one in module.kernels:
        if one.name == kernel or (kernel is None and one.name in alone | launched):
            yield one


def _row(
    kernel: Kernel, specified: Source, recorded: Source, why: str, stale: set[str]
) -> KernelLaunches:
    """The kernel with the best of its known launches, none where one has to be inferred."""
    if own := specified.get(kernel.name):
        return KernelLaunches(kernel, own)
    own = recorded.get(kernel.name, ())
    if not own and not why:
        why = _STALE if kernel.name in stale else _NO_SOURCE
    return KernelLaunches(kernel, own, why=why)


def _inferred(
    bench: Workbench, module: Module, rows: Sequence[KernelLaunches], configs: int | None
) -> tuple[dict[str, KernelLaunches], tuple[str, ...]]:
    """What the text and its import tell of each, and what was left out to import it."""
    placed, kernels = str(bench.place(module.text)), [row.kernel for row in rows]
    try:
        made = inferred(bench.device, module, placed, kernels, configs)
    except InputError as error:
        return {r.kernel.name: replace(r, notes=(r.why, error.message)) for r in rows}, ()
    found = {}
    for row in rows:
        name = row.kernel.name
        own = tuple(s for s in made.signatures if s.launch.kernel == name)
        refused = [
            f"no launch that was tried holds: {s.compiler_says}" for s in own if s.compiler_says
        ]
        assumed = [words for s in own for words in s.assumptions]
        notes = (*refused[:1], *made.notes, *dict.fromkeys(assumed))
        found[name] = replace(row, signatures=own, notes=notes)
    return found, made.notes
