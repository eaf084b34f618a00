"""What is to be judged for landscape L1: units of texts, and the file that holds plan and results.

A unit is a kernel on one problem. Its points are (set of changed sites, launch setting); each has a
text, and several may have the same.
"""

import json
import lzma
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from real_kernels import KERNELS, ROOT, RealKernel, Setting

from tilewright.devices.opening import open_device
from tilewright.evaluation.model import text_hash
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import load_problem
from tilewright.targets.model import LaunchFacts

BLOCK = 96
"""So many texts are handed to a GPU at a time."""
_SHAPE_TILES = tuple(
    Setting(
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, {"num_warps": warps, "num_stages": stages}
    )
    for m, n, k, warps, stages in (
        (32, 32, 64, 4, 4), (64, 32, 64, 4, 4), (32, 64, 64, 4, 4), (64, 64, 64, 4, 4),
        (64, 64, 128, 4, 3), (128, 64, 64, 4, 4), (64, 128, 64, 4, 4), (128, 128, 64, 8, 3),
        (128, 128, 64, 4, 3), (128, 128, 32, 4, 4), (128, 256, 64, 8, 3), (256, 128, 64, 8, 3),
        (64, 256, 64, 8, 3), (16, 128, 128, 4, 4),
    )
)  # fmt: skip
_SHAPE_ROWS = tuple(
    Setting({"BLOCK": block}, {"num_warps": warps})
    for block in (512, 1024, 4096, 8192)
    for warps in (2, 4, 8, 16)
)


@dataclass(frozen=True)
class Unit:
    """A kernel on one problem, as JSON can hold it.

    Attributes:
        source: the file that the texts stand in for; its folder has what they need beside them.
        spec: the text of the problem's YAML.
        base: hash of the text that results are compared with.
        points: "sites:setting" to the hash of its text.
        anchors: points one of which is the fastest, as far as one can guess.
    """

    name: str
    kernel: str
    source: str
    spec: str
    base: str
    sites: tuple[Mapping[str, str], ...]
    settings: tuple[str, ...]
    start: str
    blind: bool
    points: Mapping[str, str]
    anchors: tuple[str, ...]
    shape: Mapping[str, int] | None = None

    def blocks(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """(number of sites in play, texts), so that a part is a landscape of fewer sites."""
        done: set[str] = set()
        for count in range(3, max(3, len(self.sites)) + 1):
            level = [
                text
                for point, text in self.points.items()
                if int(point.split(":")[0]) < 1 << count and text not in done
            ]
            level = list(dict.fromkeys(level))
            done.update(level)
            for first in range(0, len(level), BLOCK):
                yield count, tuple(level[first : first + BLOCK])


def plan(names: Sequence[str] = ()) -> tuple[list[Unit], dict[str, str]]:
    """Units and texts by hash, of all kernels or some; captures launches in the interpreter."""
    units: list[Unit] = []
    texts: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, closing(open_device("interpreter")) as device:
        for kernel in KERNELS:
            if names and kernel.name not in names:
                continue
            source = kernel.problem.with_suffix(".py")
            problem = load_problem(kernel.problem, source)
            bench = Workbench(device, problem, source, Path(folder, kernel.name), 1)

            def launches(text: str, bench: Workbench = bench) -> Sequence[LaunchFacts]:
                found = bench.capture(text, bench.problem.measured_cases()[0])
                assert found.failure is None, found.failure
                return found.launches

            units.append(_whole(kernel, launches, texts))
            units += _shapes(kernel, launches, texts)
    return units, texts


def _whole(
    kernel: RealKernel,
    launches: Callable[[str], Sequence[LaunchFacts]],
    texts: dict[str, str],
) -> Unit:
    points: dict[str, str] = {}
    for sites in range(1 << len(kernel.sites)):
        for setting in range(len(kernel.settings)):
            text = kernel.text(sites, setting, launches)
            if text is not None:
                points[f"{sites}:{setting}"] = _kept(text, texts)
    guesses = [f"{sites}:{s}" for sites in kernel.fast for s in range(len(kernel.settings))]
    return _unit(kernel, kernel.name, kernel.problem.read_text("utf-8"), points, guesses, texts)


def _shapes(
    kernel: RealKernel,
    launches: Callable[[str], Sequence[LaunchFacts]],
    texts: dict[str, str],
) -> Iterator[Unit]:
    """One unit for each shape: one set of sites, many settings."""
    settings = _SHAPE_TILES if "BLOCK_M" in kernel.settings[1].values else _SHAPE_ROWS
    tiled = kernel.changed(kernel.tiled, launches) if kernel.shapes else None
    for shape in kernel.shapes:
        assert tiled is not None, kernel.name
        points = {}
        for number, setting in enumerate(settings):
            text = kernel.pinned(tiled, setting)
            assert text is not None, (kernel.name, str(setting))
            points[f"0:{number}"] = _kept(text, texts)
        dims = ", ".join(f"{name}: {value}" for name, value in shape.items())
        head, mark, rest = kernel.problem.read_text("utf-8").partition("bench-gpu:\n")
        spec = head + mark + re.sub(r"dims: \{.*?\}", f"dims: {{{dims}}}", rest, count=1)
        name = f"{kernel.name}@{'x'.join(map(str, shape.values()))}"
        told = tuple(str(setting) for setting in settings)
        yield _unit(kernel, name, spec, points, list(points), texts, told, shape)


def _unit(
    kernel: RealKernel,
    name: str,
    spec: str,
    points: Mapping[str, str],
    guesses: Sequence[str],
    texts: dict[str, str],
    settings: tuple[str, ...] | None = None,
    shape: Mapping[str, int] | None = None,
) -> Unit:
    source = str(kernel.problem.with_suffix(".py").relative_to(ROOT))
    start = "0:0" if shape else f"{kernel.start[0]}:{kernel.start[1]}"
    return Unit(
        name=name,
        kernel=kernel.tuned,
        source=source,
        spec=spec,
        base=_kept(kernel.base, texts),
        sites=() if shape else tuple({"name": s.name, "stage": s.stage} for s in kernel.sites),
        settings=settings or tuple(map(str, kernel.settings)),
        start=start,
        blind=kernel.blind,
        points=points,
        anchors=tuple(dict.fromkeys(points[one] for one in guesses if one in points)),
        shape=shape,
    )


def _kept(text: str, texts: dict[str, str]) -> str:
    texts[text_hash(text)] = text
    return text_hash(text)


def write(file: Path, value: Mapping[str, Any]) -> None:
    """A value as compressed JSON; the same value gives the same bytes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(lzma.compress(json.dumps(value, sort_keys=True).encode(), preset=6))


def read(file: Path) -> dict[str, Any]:
    """What ``write`` wrote."""
    value: dict[str, Any] = json.loads(lzma.decompress(file.read_bytes()))
    return value


def units_of(value: Mapping[str, Any]) -> list[Unit]:
    """The units of a file."""
    return [
        Unit(**{**one, **{name: tuple(one[name]) for name in ("sites", "settings", "anchors")}})
        for one in value["units"]
    ]
