"""The results of torch's operator of that name, or of a reference in the file."""

from collections.abc import Iterator, Sequence

from tilewright.executed import extents
from tilewright.executed.observations import (
    Fault,
    Reached,
    Run,
    Sighting,
    Wrong,
    deviation_text,
    reached,
)
from tilewright.executed.operator_names import bare_name, operator_of
from tilewright.executed.relations.model import SoundDraft
from tilewright.worker.messages.drafted import DraftedCall, DraftedRun, Reference

_CONTENTS = ("negative", "steps")
_LARGE = "wide"
_LONGEST = 2


def with_operator(sound: SoundDraft, run: Run) -> Iterator[Sighting]:
    """A call that no reading of the operator agrees with."""
    operator = operator_of(sound.space.function, sound.space.parameters)
    if operator is None:
        return
    roles = {role: _key(sound, name) for role, name in operator.roles.items()}
    reference: Reference = {"operator": operator.name, "roles": roles}
    calls = _referred(sound, reference)
    yield from _deviating(calls, run(calls), is_sure=operator.is_sure)


def with_function(sound: SoundDraft, run: Run) -> Iterator[Sighting]:
    """A call whose result is not that of the file's reference for the function."""
    name = _reference_of(sound)
    if name is None:
        return
    calls = _referred(sound, {"function": name})
    yield from _deviating(calls, run(calls), is_sure=True)


def _key(sound: SoundDraft, name: str) -> str:
    arguments = sound.space.call(sound.draft, sound.usual)["arguments"]
    return name if name in arguments else f"={name}"


def _referred(sound: SoundDraft, reference: Reference) -> list[DraftedCall]:
    """Calls with ordinary and odd extents, other contents, and a long last axis."""
    space, draft = sound.space, sound.draft
    calls = [space.call(draft, sizes) for sizes in (sound.usual, sound.odd)]
    contents = (*_CONTENTS, _LARGE) if _has_one_matrix(calls[0]) else _CONTENTS
    calls += [space.call(draft, sound.odd, contents=one) for one in contents]
    if not space.has_numbers:
        leading = space.leading(draft)
        longest = [s for s in sound.usual if s not in leading][-_LONGEST:]
        calls += [space.call(draft, {**sound.usual, s: extents.LARGE}) for s in longest]
    return [{**call, "reference": reference} for call in calls]


def _has_one_matrix(call: DraftedCall) -> bool:
    """Whether large numbers do not meet each other in products, whose rounding then shows."""
    tensors = [one for one in call["arguments"].values() if "shape" in one]
    return sum(len(one["shape"]) > 1 for one in tensors) <= 1


def _deviating(
    calls: Sequence[DraftedCall], runs: Sequence[DraftedRun], *, is_sure: bool
) -> Iterator[Sighting]:
    """The first call that deviates; of an operator that is not sure, where others agree."""
    if not is_sure and not any(one.get("agreed") for one in runs):
        return
    for call, one in zip(calls, runs, strict=False):
        deviation = one.get("deviation")
        if deviation is None or reached(one) is not Reached.ENDED:
            continue
        fault = Fault(Wrong.REFERENCE, 0, deviation_text(deviation))
        yield Sighting(fault, call, call is calls[0])
        return


_REFERENCES = ("ref", "reference", "torch", "naive", "pytorch", "native", "eager", "golden")


def _reference_of(sound: SoundDraft) -> str | None:
    """The only function of the file that is named as a reference of this one, with its
    parameters or the first of them."""
    space = sound.space
    given = [p.name for p in space.parameters if not p.has_default]
    found = []
    for name, parameters in space.plain_functions:
        words = bare_name(name).split("_")
        left = "_".join(w for w in words if w not in _REFERENCES)
        if len(left.split("_")) == len(words) or left != bare_name(space.function):
            continue
        if list(parameters[: len(given)]) == given:
            found.append(name)
    return found[0] if len(found) == 1 else None
