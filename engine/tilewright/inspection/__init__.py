"""Compile reports of a file for several chips, and the launches they are made with."""
