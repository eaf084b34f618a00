"""The targets there are, by name."""

from __future__ import annotations

import difflib

from tilewright.hardware.chips import all_chips, neuron_chips
from tilewright.targets.model import Target, TargetError


def all_targets() -> tuple[Target, ...]:
    """Every GPU of the knowledge base, NVIDIA first, then AMD, then Intel."""
    return tuple(_split(chip.id) for chip in all_chips())


def neuron_targets() -> tuple[Target, ...]:
    """Every NeuronCore of the knowledge base; no compiler for them is public."""
    return tuple(_split(chip.id) for chip in neuron_chips())


def parse_target(text: str) -> Target:
    """The target called ``text``, as ``cuda:90``; raises TargetError naming the nearest ones.

    NeuronCores go by their architecture too: ``trn2`` is ``neuron:trn2``.
    """
    neuron = neuron_targets()
    known = {str(target): target for target in (*all_targets(), *neuron)}
    known |= {target.arch: target for target in neuron}
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
