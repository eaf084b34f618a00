"""Runs and their trials in SQLite, so that a run can be killed at any point and resumed."""
