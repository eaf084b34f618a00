"""Inputs of cases: their values, their layouts in memory, and their files."""
