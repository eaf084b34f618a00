"""Detectors in host functions that launch kernels."""
