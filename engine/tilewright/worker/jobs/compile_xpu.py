"""``compile_xpu``: one launch through Triton for Intel to SPIR-V, and by ocloc to native code."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from ..compilers import errors, ir_dumps, ocloc, tensor_descriptors
from ..launches.jit_signature import specialize
from ..loading import entry_point, kernel_import, stub_modules
from ..protocol import JobError
from . import compile_launch

if TYPE_CHECKING:
    from ..messages.jobs import Compiled, CompileXpuJob, Message, XpuTarget
    from ..messages.parts import Details, Launch, Options

_WARP_SIZE = 32
_STAGES = 2
_XE_ASM = "xe-asm"
_LARGE = "-cl-intel-256-GRF-per-thread"
_MODES = {"-cl-intel-128-GRF-per-thread": "128", _LARGE: "256"}
_AUTO = "-cl-intel-enable-auto-large-GRF-mode"
# intel-xpu-backend-for-triton, driver.c: what spills more is compiled again with 256 registers.
_RECOMPILED_ABOVE_BYTES = 1000
_OLD_WORDS = {"128": "small", "256": "large"}
_RENAMED_OPTIONS = {"warp_size": "threads_per_warp"}
_LACKING = re.compile(
    r"module 'triton[\w.]*' has no attribute '\w+'|unexpected keyword argument '\w+'"
    r"|cannot import name '\w+' from 'triton[\w.]*'|No module named 'triton[\w.]*'"
)


def perform(job: CompileXpuJob) -> Compiled:
    """Compile and read the figures; a kernel the compilers refuse is a report with messages."""
    start = time.perf_counter()
    target = job["target"]
    options, dropped = _options(job["launch"].get("options") or {})
    descriptors = tensor_descriptors.as_block_pointers()
    # A kernel out of Triton's own cache may name a file that was compiled before.
    anew = compile_launch.fresh() if job.get("emit") else nullcontext()
    with _no_driver(target), anew, descriptors as used:
        launch = tensor_descriptors.taken_apart({**job["launch"], "options": options}, used)
        loaded = _load(job)
        compiled, messages = _to_spirv({**job, "launch": launch}, loaded.module)
        if messages and used.seen and int(options.get("num_stages") or _STAGES) > 1:
            plain: Launch = {**launch, "options": {**options, "num_stages": 1}}
            retried = _to_spirv({**job, "launch": plain}, loaded.module)
            if not retried[1]:
                used.unpipelined, (compiled, messages) = True, retried
    details: Details = {}
    if others := ", ".join(name for name in loaded.absent if name != "torch"):
        details["host_code_without"] = others
        _require_no_errors(messages, f"the compiler's own environment has no {others}")
    if loaded.left_out:
        details["imported"] = notes = "; ".join(loaded.notes())
        _require_no_errors(messages, notes)
    if note := used.note():
        details["tensor_descriptors"] = note
    if dropped:
        details["options_not_known_to_compiler"] = ", ".join(dropped)
    report: Compiled = {"ok": False, "messages": messages, "artifacts": {}, "details": {}}
    if compiled is not None:
        figures, assembly = _figures(compiled, target)
        report |= figures
        texts = {_XE_ASM: assembly}
        report |= _texts(compiled.asm, job.get("emit") or (), texts, figures)
    report["details"] |= details
    report["toolchain"] = _toolchain(target)
    report["seconds"] = time.perf_counter() - start
    return report


def _toolchain(target: XpuTarget) -> str:
    said = f"triton-xpu {triton.__version__}"
    return f"{said}, ocloc {target['ocloc_version']}" if target.get("ocloc") else said


def _options(given: Options) -> tuple[Options, list[str]]:
    """(options in this version's words, names it does not know)."""
    from triton.backends.intel.compiler import XPUOptions

    known = XPUOptions.__dataclass_fields__
    options, dropped = {}, []
    for name, value in given.items():
        name = name if name in known else _RENAMED_OPTIONS.get(name, name)
        if name not in known:
            dropped.append(name)
            continue
        if name == "grf_mode" and _release() < (3, 6):
            value = _OLD_WORDS.get(str(value), value)
        options[name] = value
    return options, dropped


def _release() -> tuple[int, int]:
    major, minor, *_ = triton.__version__.split(".")
    return int(major), int(minor)


@contextmanager
def _no_driver(target: XpuTarget) -> Iterator[None]:
    """Answer what the backend and host code ask of a driver, so that none is built."""
    from triton.backends import backends
    from triton.runtime.driver import driver

    if "intel" not in backends:
        raise JobError(
            f"no toolchain for xpu: Triton {triton.__version__} here compiles for "
            f"{', '.join(sorted(backends))}; `tilewright toolchain install xpu` brings one"
        )
    properties = target["properties"]
    answers = {
        "multiprocessor_count": properties["gpu_subslice_count"],
        "max_shared_mem": target["shared_limit"],
        "sub_group_sizes": properties["sub_group_sizes"],
    }
    driver.set_active(
        SimpleNamespace(
            get_current_target=lambda: GPUTarget("xpu", properties, _WARP_SIZE),
            get_current_device=lambda: 0,
            set_current_device=lambda device: None,
            get_current_stream=lambda device=0: 0,
            get_active_torch_device=lambda: stub_modules.Absent("torch.device", {}),
            get_device_interface=lambda: stub_modules.Absent("torch.xpu", {}),
            get_benchmarker=lambda: None,
            utils=SimpleNamespace(get_device_properties=lambda device=0: answers),
        )
    )
    # The backend builds a helper against SYCL only to name the architecture of a device.
    helper = SimpleNamespace(parse_device_arch=lambda number: "")
    scope = backends["intel"].compiler.__init__.__globals__
    with mock.patch.dict(scope, {"compile_module_from_src": lambda *args, **kwargs: helper}):
        yield


def _load(job: CompileXpuJob) -> kernel_import.Loaded:
    answers = {
        "torch.__version__": job.get("torch") or "2.0.0",
        "torch.version.cuda": None,
        "torch.version.hip": None,
        "torch.cuda.is_available()": False,
        "torch.cuda.device_count()": 0,
        "torch.xpu.is_available()": True,
        "torch.xpu.device_count()": 1,
    }
    return kernel_import.load_kernels(job["module"], answers)


def _require_known(text: str) -> None:
    """Raise if a file asks for more than this Triton has: that is no verdict on the kernel."""
    if lacking := _LACKING.search(text):
        raise JobError(
            f"no toolchain for xpu supports this file: triton-xpu {triton.__version__} "
            f"says: {lacking[0]}"
        )


def _require_no_errors(messages: list[Message], why: str) -> None:
    """What fails without a library may be a kernel that calls into it: that is no verdict."""
    if messages:
        raise JobError(
            f"not compiled for xpu: {why}; compiler message without it: {messages[0]['text']}"
        )


def _to_spirv(job: CompileXpuJob, module: Any) -> tuple[Any, list[Message]]:
    kernel = entry_point.find_kernel(module, job["launch"]["kernel"])
    signature, constants, attributes = specialize(kernel, job["launch"], "xpu", module)
    source = ASTSource(kernel, signature, constants, attributes)
    target = GPUTarget("xpu", job["target"]["properties"], _WARP_SIZE)
    with compile_launch.native_messages() as said:
        compiled, messages = compile_launch.compile_source(
            source, target, job["launch"], module, said
        )
    for message in messages:
        _require_known(message["text"])
    return compiled, messages


def _figures(compiled: Any, target: XpuTarget) -> tuple[Compiled, str]:
    """(the figures, the assembly)."""
    metadata = compiled.metadata
    shared, limit = int(metadata.shared), int(target["shared_limit"])
    details: Details = {
        "warps": int(metadata.num_warps),
        "sub_group_size": int(metadata.threads_per_warp),
    }
    found: Compiled = {"registers": None, "spill_bytes": None, "code_bytes": None}
    assembly = ""
    messages = [errors.message(text) for text in _over_limits(metadata, target, shared, limit)]
    if not target.get("ocloc"):
        details["native"] = "not compiled: no ocloc"
    elif not messages:
        native, mode = _native(compiled, target)
        details.update(_native_details(native, mode, target))
        if native is not None:
            messages += [errors.message(f"ocloc: {native.error}")] if native.error else []
            assembly = native.assembly
            found = {
                "registers": native.registers, "spill_bytes": native.spill_bytes,
                "code_bytes": native.code_bytes,
            }  # fmt: skip
    return {
        **found, "shared_bytes": shared, "shared_limit": limit,
        "ok": not messages, "messages": messages, "details": details,
    }, assembly  # fmt: skip


def _texts(
    asm: Mapping[str, Any],
    wanted: Sequence[str],
    more: Mapping[str, str],
    report: Compiled,
) -> Compiled:
    found = ir_dumps.texts(asm, wanted, more)
    if _XE_ASM in found["missing"]:
        said = [m["text"] for m in report["messages"]]
        why = report["details"].get("native") or "; ".join(said) or "ocloc dumped no assembly"
        found["missing"][_XE_ASM] = str(why)
    return found


def _over_limits(metadata: Any, target: XpuTarget, shared: int, limit: int) -> Iterator[str]:
    """What the driver would refuse at launch."""
    name = f"{target['backend']}:{target['arch']}"
    properties = target["properties"]
    if shared > limit:
        yield (
            f"needs {shared} bytes of shared memory, {name} allows {limit}: use smaller tiles or "
            "fewer num_stages"
        )
    if metadata.num_warps > properties["max_num_sub_groups"]:
        most = properties["max_num_sub_groups"]
        yield f"num_warps={metadata.num_warps}: {name} has at most {most} sub-groups a program"
    threads = metadata.num_warps * metadata.threads_per_warp
    if threads > properties["max_work_group_size"]:
        yield (
            f"{metadata.num_warps} warps of {metadata.threads_per_warp} are {threads} work items, "
            f"{name} allows {properties['max_work_group_size']} a program"
        )


def _native(compiled: Any, target: XpuTarget) -> tuple[ocloc.Native | None, str]:
    """(native code, register mode); None if this ocloc does not know the chip."""
    flags = str(compiled.metadata.build_flags)
    folder = Path(tempfile.mkdtemp())

    def build(flags: str, name: str) -> ocloc.Native:
        return ocloc.compile_native(
            str(target["ocloc"]), compiled.asm["spv"], target["device"], flags,
            target["register_bytes"], folder / name,
        )  # fmt: skip

    try:
        native = build(flags, "first")
        if flags in _MODES or flags == _AUTO:
            return native, _MODES.get(flags, "auto")
        limit = _RECOMPILED_ABOVE_BYTES if _release() < (3, 6) else 0
        if (native.spill_bytes or 0) <= limit or compiled.metadata.num_warps > 32:
            return native, "default"
        return build(f"{flags} {_LARGE}".strip(), "large"), "default, compiled again with 256"
    except ocloc.UnknownDeviceError:
        return None, ""


def _native_details(native: ocloc.Native | None, mode: str, target: XpuTarget) -> Details:
    if native is None:
        version, device = target["ocloc_version"], target["device"]
        return {"native": f"not compiled: ocloc {version} does not know {device}"}
    details: Details = {"register_mode": mode}
    if native.seconds:
        details["assembler_seconds"] = native.seconds
    if native.spill_message:
        details["spill_message"] = native.spill_message
    if native.spill_bytes:
        details["spill_unit"] = ocloc.SPILL_UNIT
        details["spilled_registers"] = native.spill_bytes // int(target["register_bytes"])
    return details
