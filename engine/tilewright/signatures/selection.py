"""Which of a kernel's inferred launches to compile: the first that the compiler's front end takes.

The interpreter that kernels run in imports the file and tries them; no code is generated, and
nothing is launched.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.devices.model import Device, JobStatus
from tilewright.errors import InputError
from tilewright.serialize import dump, load
from tilewright.signatures.candidates import guesses
from tilewright.signatures.model import Assumption, Guess, Origin, Signature, in_words
from tilewright.source.model import Kernel, Module
from tilewright.targets.compilation import without_folder
from tilewright.targets.model import LaunchFacts
from tilewright.worker.messages import jobs as messages
from tilewright.worker.messages.jobs import Specialized, SpecializeJob

SECONDS = 120.0


@dataclass(frozen=True)
class Inferred:
    """What was inferred of a file's kernels, and what was left out to import it."""

    signatures: tuple[Signature, ...]
    notes: tuple[str, ...] = ()


def inferred(
    device: Device, module: Module, placed: str, kernels: Iterable[Kernel], configs: int | None = 1
) -> Inferred:
    """A signature for each kernel, or for each of its first ``configs`` configurations.

    Args:
        placed: the file to import, which holds the module's text.
        configs: how many of an autotuned kernel's configurations; None for all.

    Raises:
        InputError: the file cannot be imported at all.
    """
    tried = {kernel.name: list(guesses(module, kernel)) for kernel in kernels}
    job: SpecializeJob = {
        "kind": "specialize",
        "module": placed,
        "kernels": {name: [_sent(guess) for guess in each] for name, each in tried.items()},
    }
    outcome = device.run(job, SECONDS)
    if outcome.status is not JobStatus.OK:
        raise InputError(f"its kernels cannot be imported: {outcome.message}", module.path)
    found = outcome.value["kernels"]
    made = (_signatures(tried[name], found[name], configs, placed) for name in tried)
    return Inferred(tuple(s for each in made for s in each), tuple(outcome.value["notes"]))


def _sent(guess: Guess) -> messages.Guess:
    return {
        "launch": dump(guess.launch),
        "config": guess.config,
        "defaulted": sorted(guess.defaulted),
    }


def _signatures(
    tried: Sequence[Guess], found: Specialized, configs: int | None, placed: str
) -> list[Signature]:
    chosen = found["chosen"]
    guess = tried[chosen or 0]
    filled: Mapping[str, str] = found.get("filled") or {}
    said = "" if chosen is not None else (found["refused"] or ["the worker gave no reason"])[0]
    said = without_folder(said, placed)
    launches = [load(LaunchFacts, launch) for launch in found["launches"]] or [guess.launch]
    words = (*_words(guess, filled), *_about_configs(found, configs))
    return [
        Signature(launch, Origin.INFERRED, words, said) for launch in launches[: configs or None]
    ]


def _words(guess: Guess, filled: Mapping[str, str]) -> tuple[str, ...]:
    """What was assumed, less what the import of the file told after all."""
    told = [a for a in guess.assumptions if a.name not in filled]
    heuristic = sorted(name for name, source in filled.items() if source == "heuristic")
    if heuristic:
        why = "as the kernel's heuristics compute it from the arguments assumed here"
        told += [Assumption(name, "computed", why) for name in heuristic]
    return in_words(told)


def _about_configs(found: Specialized, configs: int | None) -> tuple[str, ...]:
    count = found.get("configs") or 0
    told = []
    if count > 1 and configs is not None and configs < count:
        which = "the first" if configs == 1 else f"the first {configs}"
        told.append(
            f"{which} of its {count} autotune configurations; compile --configs all takes each"
        )
    if count and found.get("pruned"):
        told.append("its autotuner prunes configurations by the arguments; that was not asked")
    return tuple(told)
