"""Names by which what is in a tensor comes to Python: to be computed with there, or to tell calls
apart."""

PAST_THE_DISPATCHER = frozenset(
    ("tolist", "numpy", "map_", "map2_", "apply_", "__array__", "__dlpack__")
)
"""Methods that no operator shows."""
TO_HOST = "to_host"
"""A copy from a device to the host, by whatever operator."""
BY_OPERATORS = frozenset(("_local_scalar_dense", "item", TO_HOST))
ALL = PAST_THE_DISPATCHER | BY_OPERATORS
