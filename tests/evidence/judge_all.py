"""Judge every candidate on a device and write the verdicts down.

python tests/evidence/judge_all.py interpreter tests/evidence/results/interpreter.json
python tests/evidence/judge_all.py cuda:0 tests/evidence/results/h200.json [once] [2/4]
python tests/evidence/judge_all.py neuron-sim tests/evidence/results/neuron_sim.json

The last judges the candidates below ``nki``.
``once``: a cheat whose text gives it away is not run a second time with nobody reading it.
``2/4``: the second fourth of the candidates, for a file of its own.
"""

import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from candidates import HERE, NKI, Candidate, Court, candidates, court_on, refusal, refused_by

from tilewright.devices.opening import open_device

_AT_A_TIME = 4


def main(device_id: str, out: str, *how: str) -> None:
    """Write a JSON file: the device, and for each candidate what became of it.

    Candidates that the file has already are left as they are: remove it to judge them again.
    """
    device = open_device(device_id)
    found: dict[str, Any] = {
        "device": device.info.name, "torch": device.info.torch, "triton": device.info.triton,
        "originals": {}, "legit": {}, "cheats": {},
    }  # fmt: skip
    if Path(out).is_file():
        found |= json.loads(Path(out).read_text("utf-8"))
    on_gpu = device.info.target is not None
    root = NKI if device.info.runs_nki else HERE
    lock = threading.Lock()

    def judge(folder: str, candidate: Candidate) -> None:
        verdict = _judged(court, candidate, folder == "cheats" and "once" not in how)
        with lock:
            found[folder][candidate.name] = verdict
            sys.stderr.write(f"{candidate.name}: {json.dumps(verdict)[:200]}\n")
            _write(found, Path(out))

    # One at a time in the interpreter, where each takes a processor.
    with court_on(device) as court, ThreadPoolExecutor(_AT_A_TIME if on_gpu else 1) as pool:
        for source in sorted((root / "bases").glob("*/original.py")):
            if source.parent.name not in found["originals"]:
                level = court.original(source).level.value
                found["originals"][source.parent.name] = {"level": level}
        wanted = [one for one in _wanted(found, how, root) if on_gpu or not one[1].needs_gpu]
        try:
            list(pool.map(lambda one: judge(*one), wanted))
        finally:  # where one fails, or this is interrupted, the rest is not begun
            pool.shutdown(wait=True, cancel_futures=True)
    device.close()
    sys.stderr.write(_summary(found))


def _wanted(
    found: Mapping[str, Mapping[str, Any]], how: Sequence[str], root: Path
) -> Iterator[tuple[str, Candidate]]:
    """(folder, candidate) of this share that has not been judged."""
    share = next((part for part in how if "/" in part), "1/1")
    first, parts = (int(number) for number in share.split("/"))
    for folder in ("legit", "cheats"):
        for candidate in candidates(folder, root)[first - 1 :: parts]:
            if candidate.name not in found[folder]:
                yield folder, candidate


def _write(found: Mapping[str, Any], path: Path) -> None:
    """All of it, or as it was: who runs this may be cut off."""
    beside = path.with_name(f"{path.name}.part")
    beside.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    beside.replace(path)


def _summary(found: Mapping[str, Any]) -> str:
    """How many were judged, and which of them wrongly."""
    accepted = [name for name, one in found["cheats"].items() if one["level"] != "rejected"]
    refused = [name for name, one in found["legit"].items() if one["level"] == "rejected"]
    return (
        f"{len(found['cheats'])} cheats, accepted: {', '.join(accepted) or 'none'}\n"
        f"{len(found['legit'])} odd kernels, refused: {', '.join(refused) or 'none'}\n"
    )


def _judged(court: Court, candidate: Candidate, twice: bool) -> dict[str, Any]:
    evaluation = court.judge(candidate)
    verdict = {
        "level": evaluation.level.value,
        "refused_by": refused_by(evaluation),
        "message": refusal(evaluation)[:400],
    }
    if twice:
        unread = (
            court.judge_unread(candidate) if verdict["refused_by"] == "structure" else evaluation
        )
        verdict["unread"] = refused_by(unread)
        verdict["unread_message"] = refusal(unread)[:400]
    return verdict


if __name__ == "__main__":
    main(*sys.argv[1:])
