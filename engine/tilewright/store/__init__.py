"""Runs and their trials in SQLite, so that a run can be killed anywhere and taken up again."""
