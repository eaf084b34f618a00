"""What is compiled: a problem's launches, for a target, with options set as asked."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tilewright.cli.inputs import problem_of, read_source, target_of
from tilewright.cli.session import device_for, need_problem
from tilewright.errors import InputError
from tilewright.evaluation.workbench import Workbench
from tilewright.scratch import scratch_folder
from tilewright.source import parse_module
from tilewright.targets import compile_stage
from tilewright.targets.model import CompileReport, LaunchFacts, StageText, Target

Value = int | float | bool | str
# What Triton's backends take; they leave out silently what they do not know.
OPTIONS = frozenset(
    {
        "num_warps", "num_stages", "num_ctas", "maxnreg", "ptx_version", "ptx_options",
        "enable_fp_fusion", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "schedule_hint",
        "grf_mode", "warp_size",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """A target, and compiler options or constexprs to set; written ``cuda:90,num_warps=8``."""

    target: Target
    options: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        return ",".join((str(self.target), *(f"{k}={v}" for k, v in self.options.items())))


@dataclass(frozen=True)
class Launches:
    """The launches of a problem's measured case, and where to compile them."""

    text: str
    bench: Workbench
    launches: tuple[LaunchFacts, ...]
    notes: tuple[str, ...]


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
    try:
        return int(text)
    except ValueError:
        return text


@contextmanager
def launches_of(path: Path, kernel: str | None, spec: Path | None) -> Iterator[Launches]:
    """What the file's problem launches, of all its kernels or of one.

    Raises:
        InputError: no such kernel, no problem, host code that fails, or nothing launched.
    """
    text = read_source(path)
    known = [k.name for k in parse_module(text, str(path)).kernels]
    if kernel is not None and kernel not in known:
        raise InputError(f"no kernel {kernel}; it has {', '.join(known) or 'none'}", str(path))
    found = need_problem(problem_of(spec, path), path)
    case = (*found.measured_cases(), *found.check_cases())[0]
    with device_for("interpreter", None) as device, scratch_folder() as scratch:
        bench = Workbench(device, found, path, scratch, secrets.randbits(48))
        capture = bench.capture(text, case)
        if capture.failure is not None:
            raise InputError(f"its entry point fails: {capture.failure}", str(path))
        launches = tuple(x for x in capture.launches if kernel is None or x.kernel == kernel)
        if not launches:
            what = kernel or "no Triton kernel"
            raise InputError(f"{found.entry.name} launches {what} nowhere", str(path))
        yield Launches(text, bench, launches, capture.notes)


def compiled(launches: Launches, one: Variant) -> list[CompileReport]:
    """A report for each launch."""
    return [
        launches.bench.compile(launches.text, with_options(launch, one.options), one.target)
        for launch in launches.launches
    ]


def staged(launches: Launches, one: Variant, stage: str) -> list[tuple[LaunchFacts, StageText]]:
    """Each launch, and its text at one stage."""
    bench = launches.bench
    module = str(bench.place(launches.text))
    varied = (with_options(launch, one.options) for launch in launches.launches)
    return [(x, compile_stage(bench.device, module, x, one.target, stage)) for x in varied]


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
