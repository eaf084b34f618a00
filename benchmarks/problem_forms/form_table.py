"""How far files of a form get: a table of counts, and every "no" with its reason.

    python benchmarks/problem_forms/form_table.py [options] FILE_OR_FOLDER ...

For each Python file: is its problem understood (read), is its text checked, does it compile
for the target, and does it hold against itself and its reference in the interpreter (verify).
Options:

    --problem-of "{stem}_reference.py"   the problem of a file, relative to it; files that are the
                                         problem of another are left out
    --names GLOB                         files whose name fits, as "[a-m]*"
    --numbers odd|even                   files whose name begins with such a number
    --target cuda:90                     what to compile for
    --limit 180                          seconds a file may take
    --sample N                           every so many files
    --out FILE.jsonl                     a line of JSON a file; what is there is not run again

A file that is not finished within the limit is counted as "not finished", never as wrong.
"""

import argparse
import fnmatch
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

COLUMNS = ("read", "check", "compile", "verify")
_LONGEST = 150


def main(arguments: Sequence[str]) -> int:
    asked = _options(arguments)
    files = list(_files(asked))[:: asked.sample]
    known = _known(asked.out)
    rows = []
    for number, path in enumerate(files, 1):
        row = known.get(str(path)) or _row(path, asked)
        rows.append(row)
        if asked.out and str(path) not in known:
            with asked.out.open("a") as out:
                out.write(json.dumps(row) + "\n")
        shown = " ".join(f"{name}={row[name]}" for name in COLUMNS)
        print(f"{number}/{len(files)} {path.name}: {shown}", file=sys.stderr, flush=True)
    print(table(rows))
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--problem-of")
    parser.add_argument("--names", default="*")
    parser.add_argument("--numbers", choices=("odd", "even"))
    parser.add_argument("--target", default="cuda:90")
    parser.add_argument("--limit", type=float, default=180.0)
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--out", type=Path)
    return parser.parse_args(arguments)


def _files(asked: argparse.Namespace) -> Iterator[Path]:
    found = [f for p in asked.paths for f in (sorted(p.rglob("*.py")) if p.is_dir() else [p])]
    problems = {_problem(path, asked) for path in found}
    for path in found:
        number = re.match(r"\d+", path.name)
        if asked.numbers and number and int(number[0]) % 2 != (asked.numbers == "odd"):
            continue
        if fnmatch.fnmatch(path.name, asked.names) and path not in problems:
            yield path


def _problem(path: Path, asked: argparse.Namespace) -> Path | None:
    if not asked.problem_of:
        return None
    problem = path.parent / asked.problem_of.format(stem=path.stem, name=path.name)
    return problem if problem.is_file() else None


def _known(out: Path | None) -> dict[str, dict[str, Any]]:
    if out is None or not out.is_file():
        return {}
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    return {row["path"]: row for row in rows}


def _row(path: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """What each column says of a file: "yes", or why not."""
    start = time.monotonic()
    checked = _run(asked.limit, "check", "--isolated", "--format", "json", str(path))
    problem = _problem(path, asked)
    named = ["--problem", str(problem)] if problem is not None else []
    judged = _run(
        asked.limit, "verify", str(path), str(path), *named, "--device", "interpreter",
        "--target", asked.target, "--format", "json",
    )  # fmt: skip
    row: dict[str, Any] = {"path": str(path), "check": _checked(checked), **_judged(judged)}
    return {**row, "seconds": round(time.monotonic() - start, 1)}


_Ended = tuple[int | None, str, str]


def _run(limit: float, *arguments: str) -> _Ended:
    """(exit code, standard output, standard error) of a command; no code where it was stopped."""
    command = [sys.executable, "-m", "tilewright", *arguments]
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    )
    try:
        out, error = started.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        started.terminate()
        out, error = started.communicate()
        return None, out, error
    return started.returncode, out, error


def _checked(ended: _Ended) -> str:
    code, out, error = ended
    if code is None:
        return "not finished"
    if code > 1 or not out:
        return _reason(error)
    file = json.loads(out)["files"][0]
    return "yes" if not file["problems"] else "not all of it is Python"


def _judged(ended: _Ended) -> dict[str, str]:
    code, out, error = ended
    if code is None:
        told = "not finished"
        return {"read": told, "compile": told, "verify": told}
    if not out:
        return {"read": _reason(error), "compile": "no problem", "verify": "no problem"}
    value = json.loads(out)
    steps = {step["step"]: step for step in value["certificate"]["steps"]}
    missing = "there is no problem"
    skipped = steps.get("correctness", {}).get("message", "")
    if missing in skipped:
        return {"read": _reason(skipped), "compile": "no problem", "verify": "no problem"}
    found = {"read": "yes"}
    for column, name in (("compile", "compile"), ("verify", "correctness")):
        step = steps.get(name) or value["failed"] or {"message": "an earlier step failed"}
        passed = step.get("status") == "passed"
        found[column] = "yes" if passed else f"{step.get('status', '')}: {_reason(step['message'])}"
    return found


def _reason(message: str) -> str:
    """A message without what differs from file to file, so that equal reasons are counted."""
    text = " ".join(message.split()).removeprefix("tilewright: ")
    text = re.sub(r"(/[\w.+-]+)+(:\d+)?:?\s?", "", text)
    return re.sub(r"\d+", "#", text)[:_LONGEST]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Counts, then each reason with how many files it holds for and one of them."""
    lines = [f"| files | {' | '.join(COLUMNS)} |", "| --- |" + " --- |" * len(COLUMNS)]
    counts = [sum(row[column] == "yes" for row in rows) for column in COLUMNS]
    lines += [f"| {len(rows)} | {' | '.join(map(str, counts))} |", ""]
    for column in COLUMNS:
        reasons = Counter(row[column] for row in rows if row[column] != "yes")
        for reason, count in reasons.most_common():
            one = next(Path(row["path"]).name for row in rows if row[column] == reason)
            lines.append(f"- {column}, {count}: {reason} ({one})")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
