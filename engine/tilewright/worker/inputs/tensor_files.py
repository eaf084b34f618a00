"""Tensors to files and back: manifests, and the tree a function returned."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..protocol import HarnessError, JobError

if TYPE_CHECKING:
    from ..messages.parts import Constant, Entries, Stored

_ALIGNMENT = 16
_PLAIN = (int, float, bool, str, type(None))


def extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements lie between the first and the last of a strided tensor, both included."""
    if any(size == 0 for size in shape):
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def save(values: Mapping[str, Any], folder: str, prefix: str) -> Entries:
    """Write tensors below ``folder``; scalars go into the manifest itself."""
    manifest: Entries = []
    Path(folder).mkdir(parents=True, exist_ok=True)
    for position, (name, value) in enumerate(values.items()):
        if isinstance(value, torch.Tensor):
            file = os.path.join(folder, f"{prefix}{position}.bin")  # noqa: PTH118
            manifest.append(_save_tensor(name, value, file))
        elif isinstance(value, _PLAIN):
            manifest.append({"name": name, "value": value})
        else:
            raise JobError(f"{name} is a {type(value).__name__}, neither a tensor nor a number")
    return manifest


def _save_tensor(name: str, tensor: torch.Tensor, file: str) -> Stored:
    tensor = plain(tensor)
    size = tensor.element_size()
    first = tensor.storage_offset() * size
    skip = first - first % _ALIGNMENT
    last = first + extent(tensor.shape, tensor.stride()) * size
    storage = tensor.untyped_storage()
    data = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    data = data.set_(storage, skip, (last - skip,), (1,))
    _write(data, file)
    return {
        "name": name,
        "file": file,
        "dtype": dtype_name(tensor.dtype),
        "shape": list(tensor.shape),
        "strides": list(tensor.stride()),
        "offset": (first - skip) // size,
    }


def _write(data: torch.Tensor, file: str) -> None:
    """Bytes to a file; from a device straight into its pages, which spares a copy.

    Raises HarnessError where there is no room for it.
    """
    try:
        _put(data, file)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise HarnessError(
            f"there is no room for a tensor of {data.numel()} bytes in {os.path.dirname(file)}"  # noqa: PTH120
        ) from error


def _put(data: torch.Tensor, file: str) -> None:
    size = data.numel()
    with open(file, "wb") as made:  # noqa: PTH123
        if data.device.type == "cpu" or not size:
            made.write(data.cpu().numpy().data)
            return
        os.posix_fallocate(made.fileno(), 0, size)  # else a full disk is a signal, not an error
    storage: Any = torch.UntypedStorage.from_file(file, shared=True, nbytes=size)
    torch.empty(0, dtype=torch.uint8).set_(storage, 0, (size,), (1,)).copy_(data)


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The data of a tensor that may be a view with lazy bits or need gradients."""
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        raise JobError(
            f"a tensor of layout {tensor.layout} cannot be compared; only dense ones can"
        )
    return tensor.resolve_conj().resolve_neg()


def load(manifest: Entries, device: str = "cpu") -> dict[str, Any]:
    """The values of a manifest by name; tensors keep their strides and storage offset."""
    return {entry["name"]: load_entry(entry, device) for entry in manifest}


def load_entry(entry: Stored | Constant, device: str = "cpu") -> Any:
    """One value of a manifest; a CPU tensor is a private, writable mapping of its file."""
    if "file" not in entry:
        return entry.get("value")
    dtype = dtype_of(entry["dtype"])
    size = os.path.getsize(entry["file"])  # noqa: PTH202
    storage: Any = torch.UntypedStorage(0)  # type: ignore[no-untyped-call]
    if size:
        storage = torch.UntypedStorage.from_file(entry["file"], shared=False, nbytes=size)
    if device != "cpu":
        remote: Any = torch.UntypedStorage(size, device=device)  # type: ignore[no-untyped-call]
        remote.copy_(storage)
        storage = remote
    return restride(storage, dtype, entry["shape"], entry["strides"], entry["offset"], device)


def restride(
    storage: torch.UntypedStorage, dtype: torch.dtype, shape: Sequence[int],
    strides: Sequence[int], offset: int, device: str,
) -> torch.Tensor:  # fmt: skip
    """A tensor over a storage."""
    empty = torch.empty(0, dtype=dtype, device=device)
    return empty.set_(storage, offset, tuple(shape), tuple(strides))


def copy_of(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with its own storage and the same strides and offset."""
    storage = tensor.untyped_storage().clone()  # type: ignore[no-untyped-call]
    return restride(
        storage, tensor.dtype, tensor.shape, tensor.stride(), int(tensor.storage_offset()),
        str(tensor.device),
    )  # fmt: skip


def own(value: Any) -> Any:
    """The same value with memory of its own, where it is a tensor."""
    return copy_of(value) if isinstance(value, torch.Tensor) else value


def dtype_of(name: str) -> torch.dtype:
    """The torch dtype of a name such as "float16"."""
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise JobError(f"this torch ({torch.__version__}) has no dtype {name!r}")
    return dtype


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors that a value is, or holds in containers."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        yield from tensors_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors_in(one)


def flatten(value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a function returned as (leaves by name, tree); the tree names the leaves."""
    leaves: dict[str, Any] = {}
    return leaves, _tree(value, "output", leaves)


def _tree(value: Any, name: str, leaves: dict[str, Any]) -> dict[str, Any]:
    if isinstance(value, torch.Tensor):
        leaves[name] = value
        return {"kind": "tensor", "name": name}
    if isinstance(value, Mapping):
        items = [_tree(item, f"{name}[{key!r}]", leaves) for key, item in value.items()]
        return {"kind": "dict", "keys": [str(key) for key in value], "items": items}
    if isinstance(value, list | tuple):
        items = [_tree(item, f"{name}[{at}]", leaves) for at, item in enumerate(value)]
        return {"kind": "tuple" if isinstance(value, tuple) else "list", "items": items}
    if value is None:
        return {"kind": "none"}
    if isinstance(value, _PLAIN):
        leaves[name] = value
        return {"kind": "value", "name": name}
    raise JobError(f"{name} is a {type(value).__name__}; only tensors, numbers and containers work")
