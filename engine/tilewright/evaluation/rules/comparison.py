"""All rules over an original and a candidate."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from tilewright.evaluation.rules.contract import contract
from tilewright.evaluation.rules.foreign_code import encoding, imports, kernels, loggers
from tilewright.evaluation.rules.model import Finding, Grade
from tilewright.evaluation.rules.names import names, reflection
from tilewright.evaluation.rules.nki import nki
from tilewright.evaluation.rules.operators import operators
from tilewright.evaluation.rules.state import state
from tilewright.evaluation.rules.stores import flow, stores
from tilewright.evaluation.rules.view import View, view_of
from tilewright.problems.model import Entry
from tilewright.problems.permissions import permitting
from tilewright.source import parse_module
from tilewright.source.model import Module

_RULES = (
    encoding, imports, reflection, names, stores, state, operators, flow, kernels, loggers,
    nki,
)  # fmt: skip
_SPELLED = re.compile(r"torch\.(?:nn\.)?(?:functional\.)?(\w+)|\.(\w+)\(\) of a tensor")
_SIGNS = {"the @ operator": "matmul", "the + operator on tensors": "add"}
_SAME = {"mm": "matmul", "bmm": "matmul"}
_OF_ANY_RANK = re.compile(r"(batch|instance)norm[123]d")


@dataclass(frozen=True)
class Verdict:
    """In words: ``faults`` refuse the candidate; ``questions`` are for its runs to answer;
    ``permitted`` is what a setting excuses."""

    faults: tuple[str, ...]
    questions: tuple[str, ...]
    permitted: tuple[str, ...] = ()


def rule_verdict(
    original: Module, candidate: Module, entry: Entry | None, allow: Collection[str] = ()
) -> Verdict:
    """What the candidate's text does that the original's does not, or not as often.

    ``allow``: what the project permits (``problems.permissions``).
    """
    found = [
        *((finding, finding.key) for finding in contract(original, candidate, entry)),
        *_new(_finding_counts(original), view_of(candidate)),
    ]
    if view_of(candidate).is_nki:
        found = [(replace(one, way_out=in_nki(one.way_out)), text) for one, text in found]
    if not original.kernels:
        found = [(_if_it_runs(finding), text) for finding, text in found]
    permitted = [one for one in found if not set(allow).isdisjoint(one[0].allowed_by)]
    refused = [one for one in found if one not in permitted]
    return Verdict(
        tuple(_finding_texts(refused, Grade.HARD)),
        tuple(_finding_texts(refused, Grade.EVIDENCE)),
        tuple(_excused(permitted, allow)),
    )


@lru_cache(maxsize=16)
def _counted(text: str, path: str) -> Counter[str]:
    """How often an original, judged against by many candidates, has each finding."""
    return Counter(finding.key for finding in _findings(view_of(parse_module(text, path))))


_FOR_NKI = {
    "the work must stay in Triton": "the work must stay in NKI kernels",
    "its work must stay in Triton": "its work must stay in NKI kernels",
    "allocate by torch.empty": "pass it as an argument",
}


def in_nki(way_out: str) -> str:
    """A way out in the words of NKI."""
    return _FOR_NKI.get(way_out, way_out)


def _finding_counts(original: Module) -> Callable[[str], int]:
    """How often an original has a finding. Where it launches no kernels, as KernelBench's, all
    spellings of an operator are one: ``nn.Dropout``, ``F.dropout`` and ``x.dropout()``."""
    before = _counted(original.text, original.path)
    if original.kernels:
        return lambda key: before[key]
    alike: Counter[str] = Counter()
    for key, count in before.items():
        alike[spelled_alike(key)] += count
    return lambda key: alike[spelled_alike(key)]


def _if_it_runs(finding: Finding) -> Finding:
    """Operators on tensors, where the original computes in torch: the dispatcher sees those that
    run (the bias of a layer without one does not), and other functions of torch are its own."""
    if finding.allowed_by or not finding.key.endswith((" operator on tensors", "() of a tensor")):
        return finding
    return replace(finding, grade=Grade.EVIDENCE, way_out="no checked call may come to it")


def _new(before: Callable[[str], int], candidate: View) -> Iterator[tuple[Finding, str]]:
    """Findings beyond the original's number of each kind, the first of each, told."""
    after = list(_findings(candidate))
    counts = Counter(finding.key for finding in after)
    told: set[str] = set()
    for finding in after:
        had, has = before(finding.key), counts[finding.key]
        if has <= had or finding.key in told:
            continue
        told.add(finding.key)
        if had:
            yield finding, f"{finding.key} occurs {has} times, {had} in the original"
        else:
            yield finding, f"{finding.key} (line {finding.line}) is not in the original"


def _findings(view: View) -> Iterator[Finding]:
    return chain.from_iterable(rule(view) for rule in _RULES)


def _finding_texts(found: list[tuple[Finding, str]], grade: Grade) -> Iterator[str]:
    for finding, text in found:
        if finding.grade is grade:
            yield f"{text}; {finding.way_out}{permitting(finding.allowed_by)}"


def _excused(found: list[tuple[Finding, str]], allow: Collection[str]) -> Iterator[str]:
    for finding, text in found:
        names = [name for name in finding.allowed_by if name in allow]
        yield f"{text}: permitted by allow = {json.dumps(names)}"


def spelled_alike(key: str) -> str:
    """What all spellings of an operator have in common; a key that is none as it is.

    ``torch.nn.LeakyReLU``, ``torch.nn.functional.leaky_relu`` and ``.leaky_relu_() of a tensor``
    are ``leakyrelu``.
    """
    if key in _SIGNS:
        return _SIGNS[key]
    found = _SPELLED.fullmatch(key)
    if found is None:
        return key
    name = (found[1] or found[2]).lower().replace("_", "")
    return _OF_ANY_RANK.sub(r"\1norm", _SAME.get(name, name))
