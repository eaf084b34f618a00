"""Checks of memory: redzones around tensors, uninitialized memory, accesses, races."""
