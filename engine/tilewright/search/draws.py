"""Random numbers that follow from what they are for, not from when they are drawn."""

import hashlib
from random import Random


def rng(seed: int, spec_hash: str, purpose: str, generation: int = 0, slot: int = 0) -> Random:
    """The generator of one purpose in one slot of one generation."""
    name = f"{seed}:{spec_hash}:{purpose}:{generation}:{slot}"
    return Random(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big"))
