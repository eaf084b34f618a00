"""Putting a certificate in its place: never one that says less of the same text, unless named."""

from pathlib import Path

from certified_samples import TEXT, certificate, put, subject

from tilewright.certificates.files import read_certificate
from tilewright.cli.certificate_output import keep

WEAKER = {"level": "correct", "speed": (), "summary": "correct on a laptop"}


def test_one_that_says_less_does_not_replace_one_that_holds(tmp_path: Path) -> None:
    source = put(tmp_path)
    assert keep(certificate(), source, None) == (
        True,
        f"certificate: {tmp_path}/kernels.tilewright.json",
    )
    written, said = keep(certificate(**WEAKER), source, None)
    assert not written
    assert "has more evidence and was not replaced (faster: 1.94x" in said
    assert read_certificate(tmp_path / "kernels.tilewright.json").level == "faster"


def test_a_named_place_and_a_changed_text_are_written(tmp_path: Path) -> None:
    source = put(tmp_path)
    keep(certificate(), source, None)
    place = tmp_path / "kernels.laptop.tilewright.json"
    assert keep(certificate(**WEAKER), source, place)[0]
    assert read_certificate(place).level == "correct"
    changed = TEXT.replace("2.0)", "2.5)")
    put(tmp_path, changed)
    assert keep(certificate(**WEAKER, subject=subject(changed)), source, None)[0]


def test_what_is_no_certificate_is_replaced(tmp_path: Path) -> None:
    source = put(tmp_path)
    (tmp_path / "kernels.tilewright.json").write_text("{")
    assert keep(certificate(**WEAKER), source, None)[0]
