"""Certificate files: read back as written, refused when altered, readable by older and newer."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from certified_samples import FILE, ORIGINAL, TEXT, certificate, put

from tilewright.certificates.files import (
    AlteredError,
    CertificateError,
    NoOriginalError,
    as_json,
    as_text,
    certificates_of,
    content_hash,
    default_place,
    original_text,
    packed,
    read_certificate,
    unpacked,
    write_certificate,
)
from tilewright.certificates.model import Original


def write(path: Path, **changes: Any) -> Path:
    """A certificate with some of its JSON changed, and its hash made to fit."""
    data = as_json(certificate()) | changes
    data = {key: value for key, value in data.items() if value is not ...}
    path.write_text(json.dumps({**data, "hash": content_hash(data)}))
    return path


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "k.tilewright.json"
    write_certificate(path, certificate())
    found = read_certificate(path)
    assert as_json(found) == as_json(certificate())
    assert found.subject == certificate().subject
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_it_is_small_and_a_line_holds_one_thing() -> None:
    text = as_text(certificate())
    assert len(text) < 4 * 1024
    assert json.loads(text) == as_json(certificate())
    assert text.splitlines()[1:4] == [
        ' "version": 1,',
        f' "hash": "{content_hash(as_json(certificate()))}",',
        ' "level": "faster",',
    ]


@pytest.mark.parametrize("old", ["faster", "1.94", "NVIDIA H200", "strong", "double_kernel"])
def test_a_changed_word_is_noticed(tmp_path: Path, old: str) -> None:
    path = tmp_path / "k.tilewright.json"
    path.write_text(as_text(certificate()).replace(old, old[:-1] + "9"))
    with pytest.raises(AlteredError, match="changed after it was made"):
        read_certificate(path)


def test_how_it_is_laid_out_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "k.tilewright.json"
    path.write_text(json.dumps(as_json(certificate()), sort_keys=True, indent=7))
    assert read_certificate(path).level == "faster"


def test_fields_may_lack_and_others_may_be_there(tmp_path: Path) -> None:
    lacking = ("speed", "checks", "compiled", "isolation", "honesty", "unverified", "steps")
    path = write(tmp_path / "k.json", news=1, **dict.fromkeys((*lacking, "seeds"), ...))
    found = read_certificate(path)
    assert (found.speed, found.isolation, found.slowest) == ((), None, None)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": 2}, "of version 2, this Tilewright reads version 1"),
        ({"version": ...}, "has no version"),
        ({"level": "perfect"}, "level"),
        ({"subject": {"file": 3}}, "subject"),
        ({"device": ...}, "device"),
    ],
)
def test_what_is_no_certificate_is_refused(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(CertificateError, match=said):
        read_certificate(write(tmp_path / "k.json", **changes))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe", b"3", b"[" * 100_000])
def test_what_is_no_json_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "k.json"
    path.write_bytes(data)
    with pytest.raises(CertificateError):
        read_certificate(path)


def test_a_file_has_its_own_certificates_alone(tmp_path: Path) -> None:
    source = put(tmp_path)
    assert default_place(source).name == "kernels.tilewright.json"
    names = ["kernels.mi300.tilewright.json", "kernels.tilewright.json"]
    for name in [*names, "kernels2.tilewright.json", "kernels.json"]:
        (tmp_path / name).write_text("{}")
    assert [p.name for p in certificates_of(source)] == sorted(names, key=len)


def test_a_text_packs_and_one_that_is_too_long_does_not() -> None:
    assert unpacked(str(packed(TEXT))) == TEXT
    assert packed(os.urandom(9000).hex()) is None
    with pytest.raises(ValueError, match=r"."):
        unpacked("not packed")


def test_the_original_comes_from_the_certificate(tmp_path: Path) -> None:
    assert original_text(certificate(), TEXT, tmp_path) == ORIGINAL
    own = certificate().original
    assert original_text(certificate(original=Original(own.hash)), ORIGINAL, tmp_path) == ORIGINAL
    lost = certificate(original=Original(own.hash, packed(TEXT)))
    with pytest.raises(NoOriginalError, match="not the one it names"):
        original_text(lost, TEXT, tmp_path)


def test_a_long_original_comes_from_git(tmp_path: Path) -> None:
    own = certificate().original
    lean = certificate(original=Original(own.hash, None, own.git_blob))
    with pytest.raises(NoOriginalError, match="--original"):
        original_text(lean, TEXT, tmp_path)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    put(tmp_path, ORIGINAL)
    subprocess.run(["git", "-C", str(tmp_path), "add", FILE], check=True)
    put(tmp_path)
    assert original_text(lean, TEXT, tmp_path) == ORIGINAL
