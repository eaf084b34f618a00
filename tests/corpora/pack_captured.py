"""Packs folders of captured launches into one archive each, beside this file.

python tests/corpora/pack_captured.py FOLDER/liger_kernel FOLDER/flag_gems
"""

import sys
from pathlib import Path

from corpora import folder

from tilewright.captures.folder import load_captures, pack

CAPTURED = Path(__file__).parent / "captured"


def main() -> None:
    CAPTURED.mkdir(exist_ok=True)
    for name in map(Path, sys.argv[1:]):
        pack(load_captures(name), CAPTURED / f"{name.name}.jsonl.gz", folder())


if __name__ == "__main__":
    main()
