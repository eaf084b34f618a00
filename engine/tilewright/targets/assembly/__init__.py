"""Compilers' texts as data: instructions with their source lines, and what kinds they are of."""
