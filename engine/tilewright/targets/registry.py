"""The targets there are, by name."""

from __future__ import annotations

import difflib

from tilewright.hardware import all_chips
from tilewright.targets.model import Target, TargetError


def all_targets() -> tuple[Target, ...]:
    """Every target of the knowledge base, NVIDIA first, then AMD, then Intel."""
    return tuple(_split(chip.id) for chip in all_chips())


def parse_target(text: str) -> Target:
    """The target called ``text``, as ``cuda:90``; raises TargetError naming the nearest ones."""
    known = {str(target): target for target in all_targets()}
    name = text.strip().lower()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, 3, 0.5) or list(known)
    raise TargetError(
        f"unknown target {text!r}; did you mean {' or '.join(near)}? `tilewright targets` lists all"
    )


def _split(name: str) -> Target:
    backend, _, arch = name.partition(":")
    return Target(backend, arch)
