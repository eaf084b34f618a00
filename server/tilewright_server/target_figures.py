"""What is known of a file's kernels on each chip, before one is chosen to optimize for."""

from collections.abc import Iterator, Sequence

from tilewright.figures import time_text
from tilewright_server.kernel_facts import CompiledFacts, ProfileFacts

_MOST_KERNELS = 3
KernelKnown = tuple[str, CompiledFacts | None, Sequence[ProfileFacts]]


def target_figures(kernels: Sequence[KernelKnown]) -> dict[str, str]:
    """By chip: the time of each kernel, measured or by estimate, and its share of the roof.

    Chips of which nothing is known are left out.
    """
    known: dict[str, list[str]] = {}
    for name, compiled, profiles in kernels:
        for target, said in _of_kernel(compiled, profiles):
            known.setdefault(target, []).append(f"{name}: {said}" if len(kernels) > 1 else said)
    return {target: "; ".join(_cut(said)) for target, said in known.items()}


def _cut(said: list[str]) -> list[str]:
    left = len(said) - _MOST_KERNELS
    return said[:_MOST_KERNELS] + ([f"and {left} more"] if left > 0 else [])


def _of_kernel(
    compiled: CompiledFacts | None, profiles: Sequence[ProfileFacts]
) -> Iterator[tuple[str, str]]:
    measured = {one.target: one for one in profiles if one.time is not None}
    targets = compiled.targets if compiled is not None else ()
    for target in dict.fromkeys((*measured, *targets)):
        if target in measured:
            yield target, _measured(measured[target])
        elif compiled is not None:
            yield target, _estimated(compiled, target)


def _measured(facts: ProfileFacts) -> str:
    time = facts.time
    if time is None:
        return "not measured"
    roof = f", {facts.roof_percent:.0f} % of the roof" if facts.roof_percent is not None else ""
    return f"{time_text(time.median_us)} measured on {time.device}{roof}"


def _estimated(compiled: CompiledFacts, target: str) -> str:
    reports = compiled.of_target(target)
    good = [report for report in reports if report.ok]
    if not good:
        return "does not compile" if reports else "not compiled, not measured"
    found = [one for one in map(compiled.estimate_of, good) if one is not None]
    if not found:
        return "compiled, no estimate, not measured"
    best = min(found, key=lambda one: one.us)
    return f"{time_text(best.us)} by estimate, {best.roofline_percent:.0f} % of the roof"
