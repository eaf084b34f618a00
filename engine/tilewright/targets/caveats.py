"""Differences between a compile report and the text: omitted options, older forms."""

from collections.abc import Iterable, Iterator

from tilewright.targets.model import CompileReport

_LEFT_OUT = "options_not_known_to_compiler"
_OTHERWISE = ("tensor_descriptors",)


def caveats(reports: Iterable[CompileReport]) -> tuple[str, ...]:
    """Sentences for people, each once."""
    return tuple(dict.fromkeys(text for report in reports for text in _report_caveats(report)))


def _report_caveats(report: CompileReport) -> Iterator[str]:
    names = str(report.details.get(_LEFT_OUT) or "")
    if names:
        compiler = report.toolchain.partition(",")[0]
        yield f"compiled for {report.target} without {names}, which {compiler} does not know"
    for name in _OTHERWISE:
        if report.details.get(name):
            yield f"for {report.target} {report.details[name]}"
