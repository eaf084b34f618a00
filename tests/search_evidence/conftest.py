"""The scripts of ``benchmarks/search_evidence`` are imported by their bare names."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
for folder in ("benchmarks/search_evidence", "tests/worker"):
    sys.path.insert(0, str(ROOT / folder))
