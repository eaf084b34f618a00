"""``compile``: cross-compile one launch with the real compiler."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.compiler.errors import CompilationError

from ..compilers import cubin_spills, errors, ir_dumps, metrics
from ..launches.jit_signature import specialize
from ..loading import entry_point, kernel_import
from ..protocol import JobError

if TYPE_CHECKING:
    from ..messages.jobs import Compiled, CompileJob, Message
    from ..messages.parts import Launch, Options

_BACKENDS = {"cuda": "nvidia", "hip": "amd", "xpu": "intel"}
_ROCM_LINKERS = ("/opt/rocm/llvm/bin/ld.lld", "/usr/bin/ld.lld")
_WIDE_WAVES = "gfx9"
_REFUSALS = (
    triton.TritonError, RuntimeError, ValueError, AssertionError, TypeError, AttributeError,
    NameError, NotImplementedError,
)  # fmt: skip
_ASSEMBLERS = ("cubin", "hsaco", "spv", "zebin")


def perform(job: CompileJob) -> Compiled:
    """Compile and read the figures; a kernel the compiler refuses is a report with messages."""
    # They need torch, which a compiler's own environment has not.
    from ..host import absent_device, device_api, tensor_placement

    backend, arch = job["target"]["backend"], str(job["target"]["arch"])
    target = _gpu_target(backend, arch)
    start = time.perf_counter()
    kind = device_api.written_for(job["module"]) or "cuda"
    with absent_device.no_driver(backend, arch, kind), tensor_placement.extensions(kind):
        loaded = kernel_import.load_kernels(job["module"])
        module = loaded.module
        kernel = entry_point.find_kernel(module, job["launch"]["kernel"])
        signature, constants, attributes = specialize(kernel, job["launch"], backend, module)
        source = ASTSource(kernel, signature, constants, attributes)
        timing = timed()
        with fresh(), native_messages() as said, _ptxas_log() as (log, refused), timing as seconds:
            compiled, messages = compile_source(
                source, target, job["launch"], module, said, refused
            )
    if messages and (names := kernel_import.wanting(loaded, kernel)):
        raise JobError(_no_verdict(loaded, kernel, names, f"{backend}:{arch}", messages))
    report: Compiled = {"ok": False, "messages": messages, "artifacts": {}, "details": {}}
    if compiled is not None:
        report |= _figures(compiled, backend, arch, log, job)
        report["details"] |= seconds
        if backend == "cuda" and report["spill_bytes"]:
            found = cubin_spills.spills_by_line(compiled.asm["cubin"], job["module"])
            report["spills_by_line"] = {str(line): list(counts) for line, counts in found.items()}
        report |= ir_dumps.texts(compiled.asm, job.get("emit") or ())
    if dropped := _dropped(target, job["launch"].get("options") or {}):
        report["details"]["options_not_known_to_compiler"] = ", ".join(dropped)
    if notes := loaded.notes():
        report["details"]["imported"] = "; ".join(notes)
    report["toolchain"] = metrics.toolchain(backend, arch)
    report["seconds"] = time.perf_counter() - start
    return report


def _dropped(target: GPUTarget, options: Options) -> list[str]:
    """The options that the backend does not know and leaves out."""
    known = make_backend(target).parse_options({}).__dict__
    return [name for name in options if name not in known]


def _no_verdict(
    loaded: kernel_import.Loaded,
    kernel: Any,
    names: list[str],
    target: str,
    messages: list[Message],
) -> str:
    return (
        f"not compiled for {target}: {kernel.fn.__name__} uses {', '.join(names)}, which the file "
        f"could not be imported with here ({'; '.join(loaded.notes())}); without it the compiler "
        f"says: {messages[0]['text']}"
    )


def _gpu_target(backend: str, arch: str) -> GPUTarget:
    from triton.backends import backends

    if _BACKENDS.get(backend) not in backends or backend == "xpu":
        raise JobError(
            f"no toolchain for {backend}: this interpreter's Triton ({triton.__version__}) "
            f"compiles for {', '.join(sorted(backends))}"
        )
    if backend == "hip":
        _require_rocm_linker()
        return GPUTarget("hip", arch, 64 if arch.startswith(_WIDE_WAVES) else 32)
    if not arch.isdigit():
        raise JobError(f"cuda:{arch} is no compute capability; write cuda:90")
    return GPUTarget("cuda", int(arch), 32)


def _require_rocm_linker() -> None:
    """Triton before 3.5 links AMD code with ROCm's own linker, later ones with their own."""
    from triton.backends.amd import compiler

    if not hasattr(compiler.HIPBackend, "path_to_rocm_lld"):
        return
    named = os.environ.get("TRITON_HIP_LLD_PATH")
    shipped = str(Path(compiler.__file__).parent / "llvm" / "bin" / "ld.lld")
    if not any(path and Path(path).is_file() for path in (named, shipped, *_ROCM_LINKERS)):
        raise JobError(
            f"no toolchain for hip: Triton {triton.__version__} needs ROCm's linker, "
            f"{_ROCM_LINKERS[0]}; install it, set TRITON_HIP_LLD_PATH, or use Triton 3.5 or newer"
        )


def compile_source(
    source: ASTSource,
    target: GPUTarget,
    launch: Launch,
    module: Any,
    said: Callable[[], str],
    refused: Sequence[str] = (),
) -> tuple[Any, list[Message]]:
    """(the compiled kernel or None, why not).

    Args:
        said: reads what native code has printed.
        refused: gets the PTX that NVIDIA's assembler refuses.
    """
    options = dict(launch.get("options") or {})
    try:
        return triton.compile(source, target=target, options=options), []
    except CompilationError as error:
        return None, [errors.located(error, module, source.fn)]
    except _REFUSALS as error:
        ptx = "".join(refused)
        return None, errors.unlocated(str(error), said(), module, source.fn, ptx)


def _figures(compiled: Any, backend: str, arch: str, log: list[str], job: CompileJob) -> Compiled:
    asm, metadata = compiled.asm, compiled.metadata
    found = metrics.amd(asm) if backend == "hip" else metrics.nvidia(asm, "".join(log))
    shared = max(int(metadata.shared), found.get("shared_bytes") or 0)
    limit = job["target"].get("shared_limit") or metrics.shared_limit(backend, arch)
    messages = []
    name = f"{backend}:{arch}"
    if limit is not None and shared > limit:
        text = f"needs {shared} bytes of shared memory, {name} allows {limit}"
        messages.append(errors.message(f"{text}: use smaller tiles or fewer num_stages"))
    if columns := metrics.too_much_tensor_memory(metadata):
        messages.append(errors.message(f"needs {columns} columns of tensor memory, {name} has 512"))
    found["details"]["warps"] = int(metadata.num_warps)
    if columns := getattr(metadata, "tmem_size", 0):
        found["details"]["tensor_memory_columns"] = int(columns)
    return {
        **found, "shared_bytes": shared, "shared_limit": limit, "ok": not messages,
        "messages": messages,
    }  # fmt: skip


def fresh() -> contextlib.AbstractContextManager[Any]:
    """Compile although Triton has it in its cache: only then ptxas tells what it spilled."""
    return mock.patch.dict("os.environ", {"TRITON_ALWAYS_COMPILE": "1"})


@contextlib.contextmanager
def _ptxas_log() -> Iterator[tuple[list[str], list[str]]]:
    """Keep what ptxas says with -v while Triton runs it, and PTX it refuses; Triton keeps neither.

    Yields (what it says, what it refuses).
    """
    log: list[str] = []
    refused: list[str] = []
    original = subprocess.run

    def run(command: Any, *args: Any, **kwargs: Any) -> Any:
        stderr = kwargs.get("stderr")
        try:
            done = original(command, *args, **kwargs)
        except subprocess.CalledProcessError:
            refused.extend(_read(part) for part in command if str(part).endswith(".ptx"))
            raise
        path = getattr(stderr, "name", None)
        if isinstance(path, str):
            log.append(_read(path))
        return done

    with mock.patch.object(subprocess, "run", run):
        yield log, refused


def _read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace")


@contextlib.contextmanager
def native_messages() -> Iterator[Any]:
    """Collect what native code prints to the error channel; yields a function that reads it."""
    with tempfile.TemporaryFile() as file:
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)

        def printed_text() -> str:
            file.seek(0)
            return file.read().decode("utf-8", "replace")

        try:
            yield printed_text
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            os.write(2, file.read()[-8000:])


@contextlib.contextmanager
def timed() -> Iterator[dict[str, float]]:
    """Yields seconds of the front end, the optimizer and the assembler, there when it is done."""
    told: dict[str, float] = {}
    knobs = getattr(triton, "knobs", None)
    if knobs is None or not hasattr(knobs.compilation, "listener"):
        yield told
        return

    def listen(*, times: Any, **_: Any) -> None:
        stages = dict(times.lowering_stages)
        assembler = sum(stages.pop(name, 0) for name in _ASSEMBLERS)
        told["front_end_seconds"] = round(times.ir_initialization / 1e6, 4)
        told["optimizer_seconds"] = round(sum(stages.values()) / 1e6, 4)
        told["assembler_seconds"] = round(assembler / 1e6, 4)

    before = knobs.compilation.listener
    knobs.compilation.listener = listen
    try:
        yield told
    finally:
        knobs.compilation.listener = before
