"""Too few warps at a time to cover the latency of memory."""

import math
from collections.abc import Iterator

from tilewright.compiled.model import Seen, Subject
from tilewright.compiled.places import name_of
from tilewright.targets.model import CompileReport
from tilewright.targets.occupancy import occupancy_of

_LOW = 0.25
_LIMITS = ("registers", "shared memory")
_WAVES = 2


def low_occupancy(subject: Subject) -> Iterator[Seen]:
    """Registers or shared memory leave few warps, and nothing else hides what loads wait for.

    Silent for kernels with tensor instructions, which fill a unit with few warps by design; with
    asynchronous copies, which wait for no warp; and where the grid has too few programs to fill
    the chip anyway.
    """
    report = subject.report
    found = occupancy_of(report)
    if found is None or found.share > _LOW or _works_with_few(report):
        return
    limits = [name for name in found.limited_by if name in _LIMITS]
    units = subject.chip.compute_units if subject.chip else None
    if not limits or units is None:
        return
    programs = math.prod(subject.launch.grid) if subject.launch.grid else None
    if programs is None or programs < _WAVES * units * max(1, found.programs):
        return
    limit = limits[0]
    taken = f"{report.registers} registers a thread"
    if limit == "shared memory":
        taken = f"{report.shared_bytes} bytes of shared memory a program"
    yield Seen(
        name_of(subject.kernel),
        f"{taken} leave{'' if limit == 'registers' else 's'} a {found.unit} {found.warps} of "
        f"{found.max_warps} warps at a time ({found.programs} programs of "
        f"{report.details.get('warps')} warps), which may be too few to wait for memory with",
        _advice(limit),
        amount=1 - found.share,
    )


def _works_with_few(report: CompileReport) -> bool:
    copies = ("async_copy", "tma", "block2d_load")
    return not report.lines or any(
        line.tensor or line.dots or any(a.kind in copies for a in line.accesses)
        for line in report.lines
    )


def _advice(limit: str) -> str:
    if limit == "registers":
        return "smaller tiles, or more warps on the same tile, take fewer registers a thread"
    return "smaller tiles or fewer num_stages take less"
