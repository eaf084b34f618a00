"""What the corpora's drivers share: guarded calls, sizes, a report, and tuners that try little."""

import argparse
import faulthandler
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import triton
from triton.runtime.autotuner import Autotuner

MOST_CONFIGS = 2
# What operations that nobody here wrote have been seen to raise, and some that they may.
FAILURES = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError,
    RuntimeError, SyntaxError, TypeError, ValueError, triton.TritonError,
)  # fmt: skip


@dataclass
class Drive:
    """Calls one operation after another; one that fails is told, and the next goes on.

    Attributes:
        device: "cuda", or "cpu" where kernels run in Triton's interpreter.
        seconds: after which no further operation is begun.
        dtypes: of the tensors that operations are called with; the first where one is enough.
    """

    device: str
    seconds: float
    only: str = ""
    verbose: bool = False
    part: int = 0
    parts: int = 1
    dtypes: tuple[torch.dtype, ...] = (torch.float32,)
    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    asked: int = 0
    patience: float = 45
    started: float = field(default_factory=time.monotonic)

    @property
    def interpreted(self) -> bool:
        return self.device == "cpu"

    def floats(self, *shape: int, dtype: torch.dtype | None = None, grad: bool = False) -> Any:
        """Random numbers, the same in each run of the same operation."""
        made = torch.randn(*shape, dtype=torch.float32)
        return self.on(made.to(dtype or self.dtypes[0])).requires_grad_(grad)

    def integers(self, high: int, *shape: int, low: int = 0, dtype: Any = torch.int64) -> Any:
        return self.on(torch.randint(low, high, shape).to(dtype))

    def on(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self.device)

    def call(self, name: str, operation: Callable[[], Any], *, backward: bool = True) -> None:
        """Call it, and its backward pass where there is one."""
        self.asked += 1
        if self.only not in name or self.asked % self.parts != self.part:
            return
        if time.monotonic() - self.started > self.seconds:
            self.left.append(name)
            return
        if self.verbose:
            _say(name)
        torch.manual_seed(0)
        # What hangs on a device cannot be interrupted: say where, and end this process.
        if not self.interpreted:
            faulthandler.dump_traceback_later(self.patience, exit=True)
        try:
            returned = operation()
            if backward:
                _backward(returned)
            if not self.interpreted:
                torch.cuda.synchronize()
        except FAILURES as error:
            self.failed[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
            _say(f"failed: {name}: {self.failed[name]}")
            if self.verbose:
                traceback.print_exc()
        else:
            self.done.append(name)
        finally:
            faulthandler.cancel_dump_traceback_later()

    def report(self) -> None:
        took = time.monotonic() - self.started
        told = f"{len(self.done)} done, {len(self.failed)} failed, {len(self.left)} not begun"
        left = f"; not begun: {', '.join(self.left)}" if self.left else ""
        _say(f"{told} in {took:.0f} s{left}")


def drive(description: str, *, seconds: float) -> Drive:
    """A drive as the command line asks for it; tuners of this process try few configurations."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seconds", type=float, default=seconds, help="begin no operation after")
    parser.add_argument("--only", default="", help="operations with this in their name")
    parser.add_argument("--part", default="0/1", help="1/3: the second of three equal parts")
    parser.add_argument("--verbose", action="store_true", help="tracebacks of what failed")
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    few_configurations()
    part, parts = map(int, given.part.split("/"))
    return Drive(device, given.seconds, given.only, given.verbose, part=part, parts=parts)


def few_configurations() -> None:
    """A tuner that compiles all it knows would take most of the time: let it have the first few."""
    prune = Autotuner.prune_configs

    def pruned(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        return list(prune(tuner, *args, **kwargs))[:MOST_CONFIGS]

    Autotuner.prune_configs = pruned


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _backward(returned: Any) -> None:
    outputs = [t for t in _tensors(returned) if t.requires_grad and t.is_floating_point()]
    if outputs:
        torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _tensors(item)
