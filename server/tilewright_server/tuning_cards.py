"""What ``triton.jit``, ``autotune``, its key and a ``Config`` mean for the kernel at a place."""

from collections.abc import Iterator, Mapping

from tilewright.figures import counted, time_text
from tilewright.hardware.model import Chip
from tilewright.source.model import Autotune, Kernel, Module
from tilewright_server.compiled_cards import report_figures
from tilewright_server.kernel_facts import CompiledFacts
from tilewright_server.language_places import AUTOTUNE, CONFIG, JIT

_WARM_UP_MS = 25
_TIMED_MS = 100
_OWN_CLOCK = frozenset(("warmup", "rep", "use_cuda_graph", "do_bench"))
"""Arguments of ``autotune`` after which its runs do not take the usual time."""


def here(
    dotted: str,
    module: Module,
    kernel: Kernel,
    line: int,
    compiled: CompiledFacts | None,
    chip: Chip | None,
) -> tuple[str, ...]:
    """Sentences on a decorator of a kernel; none where the text does not say enough."""
    if dotted == JIT:
        return tuple(_jit(module, kernel))
    if kernel.autotune is None:
        return ()
    if dotted == CONFIG:
        return tuple(_config(kernel.autotune, line, compiled, chip))
    return tuple(_tuning(kernel.autotune)) if dotted == AUTOTUNE else ()


def _jit(module: Module, kernel: Kernel) -> Iterator[str]:
    count = len(module.launches_of(kernel.name))
    launched = (
        f"launched at {counted(count, 'place')} of this file" if count else "not launched here"
    )
    constants = ", ".join(f"`{name}`" for name in kernel.constexprs)
    each = f"; compiled for each combination of {constants}" if constants else ""
    yield f"`{kernel.name}`: {launched}{each}."
    if kernel.do_not_specialize:
        named = ", ".join(f"`{name}`" for name in kernel.do_not_specialize)
        yield f"Values of {named} lead to no other compilation."


def _tuning(tuned: Autotune) -> Iterator[str]:
    """How often this kernel is tuned, and what that takes."""
    count = len(tuned.configs) if tuned.configs is not None else None
    key = ", ".join(f"`{name}`" for name in tuned.key or ())
    if count == 1:
        yield "Here: one configuration, so nothing is timed and the key has no effect."
        return
    if tuned.key is not None:
        of = f"each new combination of {key} and" if key else "sizes have no effect;"
        tunes = "tunes again" if key else "tunes once"
        yield f"Here: {of} each new set of element types {tunes}."
    if count is None:
        return
    most = "up to " if "prune_configs_by" in tuned.others else ""
    runs = _runs(tuned, count)
    yield f"Once is {most}{count} compilations, and runs with each configuration{runs}."


def _runs(tuned: Autotune, count: int) -> str:
    if _OWN_CLOCK & tuned.others.keys():
        return ""
    whole = time_text(1000.0 * count * (_WARM_UP_MS + _TIMED_MS))
    return (
        f" for {_WARM_UP_MS} ms and {_TIMED_MS} ms more by Triton's defaults: about {whole} of the "
        "device, more if one run takes longer; compilation is not measured"
    )


def _config(
    tuned: Autotune, line: int, compiled: CompiledFacts | None, chip: Chip | None
) -> Iterator[str]:
    """Which configuration this is, and what the compiler made of it."""
    configs = tuned.configs or ()
    for number, config in enumerate(configs, 1):
        if not config.range.line <= line <= config.range.end_line:
            continue
        yield f"Here: configuration {number} of {len(configs)}."
        if chip is not None:
            wanted = {**config.values, **config.options}
            found = _compiled_with(wanted, compiled, chip)
            yield f"Compiled for {chip.id}: {found}." if found else f"Not compiled for {chip.id}."
        return


def _compiled_with(
    wanted: Mapping[str, object], compiled: CompiledFacts | None, chip: Chip
) -> str | None:
    if compiled is None:
        return None
    for report in compiled.of_target(chip.id):
        known = report.launch.settings
        if all(known.get(name, value) == value for name, value in wanted.items()):
            return report_figures(compiled, report)
    return None
