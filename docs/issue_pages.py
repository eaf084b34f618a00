"""Writes ``docs/issues/``: a page for each issue, and the table of what is found and shown."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "analysis"))

from golden_coverage import shown  # noqa: E402  beside the golden kernels that it counts
from snippets import KERNELS, analyzed, snippets  # noqa: E402

from tilewright.knowledge.base import taxonomy  # noqa: E402
from tilewright.knowledge.explain import explain  # noqa: E402
from tilewright.knowledge.model import ADVICE, IssueType  # noqa: E402
from tilewright.knowledge.stages import DEFAULT_ORDER  # noqa: E402
from tilewright.rewrites import rewrites_for  # noqa: E402

FOLDER = ROOT / "docs" / "issues"
COMPILED = ROOT / "tests" / "compiled" / "kernels"
_HEAD = """\
# Issues

What `tilewright check` and the editor find, from the source alone or, where the table says so, by
compiling. Written by `make docs` from `knowledge/taxonomy/` and the golden kernels in
`tests/analysis/kernels/` and `tests/compiled/kernels/`; edit those.
"Firing" and "silent" count the golden kernels that show an issue and those that only look alike.

Severity says how certain a report is, and how much it matters: 5 and 4 are faults of every launch
and what costs much time, 3 may be excluded by what no checked text says ("3 to 5": only a captured
launch makes it certain), 2 and 1 are advice. In a kernel that its file, or the project of a checked
folder, mentions nowhere, a fault is at most 3, and what depends on launches or is only slow is
advice.
"""

_NKI_HEAD = """\
# Rules of NKI

Which rules of NKI are decided from the source of a kernel, without the vendor's compiler. Written
by `make docs`. "Shown in" names the packages of the golden kernels (`neuronxcc` and its successor
`nki`), "firing" and "silent" count these kernels, and "vendor's name" is the error under which the
vendor's documentation lists a rule. A kernel without a report is not shown to compile: a rule is
decided only where the sizes it depends on follow from the text.
"""
_SIMULATED = """\
## Not decided from the source

| rule | found by |
| --- | --- |
| elements that a mask leaves out, or that nothing wrote, reach an output | `uninitialized` |
| no store reaches some elements of an output that is stored to | `unwritten` |
| an argument of a function lies outside of the range in which it is defined | `domain` |
| affine iterations depend on each other where indices are not affine | `loop-order` |
| programs depend on each other where indices are not affine | `program-order` |

These are kinds of faults that the simulator reports. It runs a kernel on inputs that are given to
it: what these do not reach stays unseen. Which engine bounds a kernel is said by the cost model.
"""

_FOUND_BY = {"source": "source", "compiled": "compiling"}


def pages() -> dict[str, str]:
    """File name to text, of every page and the table."""
    found = {f"{issue_id}.md": _page(issue_id) for issue_id in taxonomy()}
    return {"README.md": _table(), "nki.md": _nki_table(), **found}


def _nki_table() -> str:
    """The rules of NKI, with the packages whose golden kernels show them."""
    rows = []
    for issue in taxonomy().values():
        if issue.id.startswith("nki_"):
            count = shown(issue.id)
            fix = ", ".join(r.name for r in rewrites_for(issue.id)) or "-"
            rows.append(
                f"| [{issue.id}]({issue.id}.md) | {issue.stage} | {issue.severity} "
                f"| {_packages(issue.id)} | {_vendors_name(issue)} | {fix} "
                f"| {count.firing} | {count.silent} |"
            )
    head = (
        "| issue | stage | severity | shown in | vendor's name | quick fix | firing | silent |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
    )
    return f"{_NKI_HEAD}\n{head}" + "\n".join(rows) + f"\n\n{_SIMULATED}"


def _packages(issue_id: str) -> str:
    modules = [analyzed(s)[0] for s in snippets() if s.issue == issue_id and s.fires]
    flavours = {str(module.nki_flavour) for module in modules if module.nki_flavour}
    return " and ".join(sorted(flavours, reverse=True)) or "-"


def _vendors_name(issue: IssueType) -> str:
    names = [n for r in issue.references for n in re.findall(r"\berr_\w+", r)]
    return ", ".join(f"`{name}`" for name in names) or "-"


def _page(issue_id: str) -> str:
    text = explain(issue_id)
    names = [r.title for r in rewrites_for(issue_id)]
    if names:
        text += "\n## Quick fix\n\n" + "\n".join(f"- {title}" for title in names) + "\n"
    for folder in (KERNELS, COMPILED):
        if (folder / f"{issue_id}.md").exists():
            path = f"../../{folder.relative_to(ROOT)}/{issue_id}.md"
            text += f"\n## Kernels\n\n[Where it fires, and what only looks alike]({path}).\n"
    return text


def _table() -> str:
    parts = [_HEAD]
    for stage in DEFAULT_ORDER:
        issues = [i for i in taxonomy().values() if i.stage is stage]
        if issues:
            rows = [_row(issue) for issue in sorted(issues, key=lambda i: i.id)]
            parts.append(
                f"## {stage}\n\n"
                "| issue | | severity | language | found by | firing | silent | quick fix |\n"
                "| --- | --- | --- | --- | --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"
            )
    return "\n".join(parts)


def _row(issue: IssueType) -> str:
    firing, silent = _shown(issue)
    fix = ", ".join(r.name for r in rewrites_for(issue.id)) or "-"
    language = ", ".join(issue.applies_to.languages)
    title = issue.title.replace("|", "\\|")
    severity = f"{ADVICE} to {issue.severity}" if issue.some_calls else str(issue.severity)
    return (
        f"| [{issue.id}]({issue.id}.md) | {title} | {severity} | {language} "
        f"| {_FOUND_BY[issue.tier]} | {firing} | {silent} | {fix} |"
    )


def _shown(issue: IssueType) -> tuple[object, object]:
    if issue.tier == "compiled":
        text = (COMPILED / f"{issue.id}.md").read_text(encoding="utf-8")
        firing, silent = text.split("\n## Silent\n")
        return firing.count("\n```python\n"), silent.count("\n```python\n")
    count = shown(issue.id)
    return (count.firing, count.silent) if issue.detector else ("not decided", "-")


def main() -> None:
    """Write every page, and remove those of issues that are gone."""
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
