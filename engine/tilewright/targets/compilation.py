"""Compiling one captured launch for one target, through a device's worker and a cache."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import tilewright
from tilewright.harness_fault import harness_fault
from tilewright.serialize import dump, load
from tilewright.targets.cache import ReportCache, cache_key, text_cache
from tilewright.targets.error_hints import placed, with_way_out
from tilewright.targets.line_report import READ, digest
from tilewright.targets.model import (
    CompileMessage,
    CompileReport,
    LaunchFacts,
    LineReport,
    StageText,
    Target,
)
from tilewright.targets.toolchains import NoToolchainError, XpuToolchain, xpu_toolchain
from tilewright.targets.xpu import describe
from tilewright.worker.messages.jobs import Compiled, CompileJob, CompileXpuJob

if TYPE_CHECKING:
    from tilewright.devices.client import WorkerClient
    from tilewright.devices.model import Device, JobOutcome

COMPILE_SECONDS = 120.0
# How a worker's message begins when the kernel was not judged.
_NO_VERDICT = ("no toolchain for", "not compiled for")
# Threads that read reports while the others wait for compilers.
_READING = 1
Progress = Callable[[int, int], None]


def compile_launch(
    device: Device,
    module_path: str,
    launch: LaunchFacts,
    target: Target,
    *,
    shared_limit: int | None = None,
    timeout_s: float = COMPILE_SECONDS,
    cache: ReportCache | None = None,
) -> CompileReport:
    """What the compilers make of a launch; a kernel they refuse is a report that is not ok.

    Args:
        shared_limit: bytes of shared memory a program may use, if the worker's own table is not
            to decide.

    Raises:
        NoToolchainError: this Triton has no backend for the target.
        DeviceError: the worker cannot start, or went away twice: nothing is known of the kernel.
    """
    start = time.monotonic()
    _refuse_without_compiler(target)
    cache = cache or ReportCache()
    asked = _Asked(device, module_path, launch, target, shared_limit)
    key = asked.key()
    found = cache.get(key)
    if found is not None:
        return _report(found, launch, target, time.monotonic() - start, cached=True)
    outcome = asked.run(timeout_s, READ[target.backend])
    if outcome.status == "ok":
        told = _read(outcome.value, module_path, target)
        cache.put(key, told)
        return _report(told, launch, target, outcome.seconds, cached=False)
    return _failed(outcome, launch, target, module_path)


def _refuse_without_compiler(target: Target) -> None:
    if target.backend == "neuron":
        raise NoToolchainError(
            f"Tilewright runs no compiler for {target}: it does not use AWS's, and Triton has no "
            "backend for NeuronCores. NKI kernels are simulated and estimated instead: "
            "--device neuron-sim"
        )


@runtime_checkable
class _Stoppable(Protocol):
    """A device whose jobs can be stopped while it stays."""

    def cancel(self) -> None: ...


def stop_compiling(device: Device, targets: Iterable[Target]) -> None:
    """Stop what is being compiled for the targets; the compilers stay for the next caller."""
    if isinstance(device, _Stoppable):
        device.cancel()
    else:
        device.close()
    if any(target.backend == "xpu" for target in targets):
        try:
            toolchain = xpu_toolchain()
        except NoToolchainError:
            return
        _compiler(toolchain).cancel()


def _read(value: Compiled, module_path: str, target: Target) -> dict[str, Any]:
    """A worker's answer with its texts read, line by line, and left out."""
    texts = {name: without_folder(text, module_path) for name, text in value["artifacts"].items()}
    spills = {int(line): (at[0], at[1]) for line, at in value.get("spills_by_line", {}).items()}
    found = digest(target.backend, texts, Path(module_path).name, spills)
    left_out = ("artifacts", "missing", "spills_by_line")
    kept = {name: part for name, part in value.items() if name not in left_out}
    details = {**(value.get("details") or {}), **found.mix}
    messages = [dump(_plain(load(CompileMessage, m), module_path)) for m in value["messages"]]
    return {
        **kept,
        "details": details,
        "messages": messages,
        "lines": [dump(line) for line in found.lines],
    }


def _plain(message: CompileMessage, module_path: str, said: str = "") -> CompileMessage:
    """A message with its line, if any word tells it, and with what to do."""
    text = without_folder(message.text, module_path)
    source = Path(module_path).name
    return with_way_out(placed(replace(message, text=text), said or text, source))


def compile_stage(
    device: Device,
    module_path: str,
    launch: LaunchFacts,
    target: Target,
    stage: str,
    *,
    timeout_s: float = COMPILE_SECONDS,
    cache: ReportCache | None = None,
) -> StageText:
    """The text of one stage of a launch's compilation; from a cache of its own.

    Raises:
        NoToolchainError, DeviceError: as ``compile_launch`` does.
    """
    _refuse_without_compiler(target)
    cache = cache or text_cache()
    asked = _Asked(device, module_path, launch, target)
    key = asked.key(stage)
    found = cache.get(key)
    if found is None:
        outcome = asked.run(timeout_s, emit=(stage,))
        if outcome.status != "ok":
            return StageText(
                stage,
                None,
                _joined_messages(_failed(outcome, launch, target, module_path).messages),
            )
        found = _stage(outcome.value, stage, module_path)
        if found["text"] is not None:  # what is missing may be installed later
            cache.put(key, found)
    return StageText(stage, found["text"], found["missing"])


def _stage(value: Compiled, stage: str, module_path: str) -> dict[str, Any]:
    text = value["artifacts"].get(stage)
    if text is not None:
        depends = value.get("depends")
        return {"text": without_folder(text, module_path), "missing": "", "depends": depends}
    told = _joined_messages(tuple(load(CompileMessage, message) for message in value["messages"]))
    return {"text": None, "missing": value.get("missing", {}).get(stage) or told}


def _joined_messages(messages: tuple[CompileMessage, ...]) -> str:
    return "; ".join(message.text for message in messages)


def without_folder(text: str, module_path: str) -> str:
    """A stage's text with the module, and what lies next to it, named without its folder."""
    for folder in {str(Path(module_path).parent), str(Path(module_path).resolve().parent)}:
        text = text.replace(f"{folder}/", "").replace(folder, ".")
    return text


@dataclass(frozen=True)
class _Asked:
    """One question to the compilers."""

    device: Device
    module_path: str
    launch: LaunchFacts
    target: Target
    shared_limit: int | None = None

    @cached_property
    def toolchain(self) -> XpuToolchain | None:
        return xpu_toolchain() if self.target.backend == "xpu" else None

    def key(self, stage: str = "") -> str:
        compilers = self.toolchain.identity if self.toolchain else self.device.info.triton
        key = cache_key(compilers, self.module_path, self.launch, self.target, self.shared_limit)
        return hashlib.sha256(f"{key} {stage}".encode()).hexdigest() if stage else key

    def run(self, timeout_s: float, emit: tuple[str, ...] = ()) -> JobOutcome[Compiled]:
        limit = {} if self.shared_limit is None else {"shared_limit": self.shared_limit}
        if self.toolchain is None:
            job: CompileJob = {
                "kind": "compile", "module": self.module_path, "launch": dump(self.launch),
                "target": {**dump(self.target), **limit}, "emit": list(emit),
            }  # fmt: skip
            return self.device.run(job, timeout_s)
        # Host code gets the version of torch; the compiler's interpreter has none.
        found = self.toolchain.ocloc
        native = {"ocloc": found and found.path, "ocloc_version": found.version if found else ""}
        where: Any = {**describe(self.target), **native, **limit}
        job_xpu: CompileXpuJob = {
            "kind": "compile_xpu", "module": self.module_path, "launch": dump(self.launch),
            "target": where, "emit": list(emit), "torch": self.device.info.torch,
        }  # fmt: skip
        return _compiler(self.toolchain).run(job_xpu, timeout_s)


def _compiler(toolchain: XpuToolchain) -> WorkerClient:
    from tilewright.devices.discovery import compiler

    return compiler(toolchain.python)


def _report(
    found: Mapping[str, Any], launch: LaunchFacts, target: Target, seconds: float, cached: bool
) -> CompileReport:
    return CompileReport(
        target=target,
        kernel=launch.kernel,
        launch=launch,
        ok=found["ok"],
        messages=tuple(load(CompileMessage, message) for message in found["messages"]),
        registers=found.get("registers"),
        spill_bytes=found.get("spill_bytes"),
        shared_bytes=found.get("shared_bytes"),
        shared_limit=found.get("shared_limit"),
        code_bytes=found.get("code_bytes"),
        toolchain=found["toolchain"],
        seconds=seconds,
        cached=cached,
        details=found.get("details") or {},
        lines=tuple(load(LineReport, line) for line in found.get("lines") or ()),
    )


def _failed(
    outcome: JobOutcome[Compiled], launch: LaunchFacts, target: Target, module_path: str
) -> CompileReport:
    if outcome.message.startswith(_NO_VERDICT):
        raise NoToolchainError(outcome.message)
    if outcome.status == "fault":
        what = f"{launch.kernel} was not compiled for {target}: {outcome.message}"
        details = {"traceback": f"\n{outcome.traceback or 'none'}"}
        raise harness_fault(what, tilewright.__version__, str(target), details)
    if outcome.status == "lost":
        from tilewright.devices.model import DeviceError

        raise DeviceError(f"{launch.kernel} was not compiled for {target}: {outcome.message}")
    printed = outcome.output.strip().splitlines()
    text = outcome.message
    if outcome.status != "error":
        text = f"the compiler {outcome.message}" + (f": {printed[-1]}" if printed else "")
    message = _plain(CompileMessage(text), module_path, outcome.output)
    return CompileReport(target, launch.kernel, launch, False, (message,), seconds=outcome.seconds)


class Wanted(NamedTuple):
    """One launch to compile: of the kernel of which file, for which chip."""

    module_path: str
    launch: LaunchFacts
    target: Target


def compile_many(
    device: Device,
    wanted: Sequence[tuple[str, LaunchFacts, Target]],
    *,
    progress: Progress | None = None,
    parallel: int | None = None,
    timeout_s: float = COMPILE_SECONDS,
    cache: ReportCache | None = None,
) -> list[CompileReport | NoToolchainError]:
    """A report for each launch, in the order asked for.

    Args:
        progress: called in the caller's thread with (done, all) whenever one is done.
        parallel: how many at a time; if not given, as many as keep all processors busy.

    Returns:
        In the place of a report the error that says nothing here compiles for its target.

    Raises:
        DeviceError: as ``compile_launch`` does; what was compiled until then is in the cache.

    Left early, by an error or by Ctrl-C, it stops what is being compiled.
    """
    cache = cache or ReportCache()

    def one(asked: tuple[str, LaunchFacts, Target]) -> CompileReport | NoToolchainError:
        try:
            return compile_launch(device, *asked, timeout_s=timeout_s, cache=cache)
        except NoToolchainError as error:
            return error

    with ThreadPoolExecutor(parallel or len(os.sched_getaffinity(0)) + _READING) as pool:
        futures = [pool.submit(one, asked) for asked in wanted]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                if progress is not None:
                    progress(done, len(futures))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            stop_compiling(device, {asked[2] for asked in wanted})
            raise
    return [future.result() for future in futures]
