"""What a candidate was seen doing that the original does not do, in words.

The facts are ``tilewright.worker.tamper``'s: of the import and the checked calls of each version,
seen in its own process. What the original does too is part of its contract.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from tilewright.evaluation import permissions
from tilewright.worker import operator_names

IN_TRITON, IN_NKI = "the work must stay in Triton", "the work must stay in NKI kernels"
_IN_MEMORY = " lies in "
# With every launch left out, this much more of a candidate's result than of the original's may
# still be right: zeros of a cleared output that happen to be the result.
SKIPPED_MARGIN = 0.2

_Facts = Mapping[str, Any]


def faults(original: _Facts, candidate: _Facts, allow: Collection[str] = ()) -> tuple[str, ...]:
    """What speaks against the candidate; empty when it did nothing that the original does not, and
    that the project does not ``allow``."""
    candidate = permissions.excused(candidate, allow)
    return tuple(
        fault
        for rule in (
            _launches,
            _operators,
            _made_objects,
            _events,
            _replaced,
            _settings,
            _threads,
            _kept_tensors,
            _state,
            _unseen,
            _shared,
            _skipped,
        )
        for fault in rule(original, candidate)
    )


def notes(original: _Facts, candidate: _Facts) -> tuple[str, ...]:
    """Notes for the user that do not fail the candidate."""
    return tuple(_missing_launches(original, candidate)) + tuple(
        _native_threads(original, candidate)
    )


def _launches(original: _Facts, candidate: _Facts) -> Iterator[str]:
    before, after = _field_mapping(original, "launches"), _field_mapping(candidate, "launches")
    if before and not after:
        yield (f"it launched no kernel, where the original launches {_listed(before)}; {IN_TRITON}")
    files = {entry["file"] for entry in before.values()}
    for name, entry in after.items():
        if entry["file"].startswith("/") and entry["file"] not in files:
            yield (
                f"it launches {name} of {entry['file']}, a file that the original launches nothing "
                "of; keep kernels in the file under test"
            )
        elif not entry["file"]:
            yield f"it launches {name}, whose source is unknown; launch kernels by kernel[grid]"
        elif not entry["programs"] and before.get(name, {}).get("programs", 1):
            yield f"it launches {name} with no programs at all"
    if candidate.get("aside", 0) > original.get("aside", 0):
        yield (
            "it launches on a stream of its own, where the caller's clock does not see it; launch "
            "on the current stream"
        )


def _operators(original: _Facts, candidate: _Facts) -> Iterator[str]:
    before = _field_mapping(original, "operators")
    for name, entry in _field_mapping(candidate, "operators").items():
        if name in before or operator_names.is_plumbing(name):
            continue
        if not entry["bytes"]:
            continue
        way_out = permissions.reading_hint(name, entry)
        operator = name.partition(".")[2]
        if operator in operator_names.READS:
            yield (
                f"it reads the contents of a tensor ({operator}, {entry['where']}), which the "
                f"original does not; leave the contents to kernels{way_out}"
            )
            continue
        yield (
            f"it runs the operator {name} ({entry['calls']} times, {entry['where']}), which the "
            f"original does not; {IN_TRITON}{way_out}"
        )


def _made_objects(original: _Facts, candidate: _Facts) -> Iterator[str]:
    yield from _new(original, candidate, "made", "it makes {what} ({where}), which the original")


def _events(original: _Facts, candidate: _Facts) -> Iterator[str]:
    yield from _new(original, candidate, "events", "it {what} ({where}), which the original")


def _new(original: _Facts, candidate: _Facts, field: str, text: str) -> Iterator[str]:
    before = _field_mapping(original, field)
    for what, where in _field_mapping(candidate, field).items():
        if what not in before:
            yield f"{text.format(what=what, where=where)} does not; a kernel edit does not need it"


def _replaced(original: _Facts, candidate: _Facts) -> Iterator[str]:
    before = set(original.get("replaced", ()))
    found = [name for name in candidate.get("replaced", ()) if name not in before]
    if found:
        yield f"it replaces {_listed(found)}, which others rely on; leave libraries as they are"


def _settings(original: _Facts, candidate: _Facts) -> Iterator[str]:
    before = set(original.get("settings", ()))
    found = [name for name in candidate.get("settings", ()) if name not in before]
    if found:
        yield f"it changes {_listed(found)} for the whole process; set nothing outside a launch"


def _threads(original: _Facts, candidate: _Facts) -> Iterator[str]:
    if candidate.get("threads", 0) > original.get("threads", 0):
        yield "a thread that it started runs on after the call returned; do all work in the call"


def _kept_tensors(original: _Facts, candidate: _Facts) -> Iterator[str]:
    """Tensors, by number: a candidate may rename what the original keeps."""
    before, after = _field_mapping(original, "kept"), _field_mapping(candidate, "kept")
    if len(after) <= len(before) and sum(after.values()) <= sum(before.values()):
        return
    for way, size in after.items():
        if way not in before:
            yield (
                f"it keeps a tensor of {size} bytes in {way} after a call has returned; allocate "
                f"in each call what it needs{permissions.hint(candidate, way)}"
            )


def _state(original: _Facts, candidate: _Facts) -> Iterator[str]:
    before = set(original.get("state", ()))
    found = [name for name in candidate.get("state", ()) if name not in before]
    if found:
        yield (
            f"a call changes {_listed(found)}, which the next call finds; a call may leave nothing "
            "behind"
        )


def _unseen(original: _Facts, candidate: _Facts) -> Iterator[str]:
    for name in candidate.get("unseen", ()):
        if name not in original.get("unseen", ()):
            yield (
                f"it holds more in {name} than can be looked through for what a call keeps; keep "
                "no large structures in the module"
            )


def _shared(original: _Facts, candidate: _Facts) -> Iterator[str]:
    """Whose memory results lie in; nothing where one version's was not looked at."""
    if "shared" not in original or "shared" not in candidate:
        return
    before, after = original["shared"], candidate["shared"]
    for told in before:
        if told not in after and _IN_MEMORY in told:
            yield f"no longer so: {told}; callers may rely on it"
    for told in after:
        if told in before:
            continue
        if _IN_MEMORY in told:
            yield f"{told}, where the original's has memory of its own; allocate the result"
        else:
            yield (
                f"{told}, which is otherwise after the original, and callers may rely on it; "
                "allocate results plainly, in the order of their dimensions"
            )


def _skipped(original: _Facts, candidate: _Facts) -> Iterator[str]:
    share, allowed = candidate.get("skipped_same"), original.get("skipped_same") or 0.0
    if share is not None and share > allowed + SKIPPED_MARGIN:
        yield (
            f"{share:.0%} of its result is right though no kernel ran (the original's: "
            f"{allowed:.0%}): it is not the kernels' work"
        )


def _missing_launches(original: _Facts, candidate: _Facts) -> Iterator[str]:
    gone = [
        name
        for name in _field_mapping(original, "launches")
        if name not in _field_mapping(candidate, "launches")
    ]
    if gone:
        yield f"{_listed(gone)} is no longer launched; other kernels do its work"


def _native_threads(original: _Facts, candidate: _Facts) -> Iterator[str]:
    more = candidate.get("native_threads", 0) - original.get("native_threads", 0)
    if more > 0:
        yield f"{more} more threads of the system are there after its calls than the original's"


def _field_mapping(facts: _Facts, field: str) -> Mapping[str, Any]:
    found = facts.get(field)
    return found if isinstance(found, Mapping) else {}


def _listed(names: Iterable[str], most: int = 5) -> str:
    found = list(names)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more
