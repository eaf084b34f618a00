"""The real server with two detectors and rewrites of its own and a scripted engine.

Run as a process by the tests: what the engine finds in a kernel is not their subject.
"""

import ast
import contextlib
import gc
import logging
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import protocol_first  # noqa: F401  isort: skip  before lsprotocol
import attrs
from cattrs.errors import StructureHandlerNotFoundError
from lsprotocol import types
from pygls.protocol import default_converter
from pygls.server import JsonRPCServer

from tilewright.analysis.model import AnalysisContext, Issue, Related
from tilewright.knowledge.stages import Stage
from tilewright.rewrites.model import Numerics, Refusal, Rewrite
from tilewright.source.model import Module
from tilewright_server.__main__ import serve
from tilewright_server.backend import Engine
from tilewright_server.features import code_action, create_server
from tilewright_server.jobs import engine_host
from tilewright_server.requests import lazy_modules

engine_host._LAUNCHER = str(Path(__file__).with_name("level_launcher.py"))
ENGINE = (sys.executable, str(Path(__file__).with_name("fake_engine.py")))
HOST = (*ENGINE, "--host")


def analyze(module: Module, context: AnalysisContext) -> tuple[Issue, ...]:
    """``acc += tl.dot(...)`` and ``tl.exp``, as places to hang fixes on."""
    issues = []
    for kernel in module.kernels:
        if kernel.name == "faulty":
            raise RuntimeError("a fault in a detector")
        for node in ast.walk(kernel.node):
            if isinstance(node, ast.AugAssign) and module.names.is_call(
                node.value, "triton.language.dot"
            ):
                place = module.index.range_of(node)
                related = tuple(
                    Related("launched here", launch.range)
                    for launch in module.launches_of(kernel.name)
                )
                text = "The sum of tl.dot is kept in a second accumulator."
                issues.append(
                    Issue(
                        "dot_accumulator",
                        Stage.DEVICE_SPECIFIC,
                        3,
                        text,
                        kernel.name,
                        place,
                        related,
                    )
                )
            if isinstance(node, ast.Call) and module.names.is_call(node, "triton.language.exp"):
                place = module.index.range_of(node)
                text = "exp may overflow."
                issues.append(Issue("odd_exp", Stage.CORRECTNESS, 4, text, kernel.name, place))
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
                place, text = module.index.range_of(node), "Triton takes no power."
                found = ("unsupported_syntax", Stage.CORRECTNESS, 5, text, kernel.name, place)
                issues.append(Issue(*found))
    return tuple(issues)


def accumulate(module: Module, issue: Issue, context: AnalysisContext) -> str | Refusal:
    return module.text.replace("acc += tl.dot(a, b)", "acc = tl.dot(a, b, acc)")


def refuse(module: Module, issue: Issue, context: AnalysisContext) -> str | Refusal:
    return Refusal("The argument is not known to be bounded.")


def fail(module: Module, issue: Issue, context: AnalysisContext) -> str | Refusal:
    raise RuntimeError("a fault in a rewrite")


def to_exp2(module: Module, issue: Issue, context: AnalysisContext) -> str | Refusal:
    return module.text.replace("tl.exp(x)", "tl.exp2(x * 1.4426950408889634)")


REWRITES = (
    Rewrite(
        "dot_accumulator", "dot_accumulator", "Accumulate inside tl.dot", Numerics.EXACT, accumulate
    ),
    Rewrite("bound_exp", "odd_exp", "Bound the argument", Numerics.EXACT, refuse),
    Rewrite("exp2", "odd_exp", "Use exp2", Numerics.REASSOCIATING, to_exp2),
    Rewrite("narrow", "odd_exp", "Use fewer bits", Numerics.EXACT, to_exp2, needs_launch=True),
)


BROKEN = Rewrite("broken", "odd_exp", "Break", Numerics.EXACT, fail)


def rewrites_for(issue_id: str) -> tuple[Rewrite, ...]:
    known = (*REWRITES, BROKEN) if "TEST_FAULTS" in os.environ else REWRITES
    return tuple(rewrite for rewrite in known if rewrite.issue == issue_id)


_ON_DEMAND = (
    "tilewright.captures.problem",
    "tilewright.certificates.files",
    "tilewright.checking.certified",
    "tilewright.checking.entry",
    "watchdog.observers",
)


def preload() -> None:
    """Import, read and generate what every server needs, so that forks have it."""
    from tilewright.hardware.chips import chip
    from tilewright.knowledge.api import language_api
    from tilewright.knowledge.base import constraints, taxonomy
    from tilewright.knowledge.explain import explain
    from tilewright.knowledge.language_notes import language_note, launch_options
    from tilewright.source import parse_module

    taxonomy()
    constraints("cuda:90", language_api().last)
    chip("cuda:90")
    explain("dot_accumulator")
    language_note("tl.load")
    launch_options()
    parse_module("import triton\n", "preloaded.py")
    create_server(Engine(), ENGINE, HOST)  # it names the modules of its handlers
    for module in (*lazy_modules(), *_ON_DEMAND):
        import_module(module)
    _share_converter()
    gc.freeze()


def _share_converter() -> None:
    """Have every server take one converter, whose code for each type of message is generated.

    A process has one server, so that nothing is shared between two.
    """
    converter = default_converter()
    for kind in vars(types).values():
        if isinstance(kind, type) and attrs.has(kind):
            # A few are never sent to a server: no hook can be made of them.
            with contextlib.suppress(StructureHandlerNotFoundError):
                converter.get_structure_hook(kind)
            converter.get_unstructure_hook(kind)
    original = JsonRPCServer.__init__

    def with_shared(
        server: JsonRPCServer, protocol: Any, factory: object, workers: int | None = None
    ) -> None:
        original(server, protocol, lambda: converter, workers)

    JsonRPCServer.__init__ = with_shared  # type: ignore[method-assign]


def main() -> int:
    if "TEST_LOG" in os.environ:
        logging.basicConfig(level=logging.DEBUG, filename=os.environ["TEST_LOG"])
    code_action._MENU_S = 600.0  # a menu shows the same on a busy machine
    engine = Engine(analyze=analyze, rewrites_for=rewrites_for)
    return serve(create_server(engine, ENGINE, HOST))


if __name__ == "__main__":
    raise SystemExit(main())
