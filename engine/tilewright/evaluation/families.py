"""Which checks a candidate has to stand: few and telling ones.

Beyond the spec's own cases one check combines several things that are out of the ordinary (extents
that fit no tile, values, a layout, an order). Where the original does not stand such a check,
``simpler`` has what to ask instead, one thing at a time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from random import SystemRandom

from tilewright.evaluation.checks import FORWARD, NORMAL, PLAIN, REVERSED, SHUFFLED, Check
from tilewright.problems.model import Case, EntryKind, Problem, Ragged
from tilewright.problems.permissions import FINITE, FIXED_LAYOUTS, FIXED_SHAPES, FORWARD_ONLY

SEEDS = (0, 1)
WHERE_ANY, NEEDED = "where any", "needed"
"""Of gradients: whether a candidate may do without those that its original has."""
# Seeds of the checks beyond the spec's cases begin here, so that no inputs are seen twice.
_FIRST_SEED = 2
_NONFINITE = "nonfinite"
_FAMILIES = (
    "large", "tiny", "sparse", "signed_zeros", _NONFINITE, "outliers", "constant_rows", "shifted",
)  # fmt: skip
_OF_KNOWN_ERROR = ("constant_rows", "shifted")
"""Asked only where a reference tells how far off an original is: of rows without spread, or with
little of it, what it divides by is an error of rounding."""
_MIXED = {
    "mixed": ("outliers", "tiny", "signed_zeros"),
    "mixed_constant": ("outliers", "tiny", "signed_zeros", "constant_rows"),
}
WIDE_INTEGERS = ("wider_integers", "wide_integers")
"""Families of integers without a range, the wider one first."""
_REPEATS = 3


def checks_for(problem: Problem, *, can_time: bool) -> tuple[Check, ...]:
    """Every check of a problem, those of the spec's own cases first; none where it has no case.

    Args:
        can_time: whether it runs on a device, which takes measured shapes as well and does not
            let anybody choose the order of programs.
    """
    problem = _without_others(problem)
    small = problem.check_cases() if can_time else problem.interpreted_cases()
    checks = [
        Check(case, seed, order=FORWARD if can_time or seed != SEEDS[-1] else REVERSED)
        for case in small
        for seed in SEEDS
    ]
    checks += [Check(case, SEEDS[0], repeats=_REPEATS) for case in _timed(problem, can_time)]
    odd = _on_device(problem, small) if can_time else _interpreted(problem, small)
    numbered = enumerate((*_modes(problem, small), *odd), _FIRST_SEED)
    return (
        *checks,
        *(_permitted(problem, replace(one, seed=seed, required=False)) for seed, one in numbered),
    )


def watched_for(problem: Problem) -> tuple[Check, ...]:
    """What is called in the interpreter as well where a device has the word: a small case, and
    extents that fit no tile. None where no case is small enough for the interpreter."""
    problem = _without_others(problem)
    small = problem.interpreted_cases()
    if not small:
        return ()
    primes = (problem.ragged or Ragged()).primes
    odd = (Check(_random_case(primes), _FIRST_SEED, required=False),) if primes else ()
    return (Check(small[0], SEEDS[0]), *odd)


def _without_others(problem: Problem) -> Problem:
    """A problem whose candidates may fail at extents that its cases do not have: none are asked."""
    return replace(problem, ragged=None) if FIXED_SHAPES in problem.allow else problem


def _permitted(problem: Problem, check: Check) -> Check:
    """A check without what candidates may fail at."""
    if FIXED_LAYOUTS in problem.allow and check.layout != "aliased":
        check = replace(check, layout=PLAIN)
    if FINITE in problem.allow and check.values == _NONFINITE:
        check = replace(check, values=NORMAL)
    return check


def simpler(problem: Problem, check: Check) -> tuple[Check, ...]:
    """What to ask instead of a check that the original does not stand: each thing by itself."""
    small = problem.interpreted_cases()
    if not small or check.required:
        return ()
    plain = Check(small[-1], check.seed, required=False)
    found = list(_single(problem, check))
    if check.values != NORMAL:
        found.append(replace(plain, values=check.values))
    if check.layout != PLAIN:
        found.append(replace(plain, layout=check.layout))
    if check.order != FORWARD:
        found.append(replace(plain, order=check.order))
    alone = replace(plain, case=check.case, values=check.values)
    if check == alone and check.values != NORMAL and not check.is_ragged:
        return tuple(replace(alone, values=name) for name in _parts_of(check.values))
    together = check.is_ragged + (check.values != NORMAL) + (check.layout != PLAIN)
    together += check.order != FORWARD
    return tuple(found) if together > 1 or check.is_ragged else ()


def _parts_of(values: str) -> tuple[str, ...]:
    """What to ask instead of a family that an original does not stand."""
    if values == WIDE_INTEGERS[0]:
        return WIDE_INTEGERS[1:]
    return _MIXED.get(values, ())


def _single(problem: Problem, check: Check) -> Iterator[Check]:
    """The extents of a ragged check alone; where that is what it was, one extent at a time."""
    ragged = problem.ragged
    if not check.is_ragged or ragged is None:
        return
    alone = Check(check.case, check.seed, required=False)
    if check != alone:
        yield alone
    elif check.case in ragged.primes:
        yield from (replace(alone, case=_random_case(ragged.tied)) for _ in ragged.tied[:1])
        yield from (replace(alone, case=case) for case in ragged.single)


def _timed(problem: Problem, can_time: bool) -> tuple[Case, ...]:
    names = {case.name for case in problem.check_cases()}
    measured = problem.measured_cases() if can_time else ()
    return tuple(case for case in measured if case.name not in names)


def _interpreted(problem: Problem, small: tuple[Case, ...]) -> Iterator[Check]:
    """A handful: the interpreter takes as long for each as for one of the spec's cases."""
    if not small or problem.is_captured:
        if small:
            yield Check(small[-1], 0, order=SHUFFLED)
        return
    first, last = small[0], small[-1]
    if problem.own_rule is not None:  # at the benchmark's own sizes, where each check takes long
        yield from (Check(first, 0, values) for values in ("large", "mixed_constant"))
        return
    ragged = problem.ragged or Ragged()
    odd = _random_case(ragged.primes or (last,))
    yield Check(odd, 0, "large", _moved(odd), SHUFFLED)
    yield Check(first, 0, _NONFINITE, _layout(first, "transposed"))
    thin = [_random_case(cases) for cases in ragged.thin]
    for case in thin[:1]:
        yield Check(case, 0, "sparse", _layout(case, "offset"), repeats=2)
    other = thin[1] if len(thin) > 1 else first
    yield Check(other, 0, "outliers", _layout(other, "aliased"))
    if problem.reference is not None:
        yield Check(last, 0, "mixed_constant")
        yield Check(first, 0, "shifted")
    else:
        yield Check(last, 0, "mixed")
    yield from _integers(problem, first)
    yield from _far(ragged)


def _modes(problem: Problem, small: tuple[Case, ...]) -> Iterator[Check]:
    """What no ordinary call of a module shows: training, and gradients."""
    for case in small[:1] if problem.entry.kind is EntryKind.MODEL else ():
        yield Check(case, 0, training=True)
        if FORWARD_ONLY not in problem.allow:
            yield Check(case, 0, gradients=WHERE_ANY)


def _on_device(problem: Problem, small: tuple[Case, ...]) -> Iterator[Check]:
    """All families on a small shape, where a call costs next to nothing; then what has to be
    compiled anew, since a kernel is specialized by divisibility and by extents of 1."""
    for case in small[:1]:
        if not problem.is_captured:
            yield from (Check(case, 0, values) for values in _families(problem))
            yield from _integers(problem, case, on_device=True)
            yield from _aliased((case,))
        yield Check(case, 0, repeats=_REPEATS)
    yield from (
        (Check(case, 0, "large", repeats=1) for case in _timed(problem, True)[:1])
        if not problem.is_captured
        else ()
    )
    if small and not problem.is_captured:
        yield from _specialized(problem.ragged or Ragged(), small[-1])
        yield from _far(problem.ragged or Ragged())
    for warps in (8, 4):
        yield from (Check(case, 0, launch_options={"num_warps": warps}) for case in small[:1])


def _families(problem: Problem) -> tuple[str, ...]:
    if problem.reference is not None:
        return _FAMILIES
    return tuple(name for name in _FAMILIES if name not in _OF_KNOWN_ERROR)


def _integers(problem: Problem, case: Case, *, on_device: bool = False) -> Iterator[Check]:
    """Integers of all sizes where the spec gives them no range.

    One that a kernel uses as an index leads it outside of its tensors then, which the interpreter
    survives. A device may not, so there whole words are left alone; and without a reference nobody
    could say that what it finds there is nonsense.
    """
    sizes = {dtype for name, dtype in free_integers(case) if dtype}
    are_bytes = sizes <= _BYTES
    known = problem.reference is not None and not on_device
    if sizes and (are_bytes or known):
        yield Check(case, 0, WIDE_INTEGERS[0])


_BYTES = {"int8", "uint8"}


def free_integers(case: Case) -> tuple[tuple[str, str], ...]:
    """(name, dtype) of the integer tensors of a case for which nothing says what they may be."""
    return tuple(
        (one.name, one.dtype)
        for one in case.inputs
        if one.value is None
        and one.low is None
        and not one.values
        and one.std is None
        and one.dtype.removeprefix("u").startswith("int")
    )


def _specialized(ragged: Ragged, last: Case) -> Iterator[Check]:
    odd = _random_case(ragged.primes or (last,))
    yield Check(odd, 0, "outliers", _moved(odd))
    yield Check(last, 0, _NONFINITE, _layout(last, "transposed"))
    for case in map(_random_case, ragged.thin[:1]):
        yield Check(case, 0, "sparse", _layout(case, "offset"))


def _far(ragged: Ragged) -> Iterator[Check]:
    if ragged.far:
        yield Check(_random_case(ragged.far), 0)


def _random_case(cases: Sequence[Case]) -> Case:
    """One of several alternatives: whoever writes a candidate cannot know which."""
    return SystemRandom().choice(cases)


def _aliased(cases: Iterable[Case]) -> Iterator[Check]:
    for case in cases:
        if _layout(case, "aliased") != PLAIN:
            yield Check(case, 0, layout="aliased")


def _moved(case: Case) -> str:
    """Strided where that changes anything about a case's inputs, else at an odd address."""
    strided = _layout(case, "strided")
    return strided if strided != PLAIN else _layout(case, "offset")


def _layout(case: Case, layout: str) -> str:
    """The layout, if it changes anything about a case's inputs."""
    given = [one for one in case.inputs if one.value is None and one.shape]
    if layout in ("strided", "transposed"):
        given = [one for one in given if not one.facts.contiguous]
    tensors = [(one.shape, one.dtype) for one in given]
    if case.inputs_from_module:
        changes = layout != "aliased"
    elif layout == "aliased":
        changes = len(set(tensors)) < len(tensors)
    elif layout in ("strided", "transposed"):
        changes = any(len(shape) > 1 for shape, _ in tensors)
    else:
        changes = bool(tensors)
    return layout if changes else PLAIN
