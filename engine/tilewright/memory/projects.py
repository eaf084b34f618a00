"""Whose code it is: the project that a file belongs to."""

import os
from pathlib import Path

_MARKS = ("pyproject.toml", ".git")


def project_of(file: Path) -> Path:
    """The nearest folder above a file with a pyproject.toml or a .git; else the file's folder."""
    # Not Path.resolve, which raises at a link that leads to itself.
    start = Path(os.path.realpath(file))
    folders = start.parents if not start.is_dir() else (start, *start.parents)
    for folder in folders:
        if any((folder / mark).exists() for mark in _MARKS):
            return folder
    return next(iter(folders))


def path_in_project(project: Path, file: Path) -> str:
    """A file's path below its project's root."""
    place = Path(os.path.realpath(file))
    return place.relative_to(project).as_posix() if place.is_relative_to(project) else place.name
