"""Compiles the corpora's kernels for three chips, going on where it was stopped."""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import corpora

from tilewright.captures.folder import load_captures
from tilewright.serialize import dump
from tilewright.signatures.candidates import guesses
from tilewright.signatures.model import Guess
from tilewright.signatures.sources import returns_value
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Language, Module
from tilewright.targets.model import Target
from tilewright.targets.registry import parse_target
from tilewright.targets.toolchains import xpu_toolchain
from tilewright.targets.xpu import describe

TARGETS = ("cuda:90", "hip:gfx942", "xpu:bmg-g31")
ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "build" / "compile-table"
CAPTURED = Path(__file__).with_name("captured")
EVERY = {"liger_kernel": 1, "flag_gems": 3}  # of kernels never captured, one in so many
_VENDORS = re.compile(r"/backends?/_(?!nvidia)")


@dataclass(frozen=True)
class Subject:
    """A kernel of a corpus."""

    corpus: str
    path: Path
    kernel: Kernel
    module: Module

    @property
    def place(self) -> str:
        inside = self.path.is_relative_to(corpora.folder())
        file = self.path.relative_to(corpora.folder()) if inside else self.path.name
        return f"{file}::{self.kernel.name}"


@dataclass
class Skipped:
    """Jit functions that are not compiled by themselves, by why."""

    called: int = 0
    returning: int = 0
    vendor: int = 0
    twice: int = 0


def subjects(corpus: str) -> tuple[list[Subject], Skipped]:
    """The kernels of a corpus, each text once."""
    found: list[Subject] = []
    skipped, seen = Skipped(), set[str]()
    for path in corpora.kernel_files(corpus):
        module = parse_module(path.read_text(), str(path))
        for kernel in module.kernels:
            if kernel.language is not Language.TRITON:
                continue
            if _VENDORS.search(str(path)):
                skipped.vendor += 1
            elif module.is_helper(kernel):
                skipped.called += 1
            elif returns_value(module, kernel):
                skipped.returning += 1
            elif kernel.content_hash in seen:
                skipped.twice += 1
            else:
                seen.add(kernel.content_hash)
                found.append(Subject(corpus, path, kernel, module))
    return found, skipped


def generated(corpus: str, folder: Path) -> list[Subject]:
    """The kernels in files that a corpus wrote as it ran, each text once."""
    found: dict[str, Subject] = {}
    for path in sorted(folder.rglob("*.py")):
        module = parse_module(path.read_text(), str(path))
        for kernel in module.kernels:
            if not returns_value(module, kernel) and not module.is_helper(kernel):
                found.setdefault(kernel.content_hash, Subject(corpus, path, kernel, module))
    return list(found.values())


class Results:
    """Answers by key, a line each; a sweep that was stopped goes on where it was."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self.found: dict[str, dict[str, Any]] = {}
        if path.is_file():
            for line in path.read_text().splitlines():
                one = json.loads(line)
                self.found[one["key"]] = one

    def add(self, one: dict[str, Any]) -> None:
        self.found[one["key"]] = one
        with self._path.open("a") as file:
            file.write(json.dumps(one) + "\n")


def key_of(*parts: Any) -> str:
    """A name for a question, by all that it consists of."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def signature_jobs(found: Iterable[Subject]) -> Iterator[tuple[str, dict[str, Any]]]:
    """One job a kernel: which of the inferred launches holds."""
    for one in found:
        tried = [_sent(guess) for guess in guesses(one.module, one.kernel)]
        job = {"kind": "specialize", "module": str(one.path), "kernels": {one.kernel.name: tried}}
        yield key_of(one.kernel.content_hash, one.place, tried), job


def _sent(guess: Guess) -> dict[str, Any]:
    return {
        "launch": dump(guess.launch),
        "config": guess.config,
        "defaulted": sorted(guess.defaulted),
    }


def captured_launches(corpus: str, found: list[Subject]) -> dict[str, dict[str, Any]]:
    """The most frequent launch that was captured of each kernel, by the kernel's place."""
    captures = load_captures(CAPTURED / f"{corpus}.jsonl.gz")
    launches: dict[str, dict[str, Any]] = {}
    for one in found:
        own = (
            k
            for k in captures.launches_of(one.module, one.path).fitting
            if k.kernel == one.kernel.name
        )
        seen = [launch for k in own for launch in k.launches if launch.failure is None]
        if seen:
            launches[one.place] = dump(max(seen, key=lambda launch: launch.count).facts)
    return launches


def sampled(found: list[Subject], captured: dict[str, dict[str, Any]], every: int) -> list[Subject]:
    """The captured kernels, and of the others those that are one in so many of all."""
    return [one for n, one in enumerate(found) if one.place in captured or n % every == 0]


def compile_job(one: Subject, launch: dict[str, Any], target: Target) -> dict[str, Any]:
    """What ``compile_launch`` would ask a worker."""
    job = {"module": str(one.path), "launch": launch, "emit": []}
    if target.backend != "xpu":
        return {**job, "kind": "compile", "target": dump(target)}
    ocloc = xpu_toolchain().ocloc
    native = {"ocloc": ocloc.path, "ocloc_version": ocloc.version} if ocloc else {"ocloc": None}
    where = {**describe(target), "ocloc_version": "", **native}
    return {**job, "kind": "compile_xpu", "torch": "2.11.0", "target": where}


def run(
    corpus: str, asked: Iterable[tuple[str, dict[str, Any]]], results: Results, python: str
) -> None:
    """Have a child answer what is not known yet."""
    missing = [(key, job) for key, job in asked if key not in results.found]
    if not missing:
        return
    environment = {
        **os.environ, "PYTHONPATH": os.environ.get("SWEEP_ENGINE", str(ROOT / "engine")),
        "GEMS_VENDOR": "nvidia", "HOME": str(RESULTS), "TRITON_CACHE_DIR": str(RESULTS / "triton"),
    }  # fmt: skip
    command = [
        "nice",
        "-n",
        os.environ.get("SWEEP_NICE", "19"),
        python,
        str(Path(__file__).with_name("compile_child.py")),
    ]
    with subprocess.Popen(
        [*command, str(corpora.folder()), corpus],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=environment,
    ) as child:  # fmt: skip
        assert child.stdin is not None
        assert child.stdout is not None
        for done, (key, job) in enumerate(missing, 1):
            child.stdin.write(json.dumps({"key": key, "job": job}) + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
            if not line:
                raise RuntimeError("the compiling process ended")
            answer = json.loads(line)
            results.add({**answer, "kind": job["kind"], "module": job["module"]})
            if done % 20 == 0:
                sys.stderr.write(f"{corpus} {job['kind']} {done}/{len(missing)}\n")


def main() -> None:
    """Sweep one corpus."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", choices=corpora.CORPORA, required=True)
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--generated", type=Path, help="files that the corpus wrote as it ran")
    given = parser.parse_args()
    found = subjects(given.corpus)[0]
    captured = captured_launches(given.corpus, found)
    found = sampled(found, captured, EVERY[given.corpus])
    if given.generated:
        written = generated(given.corpus, given.generated)
        captured |= captured_launches(given.corpus, written)
        found += [one for one in written if one.place in captured]
    sweep(given.corpus, found, tuple(given.target or TARGETS), captured)


def sweep(
    corpus: str,
    found: list[Subject],
    targets: tuple[str, ...],
    captured: dict[str, dict[str, Any]],
) -> None:
    """Infer launches of kernels never captured, and compile those and the captured ones."""
    signatures = Results(RESULTS / f"{corpus}-signatures.jsonl")
    never = [one for one in found if one.place not in captured]
    asked = list(signature_jobs(never))
    run(corpus, asked, signatures, sys.executable)
    keys = {one.place: key for one, (key, _) in zip(never, asked, strict=True)}
    for name in targets:
        target = parse_target(name)
        python = xpu_toolchain().python if target.backend == "xpu" else sys.executable
        results = Results(RESULTS / f"{corpus}-{name.replace(':', '-')}.jsonl")
        jobs = []
        for one in found:
            answer = signatures.found.get(keys.get(one.place, ""))
            launch = captured.get(one.place) or chosen(answer, one.kernel.name, name)
            if launch is not None:
                jobs.append((compile_key(one, launch, name), compile_job(one, launch, target)))
        run(corpus, jobs, results, python)


def compile_key(one: Subject, launch: dict[str, Any], target: str) -> str:
    """What a compile of a kernel is kept as."""
    return key_of(one.kernel.content_hash, launch, target)


def chosen(answer: dict[str, Any] | None, kernel: str, target: str) -> dict[str, Any] | None:
    """The launch of a signature job that holds; None if none does.

    Triton for Intel still has the block pointers that the Triton which chooses has no more.
    """
    if answer is None or answer["status"] != "ok":
        return None
    about = answer["value"]["kernels"][kernel]
    only_blocks = target.startswith("xpu") and "Block pointers" in str(about["refused"][:1])
    launch: dict[str, Any] | None = None
    if about["chosen"] is not None or only_blocks:
        launch = about["launches"][0]
    return launch


if __name__ == "__main__":
    main()
