"""Triton's interpreter: how it is switched on, and the language features that it lacks."""
