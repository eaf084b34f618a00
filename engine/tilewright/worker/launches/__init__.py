"""Launches of Triton kernels: hooks that record them, and replay of recorded ones."""
