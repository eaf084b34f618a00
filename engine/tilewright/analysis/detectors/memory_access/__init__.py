"""Detectors of the memory stage: what addresses and lifetimes say about the hardware's work."""
