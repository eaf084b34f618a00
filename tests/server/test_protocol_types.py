"""The protocol's classes that are completed at their first use are as attrs makes them."""

import subprocess
import sys

_DESCRIBE = """
import inspect, re, sys
import attrs
if "later" in sys.argv:
    from tilewright_server.protocol_types import import_protocol_types
    import_protocol_types()
from lsprotocol import _hooks, types
from lsprotocol.converters import get_converter
converter = get_converter()
classes = {n: c for n, c in types.ALL_TYPES_MAP.items() if isinstance(c, type)}
waiting = [n for n, c in classes.items() if "construct" in getattr(c.__init__, "__qualname__", "")]
print(len(waiting), file=sys.stderr)
for name, cls in sorted(classes.items()):
    if not attrs.has(cls):
        continue
    compares = [m in vars(cls) for m in ("__eq__", "__ne__", "__repr__", "__lt__")]
    takes = [(p.name, p.kind, p.default) for p in inspect.signature(cls).parameters.values()]
    print(name, takes, cls.__match_args__, cls.__hash__ is None, compares)
    for field in attrs.fields(cls):
        print(" ", re.sub(" at 0x[0-9a-f]+", "", str(field)))
"""


def _described(*arguments: str) -> tuple[str, int]:
    run = subprocess.run(
        [sys.executable, "-c", _DESCRIBE, *arguments], capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stderr
    return run.stdout, int(run.stderr)


def test_every_class_is_as_if_it_had_been_complete_from_the_start() -> None:
    (later, waiting), (at_once, none) = _described("later"), _described()
    assert waiting > 500
    assert none == 0
    assert later.count("\n") > 2000
    assert later == at_once


_CONVERT = """
import sys
if "later" in sys.argv:
    from tilewright_server.protocol_types import import_protocol_types
    import_protocol_types()
from lsprotocol import types
from pygls.protocol import default_converter
converter = default_converter()
opened = {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
    "textDocument": {"uri": "file:///a.py", "version": 2},
    "contentChanges": [{"range": {"start": {"line": 1, "character": 0},
                                  "end": {"line": 1, "character": 2}}, "text": "b"},
                       {"text": "whole"}]}}
print(converter.structure(opened, types.DidChangeTextDocumentNotification))
place = types.Range(types.Position(1, 2), types.Position(3, 4))
found = types.Diagnostic(place, "text", tags=[types.DiagnosticTag.Unnecessary], data={"a": 1})
sent = types.PublishDiagnosticsNotification(types.PublishDiagnosticsParams("file:///a.py", [found]))
print(converter.unstructure(sent))
print(types.Position(1, 2) < types.Position(1, 3), place == types.Range(place.start, place.end))
try:
    types.Position(-1, 0)
except ValueError as error:
    print(error)
"""


def test_messages_are_converted_alike() -> None:
    def converted(*arguments: str) -> str:
        command = [sys.executable, "-c", _CONVERT, *arguments]
        run = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert run.returncode == 0, run.stderr
        return run.stdout

    assert converted("later") == converted()
    assert "contentChanges" not in converted("later")
