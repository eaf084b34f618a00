"""What is compiled, as written on the command line: targets, options, configurations."""

from contextlib import AbstractContextManager, suppress
from pathlib import Path

from tilewright.cli.inputs import read_source
from tilewright.cli.output import ERR
from tilewright.errors import InputError
from tilewright.inspection.variants import Judged, Launches, Outcome, Value, Variant, by_reason
from tilewright.inspection.variants import launches_of as launches_of_text
from tilewright.targets.registry import parse_target


def launches_of(
    path: Path,
    kernel: str | None = None,
    spec: Path | None = None,
    configs: int | None = None,
    captured: Path | None = None,
) -> AbstractContextManager[Launches]:
    """``inspection.variants.launches_of`` of a file's text; what it says is on standard error."""
    say = ERR.print
    return launches_of_text(path, read_source(path), say, kernel, spec, configs, captured)


def say_rest(outcome: Judged[Outcome]) -> None:
    """A line on standard error for each reason why kernels are not judged."""
    for kernels, words in by_reason(outcome.not_judged):
        ERR.print(f"{', '.join(kernels)}: {words}")


def variant(written: str, options: str = "") -> Variant:
    """A variant as written, with options for those it does not set itself.

    Raises:
        InputError: an unknown target, or an option without a value.
    """
    name, _, own = written.partition(",")
    return Variant(parse_target(name), {**_settings(options), **_settings(own)})


def _settings(text: str) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not name or not value:
            raise InputError(f"cannot read option {part!r}; write num_warps=8")
        found[name.strip()] = _value(value.strip())
    return found


def _value(text: str) -> Value:
    if text in ("True", "False"):
        return text == "True"
    if text[-1].isdigit() or text[-1] == ".":  # `nan` and `inf` are words
        for kind in (int, float):
            with suppress(ValueError):
                return kind(text)
    return text


def how_many(configs: str | None) -> int | None:
    """``--configs``: None if it was not given, 0 for all.

    Raises:
        InputError: neither all, first nor a number above 0.
    """
    if configs is None:
        return None
    if configs in ("all", "first"):
        return int(configs == "first")
    if not configs.isdigit() or not int(configs):
        raise InputError(f"--configs {configs}: write all, first, or how many, e.g. 8")
    return int(configs)
