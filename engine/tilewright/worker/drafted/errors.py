"""Why a call ended early: what was raised, on which line, and by whom."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from triton.runtime import interpreter

if TYPE_CHECKING:
    from ..messages.drafted import RunError

_MOST_TEXT = 400


def error_of(error: BaseException, path: str) -> RunError:
    """An error of a call of something in the file ``path``."""
    root = error
    is_kernels = False
    while True:
        is_kernels |= isinstance(root, interpreter.InterpreterError)
        if root.__cause__ is None:
            break
        root = root.__cause__
    frames = [*traceback.extract_tb(error.__traceback__)]
    if root is not error:
        frames += traceback.extract_tb(root.__traceback__)
    own = [at for at, frame in enumerate(frames) if frame.filename == path]
    lines = [frames[at].lineno for at in own]
    launched = next(
        (at for at, frame in enumerate(frames) if _is_launch(frame.filename, frame.name)), None
    )
    host = [frames[at].lineno for at in own if launched is None or at < launched]
    return {
        "kind": type(root).__name__,
        "text": " ".join(str(root).split())[:_MOST_TEXT],
        "line": lines[-1] if lines else None,
        "host_line": host[-1] if host else None,
        "by": _failed_layer(frames, own, launched, is_kernels=is_kernels),
    }


def _is_launch(filename: str, name: str) -> bool:
    return filename == interpreter.__file__ or (
        name in ("run", "__getitem__") and Path(filename).parent.name == "runtime"
    )


def _failed_layer(
    frames: list[traceback.FrameSummary], own: list[int], launched: int | None, *, is_kernels: bool
) -> Literal["host", "launch", "kernel", "torch"]:
    if is_kernels or (launched is not None and own and own[-1] > launched):
        return "kernel"
    if launched is not None:
        return "launch"
    return "host" if own and own[-1] == len(frames) - 1 else "torch"
