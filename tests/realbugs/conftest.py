"""Inputs of the slow cases are imported by the bare names of their modules."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "slow_spots"))
