"""Which files go along to another host, how they lie there, and how their names come back."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tilewright.devices.remote import uploads
from tilewright.devices.remote.path_mapping import Edge, GoneError
from tilewright.devices.remote.uplink import Link
from tilewright.devices.remote.uploads import parcel_of
from tilewright.evaluation.workbench import place_source
from tilewright.worker.remote.agent import FILES, LINK, REQUEST
from tilewright.worker.remote.file_sync import Mirror


def tree(folder: Path, **files: str) -> Path:
    """Modules by name; ``pack_init`` is ``pack/__init__.py``."""
    for name, text in files.items():
        path = folder / f"{name.replace('_init', '/__init__')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def names(found: Any, root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in found}


def test_modules_and_packages_beside_a_file_go_along(tmp_path: Path) -> None:
    tree(tmp_path, kernel="", helper="", pack_init="")
    tree(tmp_path / "no_package", module="")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".hidden.py").write_text("")
    found = parcel_of(tmp_path / "kernel.py")
    assert names(found.files, tmp_path) == {
        "kernel.py", "helper.py", "pack/__init__.py",
    }  # fmt: skip
    assert not found.left_out


def test_a_members_whole_package_goes_along_with_its_data(tmp_path: Path) -> None:
    tree(tmp_path, top_init="", beside="")
    tree(tmp_path / "top", sub_init="", other="")
    (tmp_path / "top/sub/table.json").write_text("[]")
    kernel = tree(tmp_path / "top/sub", kernel="") / "kernel.py"
    found = names(parcel_of(kernel).files, tmp_path)
    assert {"top/__init__.py", "top/sub/kernel.py", "top/sub/table.json", "top/other.py"} <= found
    assert "beside.py" not in found


def test_links_are_followed_once_and_in_circles_too(tmp_path: Path) -> None:
    user = tree(tmp_path / "user", kernel="", helper="X = 1\n")
    (user / "again.py").symlink_to(user / "helper.py")
    (user / "dangling.py").symlink_to(user / "nowhere.py")
    placed = place_source(user / "kernel.py", "Y = 2\n", tmp_path / "scratch")
    found = parcel_of(placed)
    assert names(found.files, tmp_path) == {"scratch/kernel.py", "user/helper.py"}
    assert names(found.links, tmp_path) == {"scratch/again.py", "scratch/helper.py"}


def test_what_is_too_large_or_too_many_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path, kernel="", a="1", b="1", c="1")
    (tmp_path / "big.py").write_bytes(b"#" * (uploads.FILE_BYTES + 1))
    monkeypatch.setattr(uploads, "MOST_FILES", 3)
    found = parcel_of(tmp_path / "kernel.py")
    assert names(found.files, tmp_path) == {"kernel.py", "a.py", "b.py"}
    left = {path.name: why for path, why in found.left_out.items()}
    assert left.keys() == {"big.py", "c.py"}
    assert "over 4 MiB" in left["big.py"]
    assert "beyond the first 3 files" in left["c.py"]


class There:
    """The other end of a link: a mirror in a folder, and the requests as they arrive."""

    def __init__(self, place: Path) -> None:
        place.mkdir()
        self.place = place
        self._mirror = Mirror(str(place))
        self._stream = io.BytesIO()
        self.edge = Edge(Link(self._stream), str(place))
        self.bytes_sent = 0

    def arrived(self) -> None:
        data = self._stream.getvalue()
        self.bytes_sent = len(data)
        while data:
            kind, length = LINK.unpack_from(data)
            body, data = data[LINK.size :][:length], data[LINK.size + length :]
            assert kind in (FILES, REQUEST)
            if kind == FILES:
                self._mirror.put(body)
        self._stream.seek(0)
        self._stream.truncate()


def test_a_job_is_rewritten_and_its_files_are_there(tmp_path: Path) -> None:
    user = tree(tmp_path / "user", kernel="", helper="X = 1\n")
    placed = place_source(user / "kernel.py", "Y = 2\n", tmp_path / "scratch")
    there = There(tmp_path / "place")
    out = str(tmp_path / "scratch" / "out")
    job = {
        "kind": "trial", "candidate": str(placed), "inputs_from": str(user / "kernel.py"),
        "entry": {"name": "/not/a/path", "path": None}, "out": out, "launching": {str(placed): 1},
        "inputs": [{"name": "x", "file": f"{out}/x.bin"}],
    }  # fmt: skip
    sent = there.edge.sent(job)
    there.arrived()
    at = f"{there.place}/at"
    assert sent["candidate"] == f"{at}{placed}"
    assert sent["launching"] == {f"{at}{placed}": 1}
    assert sent["inputs"][0]["file"] == f"{at}{out}/x.bin"
    assert sent["entry"] == job["entry"]
    assert Path(sent["candidate"]).read_text() == "Y = 2\n"
    assert Path(sent["candidate"]).with_name("helper.py").read_text() == "X = 1\n"
    assert Path(sent["candidate"]).stat().st_mtime_ns == placed.stat().st_mtime_ns
    answer = {"message": f"{sent['candidate']}:3 fails", "value": {"file": f"{at}{out}/y.bin"}}
    assert there.edge.incoming(answer) == {
        "message": f"{placed}:3 fails", "value": {"file": f"{out}/y.bin"},
    }  # fmt: skip


def test_what_is_there_is_not_sent_again_unless_it_changed(tmp_path: Path) -> None:
    user = tree(tmp_path / "user", kernel="", helper="X = 1\n" * 1000)
    there = There(tmp_path / "place")
    job = {"module": str(user / "kernel.py")}
    there.edge.sent(job)
    there.arrived()
    assert there.bytes_sent > 6000
    there.edge.sent(job)
    there.arrived()
    assert there.bytes_sent == 0
    (user / "helper.py").write_text("X = 2\n")
    sent = there.edge.sent(job)
    there.arrived()
    assert Path(sent["module"]).with_name("helper.py").read_text() == "X = 2\n"


def test_files_that_another_connection_made_are_gone(tmp_path: Path) -> None:
    there = There(tmp_path / "place")
    with pytest.raises(GoneError, match=r"x\.bin"):
        there.edge.sent({"expected": [{"name": "x", "file": f"{tmp_path}/x.bin"}]})


@pytest.mark.parametrize("path", ["/../../escaped", "/a/../../../escaped", "/"])
def test_nothing_is_written_outside_of_the_mirror(tmp_path: Path, path: str) -> None:
    mirror = Mirror(str(tmp_path))
    entry = {"path": path, "size": 1, "mtime_ns": 0}
    with pytest.raises(PermissionError):
        mirror.put(json.dumps([entry]).encode() + b"\nx")
    with pytest.raises(PermissionError):
        mirror.put(json.dumps([{"path": "/a", "link": path}]).encode() + b"\n")
