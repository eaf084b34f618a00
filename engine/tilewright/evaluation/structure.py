"""The second step: may the candidate change what it changes?

A candidate may rewrite kernels, their configurations and their launches. It may not drop
kernels, change the entry point's contract, or bring in what a kernel edit never needs. This
is a filter that explains; what really ran is established by the later steps.
"""

import ast
from collections.abc import Iterator

from tilewright.evaluation.constraints import constraint_violations
from tilewright.evaluation.model import StepName, StepResult, StepStatus
from tilewright.problems.model import Entry, EntryKind
from tilewright.source.model import Module
from tilewright.targets.model import Target

FORBIDDEN_MODULES = frozenset(
    {
        "asyncio",
        "atexit",
        "builtins",
        "ctypes",
        "gc",
        "importlib",
        "inspect",
        "io",
        "multiprocessing",
        "os",
        "pathlib",
        "pickle",
        "runpy",
        "shutil",
        "signal",
        "socket",
        "subprocess",
        "sys",
        "tempfile",
        "threading",
        "time",
        "urllib",
        "weakref",
    }
)
FORBIDDEN_CALLS = frozenset(
    {
        "__import__",
        "compile",
        "delattr",
        "eval",
        "exec",
        "globals",
        "locals",
        "open",
        "setattr",
        "vars",
    }
)
HOST_HELPERS = frozenset(
    {
        "torch.empty",
        "torch.empty_like",
        "torch.empty_strided",
        "torch.zeros",
        "torch.zeros_like",
        "torch.full",
        "torch.full_like",
        "torch.cuda.get_device_properties",
        "torch.xpu.get_device_properties",
        "torch.float16",
        "torch.bfloat16",
        "torch.float32",
        "torch.int32",
        "torch.int64",
        "torch.Tensor",
    }
)


def check_structure(
    original: Module,
    candidate: Module,
    entry: Entry | None,
    target: Target | None,
    triton_version: tuple[int, int] | None = None,
) -> StepResult:
    """Compare the candidate's structure with the original's; every violation is named."""
    faults = [
        *_lost_kernels(original, candidate),
        *(_entry_faults(original, candidate, entry) if entry else ()),
        *_new_names(original, candidate),
        *constraint_violations(original, candidate, target, triton_version),
    ]
    if faults:
        return StepResult(StepName.STRUCTURE, StepStatus.FAILED, "; ".join(faults))
    return StepResult(StepName.STRUCTURE, StepStatus.PASSED)


def _lost_kernels(original: Module, candidate: Module) -> Iterator[str]:
    there = {kernel.name for kernel in candidate.kernels}
    for kernel in original.entry_kernels():
        if kernel.name not in there:
            yield f"kernel {kernel.name} is gone; keep it under its name"
        elif not candidate.launches_of(kernel.name):
            yield f"kernel {kernel.name} is no longer launched; its work must stay in Triton"


def _entry_faults(original: Module, candidate: Module, entry: Entry) -> Iterator[str]:
    if entry.path is not None or entry.kind is EntryKind.LAUNCH:
        return
    before, after = _definition(original, entry), _definition(candidate, entry)
    if before is None:
        return
    if after is None:
        yield f"the entry point {entry.name} is gone; the problem calls it"
    elif _signature(before) != _signature(after):
        yield (
            f"the entry point {entry.name} changed its parameters "
            f"from ({_signature(before)}) to ({_signature(after)})"
        )


def _definition(module: Module, entry: Entry) -> ast.FunctionDef | None:
    body: list[ast.stmt] = module.tree.body
    name = entry.name
    if entry.kind is EntryKind.MODEL:
        found = next(
            (n for n in body if isinstance(n, ast.ClassDef) and n.name == entry.name), None
        )
        body, name = (found.body if found else []), "forward"
    return next((n for n in body if isinstance(n, ast.FunctionDef) and n.name == name), None)


def _signature(function: ast.FunctionDef) -> str:
    return ast.unparse(function.args)


def _new_names(original: Module, candidate: Module) -> Iterator[str]:
    known = set(_suspicious(original))
    for name in dict.fromkeys(_suspicious(candidate)):
        if name not in known:
            yield f"{name} is not in the original, and a kernel edit does not need it"


def _suspicious(module: Module) -> Iterator[str]:
    kernel_nodes = {id(inner) for kernel in module.kernels for inner in ast.walk(kernel.node)}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _suspicious_imports(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in FORBIDDEN_CALLS:
                yield f"a call of {node.func.id}"
        elif isinstance(node, ast.ExceptHandler):
            yield "an except clause"
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield f"{type(node).__name__.lower()} {', '.join(node.names)}"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield "the @ operator"
        elif isinstance(node, ast.Attribute) and id(node) not in kernel_nodes:
            yield from _suspicious_attribute(module, node)


def _suspicious_imports(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    names = (
        [alias.name for alias in node.names]
        if isinstance(node, ast.Import)
        else [f"{node.module}.{alias.name}" for alias in node.names]
    )
    for name in names:
        root = name.split(".")[0]
        if root in FORBIDDEN_MODULES:
            yield f"module {root}"


def _suspicious_attribute(module: Module, node: ast.Attribute) -> Iterator[str]:
    name = module.names.resolve(node)
    if name is None or isinstance(getattr(node, "ctx", None), ast.Store):
        return
    if name.startswith("torch.") and name.count(".") >= 1 and name not in HOST_HELPERS:
        yield name
