"""Recorded launches of a user's script or tests: recording, storage, lookup."""
