"""Launches that are recorded, and run in the interpreter once host code needs what they compute.

Host code that reads a result (``if int(counts.sum()) != n: raise``) cannot be followed where
nothing runs. A launch waits until an operator takes memory that it may have written; then all that
wait run, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from triton.runtime.interpreter import InterpretedFunction

from ..interpreter import switch
from ..loading import host_timeout
from ..protocol import READS_RESULT, JobError

BUDGET_S = 60.0
_HARMLESS = {
    "__get__", "stride", "size", "dim", "numel", "nelement", "element_size", "data_ptr",
    "storage_offset", "untyped_storage", "is_contiguous", "is_floating_point", "is_complex",
    "get_device", "view", "view_as", "reshape", "t", "transpose", "permute", "unsqueeze", "squeeze",
    "expand", "expand_as", "detach", "narrow", "as_strided", "flatten", "unflatten", "movedim",
    "chunk", "split", "unbind", "select", "__getitem__", "empty_like", "new_empty", "__repr__",
    "__len__",
}  # fmt: skip
"""Functions that look at no contents, as long as what they give shares the memory."""
_READS = {
    "item", "tolist", "__bool__", "__int__", "__float__", "__index__", "__contains__", "numpy",
    "__array__", "nonzero", "equal", "allclose", "unique", "masked_select", "any", "all",
}  # fmt: skip


class Deferred(TorchFunctionMode):
    """Runs what waits as soon as its results are needed.

    Attributes:
        ran: kernels that were run, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []
        self._waiting: list[tuple[Any, Any, tuple[Any, ...], dict[str, Any]]] = []
        self._memory: set[int] = set()
        self._left_s = BUDGET_S

    def launched(
        self, kernel: Any, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """A launch that may have to be run."""
        self._waiting.append((kernel, grid, args, kwargs))
        self._memory |= set(_memory_of((*args, *kwargs.values())))

    def notes(self) -> list[str]:
        """A sentence for a person where launches were run."""
        if not self.ran:
            return []
        names = ", ".join(dict.fromkeys(self.ran))
        return [
            f"{READS_RESULT}: {len(self.ran)} launches ({names}) ran in the interpreter up to there"
        ]

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        given = (*args, *kwargs.values())
        if self._waiting and self._needs(func, given):
            self._run(getattr(func, "__name__", ""))
        return func(*args, **kwargs)

    def _needs(self, func: Any, given: tuple[Any, ...]) -> bool:
        touched = self._memory & set(_memory_of(given))
        if not touched:
            return False
        name = getattr(func, "__name__", "")
        if name == "contiguous":
            return not given[0].is_contiguous()
        return name not in _HARMLESS

    def _run(self, reader: str) -> None:
        if self._left_s > 0:
            try:
                with host_timeout.limited(self._left_s) as spent:
                    self._run_all()
                self._left_s -= spent()
                return
            except host_timeout.TookTooLongError:
                self._left_s = 0.0
        if reader in _READS:
            kernel = self._waiting[0][0].fn.__name__
            raise JobError(
                f"{READS_RESULT} (by {reader}), and running the launches up to there in the "
                f"interpreter takes more than {BUDGET_S:.0f} s ({kernel} is under way): name a "
                "smaller case"
            )

    def _run_all(self) -> None:
        with switch.interpreted():
            while self._waiting:
                kernel, grid, args, kwargs = self._waiting[0]
                InterpretedFunction(kernel.fn).run(*args, grid=grid, warmup=False, **kwargs)
                self.ran.append(kernel.fn.__name__)
                self._waiting.pop(0)
        self._memory.clear()


def _memory_of(values: Any) -> Iterator[int]:
    """Where the memory of tensors begins, in lists and descriptors too."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from _memory_of(value)
            continue
        tensor = getattr(value, "base", None) if not isinstance(value, torch.Tensor) else value
        if isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided:
            yield tensor.untyped_storage().data_ptr()
