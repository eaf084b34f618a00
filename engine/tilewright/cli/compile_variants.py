"""What is compiled: a problem's launches, for a target, with options set as asked."""

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

from tilewright.captures import load_captures, project_captures
from tilewright.cli.inputs import problem_of, read_source, target_of
from tilewright.cli.output import ERR
from tilewright.cli.session import device_for
from tilewright.errors import InputError
from tilewright.evaluation.sizing import sized
from tilewright.evaluation.syntax import require_python
from tilewright.evaluation.workbench import Workbench
from tilewright.scratch import scratch_folder
from tilewright.signatures import (
    Origin,
    Signature,
    captured,
    inferable,
    inferred,
    problem_without_spec,
    specialization_key,
)
from tilewright.source import Module, parse_module
from tilewright.targets import NoToolchainError, compile_stage
from tilewright.targets.model import CompileMessage, CompileReport, LaunchFacts, StageText, Target
from tilewright.targets.refusals import with_way_out

Value = int | float | bool | str
StagedLaunch = tuple[LaunchFacts, StageText]
Found = TypeVar("Found", CompileReport, StagedLaunch)
# What Triton's backends take; they leave out silently what they do not know.
OPTIONS = frozenset(
    {
        "num_warps", "num_stages", "num_ctas", "maxnreg", "ptx_version", "ptx_options",
        "enable_fp_fusion", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "schedule_hint",
        "grf_mode", "warp_size",
    }
)  # fmt: skip
_RECORD = "`tilewright capture -- COMMAND` records a run of yours, or write a spec beside the file"


@dataclass(frozen=True)
class Variant:
    """A target, and compiler options or constexprs to set; written ``cuda:90,num_warps=8``."""

    target: Target
    options: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        return ",".join((str(self.target), *(f"{k}={v}" for k, v in self.options.items())))


@dataclass(frozen=True)
class Launches:
    """What to compile, where, and how much of it is known; ``signatures`` says the last.

    Attributes:
        left_out: kernels that cannot be had from the file by importing it, and why.
    """

    text: str
    bench: Workbench
    launches: tuple[LaunchFacts, ...]
    notes: tuple[str, ...]
    signatures: tuple[Signature, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


def variant(written: str, options: str = "") -> Variant:
    """A variant as written, with options for those it does not set itself.

    Raises:
        InputError: an unknown target, or an option without a value.
    """
    name, _, own = written.partition(",")
    target = target_of(name)
    assert target is not None
    return Variant(target, {**_settings(options), **_settings(own)})


def _settings(text: str) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not name or not value:
            raise InputError(f"cannot read option {part!r}; write num_warps=8")
        found[name.strip()] = _value(value.strip())
    return found


def _value(text: str) -> Value:
    if text in ("True", "False"):
        return text == "True"
    if text[-1].isdigit() or text[-1] == ".":  # `nan` and `inf` are words
        for kind in (int, float):
            with suppress(ValueError):
                return kind(text)
    return text


def how_many(configs: str | None) -> int | None:
    """``--configs``: None if it was not given, 0 for all.

    Raises:
        InputError: neither all, first nor a number above 0.
    """
    if configs is None:
        return None
    if configs in ("all", "first"):
        return int(configs == "first")
    if not configs.isdigit() or not int(configs):
        raise InputError(f"--configs {configs}: write all, first, or how many, e.g. 8")
    return int(configs)


@contextmanager
def launches_of(
    path: Path, kernel: str | None, spec: Path | None, configs: int | None = None
) -> Iterator[Launches]:
    """What the file's problem launches, of all its kernels or of one; inferred without a problem.

    Args:
        configs: how many configurations of an autotuned kernel; 0 for all. None: all that a
            problem launches, the first of those inferred.

    Raises:
        InputError: no such kernel, host code that fails, or nothing launched.
    """
    text = read_source(path)
    module = parse_module(text, str(path))
    require_python(module)
    if kernel is not None and module.kernel(kernel) is None:
        known = ", ".join(k.name for k in module.kernels)
        raise InputError(f"no kernel {kernel}; it has {known or 'none'}", str(path))
    found = problem_of(spec, path)
    with device_for("interpreter", None) as device, scratch_folder() as scratch:
        few = 1 if configs is None else configs
        if found is None:
            bench = Workbench(device, problem_without_spec(path), path, scratch, 0)
            yield _without_spec(bench, module, kernel, few)
            return
        found = sized(found, device, path, text) or found
        bench = Workbench(device, found, path, scratch, secrets.randbits(48))
        launches = _specified(bench, module, kernel)
        if launches.launches:
            yield replace(launches, launches=first_configs(launches.launches, configs or 0))
            return
        other = _without_spec(bench, module, kernel, few)
        said = f"{found.entry.name} launches {kernel} nowhere; its spec says nothing of it"
        yield replace(other, notes=(said, *other.notes))


def _specified(bench: Workbench, module: Module, kernel: str | None) -> Launches:
    """The launches of the problem's measured case."""
    problem = bench.problem
    case = (*problem.measured_cases(), *problem.check_cases())[0]
    capture = bench.capture(module.text, case)
    if capture.failure is not None:
        raise InputError(f"its entry point fails: {capture.failure}", module.path)
    launches = tuple(x for x in capture.launches if kernel is None or x.kernel == kernel)
    if not launches and kernel is None:
        raise InputError(f"{problem.entry.name} launches no Triton kernel", module.path)
    made = tuple(Signature(launch, Origin.SPEC) for launch in launches)
    return Launches(module.text, bench, launches, capture.notes, made)


def _without_spec(bench: Workbench, module: Module, kernel: str | None, configs: int) -> Launches:
    """Captured launches where the project has any of a kernel, inferred ones for the others."""
    kernels = [k for k in inferable(module) if kernel in (None, k.name)]
    if kernel is not None and not kernels:
        kernels = [k for k in module.kernels if k.name == kernel]
    if not kernels:
        raise InputError("has no Triton kernel that can be compiled by itself", module.path)
    names = {k.name for k in kernels}
    found = [s for s in _captured(bench.source_path, module) if s.launch.kernel in names]
    left = [k for k in kernels if k.name not in {s.launch.kernel for s in found}]
    notes = tuple(f"{name}: captured launches" for name in sorted(names - {k.name for k in left}))
    lost: dict[str, str] = {}
    if left:
        placed = str(bench.place(module.text))
        made = inferred(bench.device, module, placed, left, configs or None)
        lost = {s.launch.kernel: _not_made(s) for s in made.signatures if not s.is_made}
        known = [s for s in made.signatures if s.is_made]
        found += known
        notes = (*notes, *made.notes, *_told(known))
    if not found:
        raise InputError(next(iter(lost.values())), module.path)
    launches = tuple(signature.launch for signature in found)
    return Launches(module.text, bench, launches, notes, tuple(found), tuple(lost.items()))


def _not_made(signature: Signature) -> str:
    return with_way_out(CompileMessage(signature.compiler_says)).text


def _captured(path: Path, module: Module) -> tuple[Signature, ...]:
    """What the project's own folder of captured launches has of a file, once for equal ones."""
    folder = project_captures(path)
    if folder is None:
        return ()
    found = captured(load_captures(folder), module, path)
    return tuple({specialization_key(s.launch): s for s in reversed(found)}.values())


def _told(signatures: Sequence[Signature]) -> Iterator[str]:
    """What was assumed of each kernel, once for all its configurations."""
    for name in dict.fromkeys(signature.launch.kernel for signature in signatures):
        one = next(x for x in signatures if x.launch.kernel == name)
        yield f"{name} has neither spec nor captured launch; inferred from the file:"
        yield from (f"  {words}" for words in one.assumptions)
        if one.compiler_says:
            said = one.compiler_says.partition(". ")[0]
            yield f"  none of the signatures tried holds; the compiler says: {said}"
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
class Judged(Generic[Found]):
    """What compilers gave of each launch, and why they gave nothing of the others.

    Attributes:
        not_judged: kernels that nothing here can compile for the target, and why, once for each.
    """

    found: tuple[Found, ...]
    not_judged: tuple[tuple[str, str], ...] = ()

    def say_rest(self) -> None:
        """A line on standard error for each reason, with the kernels that it is of."""
        for kernels, words in by_reason(self.not_judged):
            ERR.print(f"{', '.join(kernels)}: {words}", markup=False)

    def rest_as_json(self) -> list[dict[str, str]]:
        """The same for a program."""
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
    bench = launches.bench
    return _judged(launches, one, lambda x: bench.compile(launches.text, x, one.target))


def staged(launches: Launches, one: Variant, stage: str) -> Judged[StagedLaunch]:
    """Each launch that is judged, and its text at one stage.

    Raises:
        NoToolchainError: none is judged.
    """
    bench = launches.bench
    module = str(bench.place(launches.text))
    return _judged(
        launches, one, lambda x: (x, compile_stage(bench.device, module, x, one.target, stage))
    )


def _judged(launches: Launches, one: Variant, ask: Callable[[LaunchFacts], Found]) -> Judged[Found]:
    found: list[Found] = []
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
