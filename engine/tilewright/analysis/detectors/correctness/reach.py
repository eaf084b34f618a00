"""How far a tensor extends in memory."""

from tilewright.targets.model import ArgumentFacts


def greatest_offset(tensor: ArgumentFacts) -> int | None:
    """Offset of a tensor's last element in elements; None if shape or strides are unknown."""
    if tensor.shape is None or tensor.strides is None or 0 in tensor.shape:
        return None
    return sum((n - 1) * s for n, s in zip(tensor.shape, tensor.strides, strict=True) if s > 0)
