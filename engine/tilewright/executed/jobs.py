"""The functions of a file that are run, and their calls in a worker, with answers kept on disk."""

import ast
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tilewright.devices.model import Device, JobStatus
from tilewright.errors import TilewrightError
from tilewright.executed.drafts import Space, space_of
from tilewright.executed.observations import Run
from tilewright.executed.parameters import parameters_of
from tilewright.executed.search import Tried, tried
from tilewright.home import home
from tilewright.source.callgraph import CallGraph, call_graph
from tilewright.source.model import Module
from tilewright.targets.cache import ReportCache, content_key
from tilewright.worker.messages.drafted import (
    DraftedCall,
    DraftedJob,
    DraftedRun,
    DraftedRuns,
    RunError,
)

_SIZES = frozenset(1 << n for n in range(4, 13))
_MOST_SIZES = 2
_CALL_S = 2.0
_START_S = 60.0
_COUNTED_CALLS = 6
"""As many calls as one may last whose costs are counted."""


@dataclass(frozen=True)
class HostFunction:
    """A function as a call names it, with its node and the parameters that are not given."""

    name: str
    node: ast.FunctionDef
    skip: int = 0


def host_functions(module: Module) -> Iterator[HostFunction]:
    """The functions of the file's own scope that come to a launch, and what autograd applies."""
    graph = call_graph(module)
    for name, node in module.host_functions.items():
        if not _launches(graph, name):
            continue
        owner, _, method = name.rpartition(".")
        if not owner:
            yield HostFunction(name, node)
        elif method == "forward" and _is_applied(module, owner):
            yield HostFunction(f"{owner}.apply", node, 1)


def differentiable_functions(module: Module) -> Iterator[str]:
    """What autograd applies that comes to a launch in its backward pass alone."""
    graph = call_graph(module)
    for name in module.host_functions:
        owner, _, method = name.rpartition(".")
        is_of_class = method == "backward" and _is_applied(module, owner)
        if is_of_class and _launches(graph, name) and not _launches(graph, f"{owner}.forward"):
            yield f"{owner}.apply"


def launching_methods(module: Module) -> list[str]:
    """Public methods of classes of the file's own scope that come to a launch, but for those of
    autograd functions and those that another of them calls."""
    graph = call_graph(module)
    found, called = [], set[str]()
    for name, node in module.host_functions.items():
        owner, _, method = name.rpartition(".")
        is_public = method in ("forward", "__call__") or not method.startswith("_")
        if owner and _is_method(node) and not _is_applied(module, owner):
            called |= {step.edge.callee for step in graph.reached(name) if step.edge.callee}
            if is_public and _is_class(module, owner) and _launches(graph, name):
                found.append(name)
    return [name for name in found if name not in called]


def _is_method(node: ast.FunctionDef) -> bool:
    """Whether a function gets the object that it is called of."""
    decorators = {ast.unparse(one) for one in node.decorator_list}
    is_other = decorators & {"staticmethod", "classmethod", "property"}
    return bool(node.args.args) and node.args.args[0].arg == "self" and not is_other


def _is_class(module: Module, name: str) -> bool:
    return any(isinstance(node, ast.ClassDef) and node.name == name for node in module.tree.body)


def _launches(graph: CallGraph, name: str) -> bool:
    return any(step.edge.launch is not None for step in graph.reached(name))


def _is_applied(module: Module, owner: str) -> bool:
    """Whether a class is an autograd function, as its bases are written."""
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef) and node.name == owner:
            return any(ast.unparse(base).endswith("Function") for base in node.bases)
    return False


def spaces(module: Module) -> Iterator[Space]:
    """The drafts of the calls of each of its host functions."""
    lines = tuple(module.text.splitlines())
    plain = tuple(_plain_functions(module))
    for function in host_functions(module):
        parameters = parameters_of(module, function.node, skip=function.skip)
        yield space_of(function.name, parameters, lines, _tiles(function.node), plain)


def _plain_functions(module: Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Functions of the file's own scope that come to no launch and are no kernels."""
    graph = call_graph(module)
    kernels = {kernel.name for kernel in module.kernels}
    own = (node for node in module.tree.body if isinstance(node, ast.FunctionDef))
    for node in own:
        is_plain = node.name not in kernels and not node.decorator_list
        if is_plain and not _launches(graph, node.name):
            yield node.name, tuple(argument.arg for argument in node.args.args)


def _tiles(function: ast.FunctionDef) -> tuple[int, ...]:
    """The powers of two among a function's literals that tiles may have, in order."""
    found = (n.value for n in ast.walk(function) if isinstance(n, ast.Constant))
    sizes = (n for n in found if type(n) is int and n in _SIZES)
    return tuple(dict.fromkeys(sizes))[:_MOST_SIZES]


class NotImportedError(TilewrightError):
    """The file cannot be imported; ``error`` says where and why."""

    def __init__(self, error: RunError) -> None:
        super().__init__(f"it cannot be imported: {error['kind']}: {error['text']}")
        self.error = error


def all_tried(module: Module, path: str, device: Device) -> list[Tried]:
    """What became of each function of a file that launches kernels.

    Args:
        path: where the module's text lies, as it is imported.

    Raises:
        NotImportedError: importing the file fails.
    """
    run = runner(path, device)
    return [tried(space, run) for space in spaces(module)]


def runner(path: str, device: Device, written: Path | None = None, seconds: float = _CALL_S) -> Run:
    """Runs calls of a file on a device; what ends the process is the outcome of one call alone.

    Args:
        written: a module of calls and references.
        seconds: that a call may take.
    """
    cache = ReportCache(home() / "executed")
    info = device.info
    versions = f"{info.python} {info.torch} {info.triton}"
    if written is not None:
        versions += f" {hashlib.sha256(written.read_bytes()).hexdigest()}"

    def run(calls: Sequence[DraftedCall]) -> list[DraftedRun]:
        if not calls:
            return []
        key = content_key(path, ("drafted", json.dumps(list(calls), sort_keys=True), versions))
        kept = cache.get(key)
        if kept is not None:
            return _runs(cast("DraftedRuns", kept))
        job: DraftedJob = {
            "kind": "drafted", "device": info.id, "module": path, "calls": list(calls),
            "written": str(written) if written else None, "seconds": seconds,
        }  # fmt: skip
        outcome = device.run(job, _START_S + seconds * sum(_lasting(one) for one in calls))
        if outcome.status is JobStatus.OK:
            cache.put(key, dict(outcome.value))
            return _runs(outcome.value)
        if len(calls) == 1:
            return [_ended(outcome.message)]
        return [one for call in calls for one in run([_alone(call)])]

    return run


def _lasting(call: DraftedCall) -> int:
    return _COUNTED_CALLS if call.get("reference", {}).get("counted") else 1


def _alone(call: DraftedCall) -> DraftedCall:
    """A call that is compared with no other."""
    found = call.copy()
    found.pop("like", None)
    return found


def _runs(found: DraftedRuns) -> list[DraftedRun]:
    if found["failure"] is not None:
        raise NotImportedError(found["failure"])
    return found["runs"]


def _ended(message: str) -> DraftedRun:
    error: RunError = {
        "kind": "job", "text": message, "line": None, "host_line": None, "by": "host",
    }  # fmt: skip
    return {"error": error}
