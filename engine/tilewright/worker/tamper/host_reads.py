"""Methods by which contents of tensors come to Python without an operator of the dispatcher."""

from __future__ import annotations

import sys
from typing import Any

from torch.overrides import TorchFunctionMode

from ..operator_names import PAST_THE_DISPATCHER
from .operator_log import note
from .user_frames import user_frame


class Reading(TorchFunctionMode):
    """Notes each such method that the user's host code calls, as ``Operators`` notes operators."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, dict[str, Any]] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        frame = user_frame(sys._getframe(1)) if name in PAST_THE_DISPATCHER else None
        if frame is not None:
            note(self.seen, f"tensor.{name}", args, frame)
        return func(*args, **(kwargs or {}))
