"""Calls of a file's functions and references for them, as a module of their own states them.

For a function ``f`` the module defines ``calls_f()``, a list of dictionaries of arguments by name,
and ``reference_f`` or ``faster_f`` with the parameters of ``f``; for ``C.apply`` they are named
after ``C``. Of a method ``C.m`` they are named ``calls_C_m`` and so on; ``calls_C_m`` takes the
class, and "self" is an argument like others.
"""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any

import torch

from ..inputs import tensor_files
from ..loading import entry_point
from ..protocol import JobError
from .deviations import compared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from ..messages.drafted import Deviation, DraftedArgument

_PLAIN = (int, float, bool, str, type(None))
_MOST_TEXT = 80
_OBJECT = "=self"


class WrittenCalls:
    """What the module at a path says."""

    def __init__(self, path: str) -> None:
        self._module: ModuleType = entry_point.load_module(path)
        self._calls: dict[str, list[dict[str, Any]]] = {}

    def arguments(
        self, function: str, target: Any, owner: type | None, number: int
    ) -> dict[str, Any] | None:
        """The arguments of a call, those by keyword behind a "="; None where there is none.

        Args:
            owner: the class of a method.
        """
        if function not in self._calls:
            torch.manual_seed(0)
            of = [owner] if owner is not None else []
            self._calls[function] = list(self._named("calls", function)(*of))
        calls = self._calls[function]
        if number >= len(calls):
            return None
        given = calls[number]
        if not isinstance(given, dict):
            raise JobError(f"call {number + 1} of {function} is no dictionary")
        if not function.endswith(".apply"):
            return {f"={name}": value for name, value in given.items()}
        # ``apply`` takes arguments by position alone.
        names = [*inspect.signature(target.__self__.forward).parameters][1:]
        if rest := set(given) - set(names):
            raise JobError(f"{function} has no parameter {min(rest)}")
        last = max((names.index(name) for name in given), default=-1)
        return {name: given.get(name) for name in names[: last + 1]}

    def expected(self, function: str, arguments: Mapping[str, Any]) -> Any:
        """What the reference returns; it may write to the arguments."""
        reference = self._named("reference", function)
        return reference(**{name.removeprefix("="): one for name, one in arguments.items()})

    def faster(self, function: str) -> Callable[..., Any]:
        """The faster version; it takes its arguments as the function does."""
        return self._named("faster", function)

    def _named(self, kind: str, function: str) -> Callable[..., Any]:
        name = f"{kind}_{function.removesuffix('.apply').replace('.', '_')}"
        found: Callable[..., Any] | None = getattr(self._module, name, None)
        if found is None:
            raise JobError(f"there is no {name}")
        return found


def described(arguments: Mapping[str, Any]) -> dict[str, DraftedArgument]:
    """The arguments in a message: of tensors their shapes and types."""
    return {
        name: {"value": f"a {type(value).__name__}"} if name == _OBJECT else _described(value)
        for name, value in arguments.items()
    }


def _described(value: Any) -> DraftedArgument:
    if isinstance(value, torch.Tensor):
        found: DraftedArgument = {
            "shape": list(value.shape),
            "dtype": tensor_files.dtype_name(value.dtype),
        }
        if not value.is_contiguous():
            found["strides"] = list(value.stride())
        return found
    if isinstance(value, torch.dtype):
        return {"dtype": tensor_files.dtype_name(value)}
    if isinstance(value, _PLAIN):
        return {"value": value}
    if isinstance(value, list | tuple) and any(isinstance(one, torch.Tensor) for one in value):
        return {"value": f"{len(value)} values with tensors"}
    return {"value": " ".join(repr(value).split())[:_MOST_TEXT]}


def deviation(
    name: str,
    expected: tuple[Any, Mapping[str, Any]],
    result: tuple[Any, Mapping[str, Any]],
    made: Mapping[str, Any],
) -> tuple[Deviation | None, bool]:
    """What a function returned and wrote against what its reference did.

    Args:
        expected, result: what came back, and the arguments afterwards.
        made: the arguments before.
    """
    before, after, wanted = (tensors_in(one) for one in (made, result[1], expected[1]))
    written = [one for one in before if not _same(before[one], wanted[one])]
    there, here = leaves(expected[0]), leaves(result[0])
    if not any(isinstance(one, torch.Tensor) for one in here):
        # The function may return nothing, and the reference what the function writes.
        changed = [one for one in before if not _same(before[one], after[one])]
        here = [after[one] for one in changed] or [result[0]]
    pairs = [pair for pair in zip(there, here, strict=False) if isinstance(pair[0], torch.Tensor)]
    pairs += [(wanted[one], after[one]) for one in written]
    if not pairs:
        raise JobError("the reference gives nothing that can be compared with a result")
    for one, other in pairs:
        found = _of_pair(name, one.detach(), other)
        if found is not None:
            return found, False
    return None, True


def deviation_of_gradients(
    expected: Mapping[str, torch.Tensor | None], result: Mapping[str, torch.Tensor | None]
) -> tuple[Deviation | None, bool]:
    """Gradients of a function against those of its reference; what either lacks says nothing."""
    pairs = [(name, one, result.get(name)) for name, one in expected.items()]
    known = [(name, a, b) for name, a, b in pairs if a is not None and b is not None]
    if not known:
        raise JobError("no argument has a gradient in both passes")
    for name, one, other in known:
        of = f"the gradient of {name.removeprefix('=')} of the reference"
        found = _of_pair(of, one.detach(), other.detach())
        if found is not None:
            return found, False
    return None, True


def tensors_in(arguments: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The tensors among arguments, in lists of them and in the object of a method, by name and
    place."""
    found: dict[str, torch.Tensor] = {}
    for name, value in arguments.items():
        places = enumerate(value) if isinstance(value, list | tuple) else ()
        found |= {f"{name}[{at}]": one for at, one in places if isinstance(one, torch.Tensor)}
        if isinstance(value, torch.Tensor):
            found[name] = value
        if name == _OBJECT:
            found |= {f"{name}.{key}": one.detach() for key, one in _attributes(value)}
    return found


def _attributes(value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that an object holds, those of a module's parts too; each once."""
    seen = set()
    held = [*vars(value).items()]
    if isinstance(value, torch.nn.Module):
        held += [*value.named_parameters(), *value.named_buffers()]
    for name, one in held:
        if isinstance(one, torch.Tensor) and id(one) not in seen:
            seen.add(id(one))
            yield name, one


def with_tensors(
    arguments: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]
) -> dict[str, Any]:
    """The same arguments with other tensors, by name and place; an object is another one."""
    found = {
        name: type(value)(tensors.get(f"{name}[{at}]", one) for at, one in enumerate(value))
        if type(value) in (list, tuple)
        else tensors.get(name, value)
        for name, value in arguments.items()
    }
    if _OBJECT in arguments:
        value = arguments[_OBJECT]
        # What is in the memo is what a copy has in its place.
        others = {id(one): tensors.get(f"{_OBJECT}.{key}", one) for key, one in _attributes(value)}
        found[_OBJECT] = copy.deepcopy(value, others)
    return found


def leaves(value: Any) -> list[Any]:
    """What came back, one after the other; None holds a place."""
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in leaves(one)]
    if isinstance(value, list | tuple):
        return [leaf for one in value for leaf in leaves(one)]
    return [value]


def _of_pair(name: str, expected: torch.Tensor, result: Any) -> Deviation | None:
    """Two values that should be the same; axes of one element are no difference."""
    if isinstance(result, torch.Tensor) and result.squeeze().shape == expected.squeeze().shape:
        return compared(name, expected.reshape(result.shape), result.detach())
    is_tensor = isinstance(result, torch.Tensor)
    return {
        "of": name, "at": [], "expected": f"a tensor of shape {list(expected.shape)}",
        "found": f"one of shape {list(result.shape)}" if is_tensor else f"{type(result).__name__}",
        "wrong": expected.numel(), "elements": expected.numel(),
    }  # fmt: skip


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.equal(
        torch.nan_to_num(one.double()), torch.nan_to_num(other.double())
    )
