"""Writes docs/recall.md: what the detectors find of the faults that rewinds put in.

``make recall``; minutes.
"""

from collections import defaultdict
from pathlib import Path

from recall import Trial, goes_back, trials
from sources import CORPORA, ROOT, corpora_folder, corpus_modules, own_modules

from tilewright.rewrites.rewinds import all_rewinds

_HEAD = """# Recall by mutation

How many faults do the detectors find? For every issue with a deterministic rewrite there is a
*rewind*: the inverse edit, which puts the issue into a kernel that does not have it
(`engine/tilewright/rewrites/rewinds/`). A fault counts as found when the detector reports the issue
in that kernel **on the line of the fault**. A rewind is applied only where the result has the issue
by its definition; the second table says where that is. At most three sites of a kernel are tried
for an issue, and a kernel in which the issue was found before is left alone, unless the rewrite
makes it clean first.

The kernels: this repository's examples, what its rewrites lead to and the golden files of its
detectors ("own"), and the published packages that `make corpora` installs ({packages}).

`make recall` writes this file.
"""


def main() -> None:
    """Measure on everything there is, and write the file."""
    found: dict[str, dict[str, list[Trial]]] = defaultdict(dict)
    for source in ("own", *CORPORA):
        modules = own_modules() if source == "own" else corpus_modules(source)
        for trial in trials(modules):
            found[trial.rewind.issue].setdefault(source, []).append(trial)
    (ROOT / "docs" / "recall.md").write_text(_page(found))


def _page(found: dict[str, dict[str, list[Trial]]]) -> str:
    folder = corpora_folder()
    there = [_version(folder, package) for package in CORPORA if (folder / package).is_dir()]
    sources = ("own", *CORPORA)
    rows = [_row(["Issue", *sources, "kernels", "found", "round trips"])]
    rows.append("|" + " --- |" + " ---: |" * (len(sources) + 3))
    for rewind in all_rewinds():
        rows.append(_measured(rewind.issue, [found[rewind.issue].get(s, []) for s in sources]))
    text = _HEAD.format(packages=", ".join(there) or "none here")
    text += "\n## Found\n\nFaults found of faults put in.\n\n" + "\n".join(rows) + "\n\n" + _TRIPS
    text += "\n## Where a rewind applies\n\n| Issue | Rewind of | Sites |\n| --- | --- | --- |\n"
    for rewind in all_rewinds():
        text += _row([f"`{rewind.issue}`", f"`{rewind.rewrite}`", rewind.applies]) + "\n"
    return text + _missed(found)


_TRIPS = """A round trip rewrites what was rewound. It counts where the issue was gone, of the
cases in which the rewrite applied; it refuses where its own, narrower preconditions do not hold.
"None": the rewrite refuses everywhere.
"""


def _measured(issue: str, groups: list[list[Trial]]) -> str:
    every = [trial for group in groups for trial in group]
    cells = [f"{sum(t.found for t in g)}/{len(g)}" if g else "-" for g in groups]
    kernels = len({(t.module.path, t.kernel) for t in every})
    share = f"{100 * sum(t.found for t in every) / len(every):.1f} %" if every else "-"
    trips = [back for t in every[:300] if (back := goes_back(t)) is not None]
    back = f"{sum(trips)}/{len(trips)}" if trips else "none"
    return _row([f"`{issue}`", *cells, str(kernels), share, back])


def _missed(found: dict[str, dict[str, list[Trial]]]) -> str:
    places = [
        f"- `{issue}`: `{_short(trial)}`, {trial.kernel}, line {trial.rewound.line}"
        for issue, groups in sorted(found.items())
        for group in groups.values()
        for trial in group
        if not trial.found
    ]
    return "\n## Missed\n\n" + ("\n".join(places) if places else "Nothing.") + "\n"


def _short(trial: Trial) -> str:
    for folder in (corpora_folder(), ROOT):
        if trial.module.path.startswith(f"{folder}/"):
            return trial.module.path.removeprefix(f"{folder}/")
    return trial.module.path


def _version(folder: Path, package: str) -> str:
    info = next(folder.glob(f"{package}-*.dist-info")).name
    return info.removesuffix(".dist-info").replace("-", " ")


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
