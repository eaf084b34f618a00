"""Names of tensor operators: those that bring contents to Python, and those that do no work."""

PAST_THE_DISPATCHER = frozenset(
    ("tolist", "numpy", "map_", "map2_", "apply_", "__array__", "__dlpack__")
)
"""Methods that no operator shows."""
TO_HOST = "to_host"
"""A copy from a device to the host, by whatever operator."""
BY_OPERATORS = frozenset(("_local_scalar_dense", "item", TO_HOST))
READS = PAST_THE_DISPATCHER | BY_OPERATORS
"""What is in a tensor comes to Python: to be computed with there, or to tell calls apart."""
# Host code allocates, shapes and copies; that is no work of a kernel.
_PLUMBING = frozenset(
    [
        "empty",
        "empty_like",
        "empty_strided",
        "empty_permuted",
        "new_empty",
        "new_empty_strided",
        "zeros",
        "zeros_like",
        "new_zeros",
        "zero_",
        "zero",
        "ones",
        "ones_like",
        "new_ones",
        "full",
        "full_like",
        "new_full",
        "fill_",
        "fill",
        "scalar_tensor",
        "tensor",
        "lift_fresh",
        "lift_fresh_copy",
        "lift",
        "arange",
        "view",
        "reshape",
        "_unsafe_view",
        "_reshape_alias",
        "alias",
        "as_strided",
        "as_strided_",
        "expand",
        "permute",
        "transpose",
        "t",
        "unsqueeze",
        "squeeze",
        "unsqueeze_",
        "squeeze_",
        "transpose_",
        "t_",
        "slice",
        "select",
        "narrow",
        "split",
        "split_with_sizes",
        "chunk",
        "unbind",
        "diagonal",
        "unfold",
        "movedim",
        "detach",
        "detach_",
        "view_as_real",
        "view_as_complex",
        "clone",
        "copy_",
        "_to_copy",
        "contiguous",
        "resize_",
        "resize_as_",
        "set_",
        "record_stream",
        "is_pinned",
        "pin_memory",
        "is_same_size",
        "sym_size",
        "sym_stride",
        "sym_storage_offset",
        "sym_numel",
        "_has_compatible_shallow_copy_type",
    ]
)


def is_plumbing(name: str) -> bool:
    """Whether an operator, as ``namespace.name``, only allocates, shapes or copies."""
    space, _, operator = name.partition(".")
    return space in ("aten", "prim", "prims", "numpy") and operator in _PLUMBING
