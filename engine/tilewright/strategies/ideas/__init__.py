"""Idea sources: one file for each."""
