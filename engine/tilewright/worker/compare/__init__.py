"""Comparison of a result with the oracle, and a description of what differs."""
