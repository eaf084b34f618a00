"""What to compile a file's kernels with: its problem's launches, captured ones, inferred ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.captures import Captures, load_captures, project_captures
from tilewright.devices.model import Device
from tilewright.errors import InputError
from tilewright.evaluation.syntax import unparsed
from tilewright.evaluation.workbench import Workbench
from tilewright.signatures import Origin, inferable, inferred
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import LaunchFacts

MOST = 8
"""Launches of one kernel that are compiled; an editor waits for them."""


@dataclass(frozen=True)
class KernelLaunches:
    """A kernel and what to compile it with; ``notes`` say what was assumed or left out.

    ``why`` says of an inferred launch why there is no better one.
    """

    kernel: Kernel
    launches: tuple[LaunchFacts, ...] = ()
    origin: Origin | None = None
    notes: tuple[str, ...] = ()
    why: str = ""


def captures_near(path: Path) -> Captures | None:
    """The captured launches of the nearest folder at or above a file's; None if there are none.

    Raises:
        CaptureError: a file in it cannot be read.
    """
    folder = project_captures(path)
    return None if folder is None else load_captures(folder)


def launches_of_kernels(
    module: Module,
    path: Path,
    placed: Path,
    device: Device,
    bench: Workbench | None,
    captures: Captures | None,
) -> tuple[KernelLaunches, ...]:
    """Each Triton kernel that can be compiled by itself, with the best known of its launches.

    A problem's go first, as they do for every command; then captured ones, then inferred ones.

    Args:
        placed: the file to import, which holds the module's text.
        bench: with the file's problem; None if it has none.

    Raises:
        InputError: the file does not parse, and none of its kernels does.
    """
    kernels = list(inferable(module))
    if (error := unparsed(module)) is not None:
        if not kernels:
            raise error
        return tuple(KernelLaunches(kernel, notes=(str(error),)) for kernel in kernels)
    found: dict[str, KernelLaunches] = {}
    why = "there is neither a spec nor a captured launch"
    if bench is not None:
        made, why = _of_problem(bench, module.text)
        found |= _chosen(kernels, made, Origin.SPEC)
    left = [kernel for kernel in kernels if kernel.name not in found]
    if left and captures is not None:
        found |= _chosen(left, captures.of(module, path).launches(), Origin.CAPTURED)
        left = [kernel for kernel in left if kernel.name not in found]
    if left:
        found |= _inferred(device, module, placed, left, why)
    return tuple(found[kernel.name] for kernel in kernels)


def _chosen(
    kernels: Sequence[Kernel], launches: Sequence[LaunchFacts], origin: Origin
) -> Mapping[str, KernelLaunches]:
    """The kernels that are launched so."""
    found = {}
    for kernel in kernels:
        own = tuple(launch for launch in launches if launch.kernel == kernel.name)
        if own:
            left = f"the first {MOST} of its {len(own)} launches are compiled"
            notes = (left,) if len(own) > MOST else ()
            found[kernel.name] = KernelLaunches(kernel, own[:MOST], origin, notes)
    return found


def _of_problem(bench: Workbench, text: str) -> tuple[tuple[LaunchFacts, ...], str]:
    """The launches of the problem's measured case, and why one may not be among them."""
    case = next(iter((*bench.problem.measured_cases(), *bench.problem.check_cases())), None)
    if case is None:
        return (), "its problem has no case"
    capture = bench.capture(text, case)
    if capture.failure is not None:
        return (), f"its problem's entry point fails: {capture.failure}"
    return capture.launches, f"{bench.problem.entry.name} does not launch it"


def _inferred(
    device: Device, module: Module, placed: Path, kernels: Sequence[Kernel], why: str
) -> Mapping[str, KernelLaunches]:
    """What the text and its import tell of each, and what is assumed for the rest."""
    found = {}
    try:
        made = inferred(device, module, str(placed), kernels)
    except InputError as error:
        return {k.name: KernelLaunches(k, notes=(why, error.message), why=why) for k in kernels}
    for kernel in kernels:
        own = [s for s in made.signatures if s.launch.kernel == kernel.name]
        refused = [
            f"no launch that was tried holds: {s.compiler_says}" for s in own if s.compiler_says
        ]
        launches = tuple(s.launch for s in own if not s.compiler_says)
        assumed = [words for s in own for words in s.assumptions]
        notes = (*refused[:1], *made.notes, *dict.fromkeys(assumed))
        origin = Origin.INFERRED if launches else None
        found[kernel.name] = KernelLaunches(kernel, launches, origin, notes, why)
    return found
