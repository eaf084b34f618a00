"""What is compiled of a file: its launches, for a target, with options set as asked."""

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

from tilewright.captures.folder import load_captures
from tilewright.captures.model import CaptureError
from tilewright.captures.problem import stale_note
from tilewright.devices.model import INTERPRETER
from tilewright.devices.opening import open_device
from tilewright.errors import InputError
from tilewright.evaluation.sizing import sized
from tilewright.evaluation.syntax import require_python
from tilewright.evaluation.workbench import Workbench
from tilewright.inspection.launch_sources import (
    KernelLaunches,
    LaunchSources,
    captures_near,
    launch_sources,
)
from tilewright.inspection.report import Compilers
from tilewright.problems.loading import find_problem, load_problem
from tilewright.scratch import scratch_folder
from tilewright.signatures.model import Origin, Signature
from tilewright.signatures.sources import problem_without_spec
from tilewright.source import parse_module
from tilewright.targets.error_hints import with_way_out
from tilewright.targets.model import CompileMessage, CompileReport, LaunchFacts, StageText, Target
from tilewright.targets.toolchains import NoToolchainError

Value = int | float | bool | str
StagedLaunch = tuple[LaunchFacts, StageText]
Outcome = TypeVar("Outcome", CompileReport, StagedLaunch)
# What Triton's backends take; they leave out silently what they do not know.
OPTIONS = frozenset(
    {
        "num_warps", "num_stages", "num_ctas", "maxnreg", "ptx_version", "ptx_options",
        "enable_fp_fusion", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "schedule_hint",
        "grf_mode", "warp_size",
    }
)  # fmt: skip
_RECORD = "`tilewright capture -- COMMAND` records your own run; or write a spec next to the file"

_NO_KERNEL = "has no Triton kernel that can be compiled by itself"


@dataclass(frozen=True)
class Variant:
    """A target, and compiler options or constexprs to set; written ``cuda:90,num_warps=8``."""

    target: Target
    options: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        return ",".join((str(self.target), *(f"{k}={v}" for k, v in self.options.items())))


@dataclass(frozen=True)
class Launches:
    """What to compile, where, and how much of it is known.

    Attributes:
        inferred: kernels whose launches are inferred.
        left_out: kernels that cannot be had from the file by importing it, and why.
    """

    compilers: Compilers
    launches: tuple[LaunchFacts, ...]
    notes: tuple[str, ...] = ()
    inferred: frozenset[str] = frozenset()
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The text that is compiled."""
        return self.compilers.text


@contextmanager
def launches_of(
    path: Path,
    text: str,
    say: Callable[[str], None],
    kernel: str | None = None,
    spec: Path | None = None,
    configs: int | None = None,
    captured: Path | None = None,
) -> Iterator[Launches]:
    """What a file's kernels, or one of them, are compiled with, as ``launch_sources`` has it.

    Args:
        text: the file's.
        say: called with a sentence for each kernel edited since its launches were captured.
        spec: the problem; the one next to the file if None.
        configs: how many configurations of an autotuned kernel; 0 for all. None: all that a
            problem launches, the first of those inferred.
        captured: a folder of captured launches to compile with, and with nothing else.

    Raises:
        CaptureError: nothing in the folder fits the file as it is.
        InputError: no such kernel, host code that fails, or nothing launched.
    """
    module = parse_module(text, str(path))
    require_python(module)
    if kernel is not None and module.kernel(kernel) is None:
        known = ", ".join(k.name for k in module.kernels)
        raise InputError(f"no kernel {kernel}; it has {known or 'none'}", str(path))
    problem = None
    if captured is None:
        problem = load_problem(spec, path) if spec else find_problem(path)
    captures = load_captures(captured) if captured is not None else captures_near(path)
    with closing(open_device(INTERPRETER)) as device, scratch_folder() as scratch:
        problem = sized(problem, device, path, module.text) or problem_without_spec(path)
        bench = Workbench(device, problem, path, scratch, secrets.randbits(48))
        found = launch_sources(
            bench,
            module,
            captures,
            kernel=kernel,
            configs=(1 if configs is None else configs) or None,
            infer=captured is None,
        )
        if spec is not None and found.failure is not None:
            raise InputError(f"its entry point fails: {found.failure}", str(path))
        stale = [stale_note(path, x) for x in found.recorded.stale if captured is not None]
        for note in stale:
            say(note)
        chosen = _chosen(found, configs or 0)
        if not chosen and captured is not None:
            what = kernel or "any kernel of it"
            raise CaptureError(f"{captured} has no launch of {what} as it is now", str(path))
        left_out = tuple((k.kernel.name, _why_not(k)) for k in found.kernels if not _complete(k))
        if not chosen:
            raise InputError(left_out[0][1] if left_out else _NO_KERNEL, str(path))
        inferred = frozenset(k.kernel.name for k in found.kernels_from(Origin.INFERRED))
        notes = (*_about_captured(found), *stale, *found.notes, *_assumed(found))
        yield Launches(Compilers(bench, module.text), chosen, notes, inferred, left_out)


def _chosen(found: LaunchSources, configs: int) -> tuple[LaunchFacts, ...]:
    specified = [s.launch for k in found.kernels_from(Origin.SPEC) for s in k.signatures]
    first = first_configs((*specified, *found.imported), configs)
    rest = (s for k in found.kernels for s in _complete(k) if s.origin is not Origin.SPEC)
    return (*first, *(s.launch for s in rest))


def _complete(one: KernelLaunches) -> tuple[Signature, ...]:
    return tuple(s for s in one.signatures if s.is_made)


def _why_not(one: KernelLaunches) -> str:
    """Why nothing can be compiled of a kernel."""
    said = next((s.compiler_says for s in one.signatures), "")
    return with_way_out(CompileMessage(said)).text if said else "; ".join(one.notes or (one.why,))


def _about_captured(found: LaunchSources) -> Iterator[str]:
    """How many captured launches are compiled, and what they take the place of."""
    names = {k.kernel.name: k for k in found.kernels_from(Origin.CAPTURED)}
    seen = [x for k in found.recorded.fitting if k.kernel in names for x in k.launches]
    total = sum(x.count for x in seen if x.failure is None)
    different = sum(len(k.signatures) for k in names.values())
    if names:
        yield f"{total} captured launches, {different} of them different to the compiler"
    yield from (f"{name}: captured launches, as {k.why}" for name, k in names.items() if k.why)


def _assumed(found: LaunchSources) -> Iterator[str]:
    """What was assumed of each kernel, once for all its configurations."""
    for one in found.kernels_from(Origin.INFERRED):
        if not (made := _complete(one)):
            continue
        yield f"{one.kernel.name}: {one.why}; inferred from the file:"
        yield from (f"  {words}" for words in made[0].assumptions)
        if made[0].compiler_says:
            said = made[0].compiler_says.partition(". ")[0]
            yield f"  no signature compiles; compiler message: {said}"
            yield f"  if it is launched with others: {_RECORD}"


def first_configs(launches: Sequence[LaunchFacts], configs: int) -> tuple[LaunchFacts, ...]:
    """The first of the launches that differ in constexprs and options alone; all for 0."""
    seen: Counter[str] = Counter()
    kept = []
    for launch in launches:
        given = [a for a in launch.arguments if a.kind != "constexpr"]
        alike = repr((launch.kernel, given))
        seen[alike] += 1
        if not configs or seen[alike] <= configs:
            kept.append(launch)
    return tuple(kept)


@dataclass(frozen=True)
class Judged(Generic[Outcome]):
    """What compilers gave of each launch, and why they gave nothing of the others.

    Attributes:
        not_judged: kernels that nothing here can compile for the target, and why, once for each.
    """

    found: tuple[Outcome, ...]
    not_judged: tuple[tuple[str, str], ...] = ()

    def rest_as_json(self) -> list[dict[str, str]]:
        """``not_judged`` for a program."""
        return [{"kernel": kernel, "message": words} for kernel, words in self.not_judged]


def by_reason(not_judged: Iterable[tuple[str, str]]) -> Iterator[tuple[list[str], str]]:
    """(kernels, why): those that are not judged for the same reason, together."""
    reasons: dict[str, dict[str, None]] = {}
    for kernel, words in not_judged:
        reasons.setdefault(words, {})[kernel] = None
    yield from ((list(kernels), words) for words, kernels in reasons.items())


def compiled(launches: Launches, one: Variant) -> Judged[CompileReport]:
    """A report for each launch that is judged.

    Raises:
        NoToolchainError: none is judged.
    """
    return _judged(launches, one, lambda x: launches.compilers.report(x, one.target))


def staged(launches: Launches, one: Variant, stage: str) -> Judged[StagedLaunch]:
    """Each launch that is judged, and its text at one stage.

    Raises:
        NoToolchainError: none is judged.
    """
    compilers = launches.compilers
    return _judged(launches, one, lambda x: (x, compilers.stage(x, one.target, stage)))


def _judged(
    launches: Launches, one: Variant, ask: Callable[[LaunchFacts], Outcome]
) -> Judged[Outcome]:
    found: list[Outcome] = []
    refused: dict[tuple[str, str], NoToolchainError] = {}
    for launch in launches.launches:
        try:
            found.append(ask(with_options(launch, one.options)))
        except NoToolchainError as error:
            refused.setdefault((launch.kernel, str(error)), error)
    if refused and not found:
        raise next(iter(refused.values()))
    return Judged(tuple(found), (*launches.left_out, *refused))


def with_options(launch: LaunchFacts, options: Mapping[str, Value]) -> LaunchFacts:
    """The launch with constexprs and compiler options set; its grid stays as it was.

    Raises:
        InputError: the kernel has no such constexpr, and compilers no such option.
    """
    constexprs = {a.name for a in launch.arguments if a.kind == "constexpr"}
    for name in options:
        if name not in constexprs | OPTIONS:
            has = ", ".join(sorted(constexprs)) or "none"
            raise InputError(
                f"{name} is no compiler option, and {launch.kernel} has no such constexpr ({has})"
            )
    arguments = tuple(
        replace(a, value=options[a.name]) if a.name in constexprs & set(options) else a
        for a in launch.arguments
    )
    chosen = {name: value for name, value in options.items() if name not in constexprs}
    return replace(launch, arguments=arguments, options={**launch.options, **chosen})
