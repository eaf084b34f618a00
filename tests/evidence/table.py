"""Write the tables of docs/honesty.md from the verdicts in ``results``.

    python tests/evidence/table.py

What was not run on a device is shown as not run.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from candidates import HERE, NKI, Candidate, candidates

DOC = HERE.parents[1] / "docs" / "honesty.md"
RESULTS = (("interpreter", "CPU interpreter"), ("h200", "H200"))
NKI_RESULTS = (("neuron_sim", "NKI simulator"),)
Devices = Sequence[tuple[str, str]]
_MARKS = "<!-- {name}: written by tests/evidence/table.py -->"


def results(name: str) -> Mapping[str, Any]:
    """The verdicts of one device; empty where there are none."""
    path = HERE / "results" / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def document(text: str) -> str:
    """The document with its tables as the verdicts have them."""
    tables = (
        ("cheats", _cheats(HERE, RESULTS)),
        ("legit", _legit(HERE, RESULTS)),
        ("nki cheats", _cheats(NKI, NKI_RESULTS)),
        ("nki legit", _legit(NKI, NKI_RESULTS)),
    )
    for name, lines in tables:
        mark = _MARKS.format(name=name)
        before, inside, after = text.split(mark)
        del inside
        text = "\n".join((f"{before}{mark}", *lines, f"{mark}{after}"))
    return text


def _cheats(root: Path, devices: Devices) -> Iterator[str]:
    yield _summary("cheats", "accepted", lambda verdict: verdict["level"] != "rejected", devices)
    yield ""
    heads = [title for _, title in devices]
    yield f"| cheat | what it does | {' | '.join(heads)} |"
    yield "| --- | --- |" + " --- |" * len(heads)
    for cheat in candidates("cheats", root):
        cells = [_cheat_cell(cheat, results(name)) for name, _ in devices]
        yield f"| `{cheat.name}` | {cheat.kind}: {cheat.says} | {' | '.join(cells)} |"


def _cheat_cell(cheat: Candidate, found: Mapping[str, Any]) -> str:
    verdict = found.get("cheats", {}).get(cheat.name)
    if verdict is None:
        return "needs a GPU" if found and cheat.needs_gpu else "not run"
    if verdict["level"] != "rejected":
        return "**accepted**"
    if verdict["refused_by"] != "structure" or "unread" not in verdict:
        return str(verdict["refused_by"])
    return f"structure; unread: {verdict['unread'] or 'accepted'}"


def _legit(root: Path, devices: Devices) -> Iterator[str]:
    yield _summary("legit", "rejected", lambda verdict: verdict["level"] == "rejected", devices)
    yield ""
    heads = [title for _, title in devices]
    yield f"| kernel | what is unusual | {' | '.join(heads)} |"
    yield "| --- | --- |" + " --- |" * len(heads)
    for kernel in candidates("legit", root):
        cells = []
        for name, _ in devices:
            found = results(name)
            verdict = found.get("legit", {}).get(kernel.name)
            missing = "needs a GPU" if found and kernel.needs_gpu else "not run"
            cells.append(missing if verdict is None else verdict["level"])
        yield f"| `{kernel.name}` | {kernel.says} | {' | '.join(cells)} |"


def _summary(folder: str, what: str, counts: Any, devices: Devices) -> str:
    told = []
    for name, title in devices:
        found = results(name).get(folder, {})
        wrong = sum(1 for verdict in found.values() if counts(verdict))
        told.append(f"{title}: {f'{wrong} of {len(found)} {what}' if found else 'not run'}")
    return f"{'; '.join(told)}."


if __name__ == "__main__":
    DOC.write_text(document(DOC.read_text("utf-8")), "utf-8")
