"""What a candidate was seen doing that the project permits: what of the facts that excuses, and how
a certificate says it."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tilewright.problems.permissions import HOST_READS, PREPACKED, WORKSPACES, permitting

_Facts = Mapping[str, Any]
_PACKED = (
    "it keeps {way} ({size} bytes), made of its weights alone, as allow = {names} permits: packing "
    "is done once and not timed, and weights that change later are not followed"
)
_WORKSPACE = (
    "it keeps {way} ({size} bytes) from call to call, as allow = {names} permits: it was "
    "overwritten before each checked call"
)
_READ = (
    'its host code reads the contents of a tensor ({name}, {where}), as allow = ["host-reads"] '
    "permits: the host waits there for the device, and what it does by the number was seen for "
    "the checked inputs alone"
)
_MOST_READS = 8
"""Numbers that a call may read: who reads more computes with them."""
_READS = frozenset(
    f"aten.{name}" for name in ("item", "_local_scalar_dense", "is_nonzero", "all", "any")
)


def excused(candidate: _Facts, allow: Collection[str]) -> _Facts:
    """The facts without what is permitted: numbers that the host reads, tensors that are kept, and
    the containers of those as long as they do not grow from call to call."""
    if HOST_READS in allow:
        operators: _Facts = candidate.get("operators") or {}
        rest = {name: told for name, told in operators.items() if not _is_a_few(name, told)}
        candidate = {**candidate, "operators": rest}
    permitted = _permitted(candidate, allow)
    if not permitted:
        return candidate
    steady = set(candidate.get("steady") or ())
    holders = [
        name
        for name in candidate.get("state") or ()
        if name not in steady and any(_holds(name, way) for way in permitted)
    ]
    kept: _Facts = candidate.get("kept") or {}
    return {
        **candidate,
        "kept": {way: size for way, size in kept.items() if way not in permitted},
        "state": [name for name in candidate.get("state") or () if name not in holders],
    }


def _holds(name: str, way: str) -> bool:
    """Whether a value is the size of what a kept tensor lies in, or a part of the key it has
    there."""
    return way.startswith(name) or name.startswith(f"{way.rpartition('[')[0]}[key ")


def used(original: _Facts, candidate: _Facts, allow: Collection[str]) -> Iterator[str]:
    """What it did by leave of the project, for its certificate."""
    sizes: _Facts = candidate.get("kept") or {}
    before: _Facts = original.get("kept") or {}
    for way, name in _permitted(candidate, allow).items():
        if way not in before:
            text = _PACKED if name == PREPACKED else _WORKSPACE
            yield text.format(way=way, size=sizes[way], names=json.dumps([name]))
    operators, others = candidate.get("operators") or {}, original.get("operators") or {}
    if HOST_READS in allow:
        few = (name for name, told in operators.items() if _is_a_few(name, told))
        for name in sorted(set(few) - set(others)):
            yield _READ.format(name=name, where=operators[name]["where"])


def _is_a_few(operator: str, told: _Facts) -> bool:
    return operator in _READS and told["calls"] <= _MOST_READS


def reading_hint(operator: str, told: _Facts) -> str:
    """The setting that would have permitted an operator; empty where none would."""
    return permitting((HOST_READS,)) if _is_a_few(operator, told) else ""


def hint(candidate: _Facts, way: str) -> str:
    """Which settings would have permitted a kept tensor."""
    packed = set(candidate.get("packed") or ()) - set(candidate.get("unpacked") or ())
    known = bool(packed) or bool(candidate.get("unpacked"))
    if known and way not in packed:
        return f"{permitting((WORKSPACES,))} if no call relies on its contents"
    return permitting((WORKSPACES, PREPACKED))


def _permitted(candidate: _Facts, allow: Collection[str]) -> dict[str, str]:
    """The setting that permits each kept tensor, by the way to it."""
    kept: _Facts = candidate.get("kept") or {}
    packed = set(candidate.get("packed") or ()) - set(candidate.get("unpacked") or ())
    found = {}
    for way in kept:
        if way in packed and PREPACKED in allow:
            found[way] = PREPACKED
        elif WORKSPACES in allow:
            found[way] = WORKSPACES
    return found
