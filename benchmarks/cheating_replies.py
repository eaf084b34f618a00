"""The cheats that only a GPU can run, as the replies of a model: none may be accepted.

    python benchmarks/cheating_replies.py --device cuda:0 [--out FILE]
    python benchmarks/cheating_replies.py --device interpreter --only axpy   # the other cheats

Each is a reply to ``optimize`` on the kernel that it was made from, in front of a server on this
machine. The control is that the original itself passes, without which a run does not begin. Exit
code 1 if a cheat is kept, or if fewer were judged than there are.
"""

import argparse
import json
import sys
import tempfile
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "models"))

from cheating import answered, cheats_of  # noqa: E402

from tilewright.devices.opening import open_device  # noqa: E402

_MOST = 200


def main() -> int:
    """Run the loop for each kernel with its cheats as replies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", help="one kernel")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    on_gpu = given.device != "interpreter"
    chosen = [cheat for cheat in cheats_of(on_gpu) if given.only in (None, cheat.base)]
    device = open_device(given.device)
    rows, missing = [], 0
    try:
        for _, group in groupby(chosen, lambda cheat: (cheat.base, cheat.allow)):
            cheats = list(group)
            with tempfile.TemporaryDirectory(prefix="cheats-") as folder:
                result = answered(cheats, device, Path(folder))
            missing += max(0, len(cheats) - len(result.trials))
            for cheat, trial in zip(cheats, result.trials, strict=False):
                rows.append({"cheat": cheat.name, "kept": trial.kept, "reason": trial.reason})
                print(
                    f"{cheat.name}: {'KEPT' if trial.kept else 'refused'}: {trial.reason[:_MOST]}"
                )
    finally:
        device.close()
    kept = sum(bool(row["kept"]) for row in rows)
    print(f"{kept} of {len(rows)} kept; {missing} were not judged")
    if given.out:
        given.out.write_text(json.dumps(rows, indent=1), "utf-8")
    return 1 if kept or missing or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
