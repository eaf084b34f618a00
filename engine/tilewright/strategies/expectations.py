"""What an idea expected of the compilers' figures, and what became of it."""

from collections.abc import Iterator, Mapping, Sequence

from tilewright.agents.change import FACTS
from tilewright.evaluation.model import Evaluation
from tilewright.strategies.verdict import reports_of

_WORDS = {
    "spill_bytes": "bytes spilled",
    "registers": "registers a thread",
    "shared_bytes": "bytes of shared memory",
}


def figures(evaluation: Evaluation) -> Mapping[str, int]:
    """The largest figure of each kind over kernels and configurations; what is not known is out."""
    reports = [report for report in reports_of(evaluation) if report.ok]
    found = {
        name: [value for report in reports if (value := getattr(report, name)) is not None]
        for name in FACTS
    }
    return {name: max(values) for name, values in found.items() if values}


def expectation_words(
    expects: Sequence[str], before: Evaluation, after: Evaluation
) -> Iterator[str]:
    """A sentence for each expected change of a figure that both evaluations have.

    ``expects``: a fact with a sign, "spill_bytes-" where it was to fall.
    """
    old, new = figures(before), figures(after)
    for one in expects:
        name, sign = one[:-1], one[-1:]
        if name not in old or name not in new:
            continue
        wanted = new[name] < old[name] if sign == "-" else new[name] > old[name]
        verdict = "as expected" if wanted else f"expected to {'fall' if sign == '-' else 'rise'}"
        yield f"{_WORDS[name]} {old[name]} -> {new[name]}, {verdict}"
