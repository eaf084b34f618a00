"""Parsing Python, from any thread.

CPython 3.11 keeps the depth of a syntax tree under construction per interpreter, not per thread, so
that two threads parsing at once may fail with SystemError (python/cpython issue 106905).
"""

import ast
from threading import Lock

_LOCK = Lock()


def parse(text: str) -> ast.Module:
    """``ast.parse`` of a module, one thread at a time; raises what it raises."""
    with _LOCK:
        return ast.parse(text)


def parse_expression(text: str) -> ast.Expression:
    """``ast.parse`` of one expression, one thread at a time; raises what it raises."""
    with _LOCK:
        return ast.parse(text, mode="eval")
