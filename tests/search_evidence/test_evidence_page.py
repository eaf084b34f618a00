"""The page of evidence says what was reached and what was not, and draws what it is given."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import evidence_page
import pytest
from bootstrap import estimate, paired, ratio_of_medians, share_of_wins
from drawing import svg
from evidence_page import is_stored, names, page
from finding import Curve, Evidence, Figure, Finding, Panel, Table, quartiles

from tilewright.serialize import dump, load

REACHED = Finding(
    "A beam finds more", "L0 valley", "a gain of at least 0.25", "0.41", 0.33, 0.48,
    "a strict beam gains 0.02", True,
)  # fmt: skip
BAND = Curve("beam", (1, 2, 3), (0, 0.5, 1), (0, 0.4, 0.9), (0.1, 0.6, 1))
EVIDENCE = Evidence(
    "Beam",
    (REACHED, replace(REACHED, claim="A grid | finds more", reached=False)),
    (Table("Means", ("strategy", "valley"), (("beam", "0.62"),)),),
    (
        Figure(
            "beam", "Best so far", "evaluations", "share",
            (
                Panel("valley", (BAND,)),
                Panel("deceptive", (Curve("greedy & co", (1, 3), (0.0, 0.4)),), steps=True),
            ),
        ),
    ),
    ("A note.",),
)  # fmt: skip


def test_a_number_that_is_not_reached_is_printed_as_such() -> None:
    text = page({"beam": EVIDENCE})
    assert "2 claims: 1 reached, 1 not reached, 0 not measured." in text
    assert (
        "| A grid / finds more | L0 valley | a gain of at least 0.25 | 0.41 | **not reached** |"
        in text
    )
    assert "[0.33, 0.48]" in text
    assert "a strict beam gains 0.02" in text
    assert "pictures/search/beam.svg" in text


def test_stored_evidence_is_what_was_measured() -> None:
    assert load(Evidence, dump(EVIDENCE)) == EVIDENCE


def test_what_was_never_measured_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_page, "RESULTS", tmp_path)
    missing = evidence_page.stored("nothing")
    assert missing.findings[0].reached is None
    assert "--anew nothing" in page({"nothing": missing})
    evidence_page.keep("beam", EVIDENCE)
    again = evidence_page.stored("beam")
    assert replace(again, machine="") == EVIDENCE
    assert again.machine


def test_a_picture_is_svg_with_all_its_curves() -> None:
    (figure,) = EVIDENCE.figures
    root = ElementTree.fromstring(svg(figure))
    space = "{http://www.w3.org/2000/svg}"
    lines = root.findall(f".//{space}polyline")
    assert len(lines) == 2
    assert len(root.findall(f".//{space}polygon")) == 1
    assert len(lines[1].get("points", "").split()) == 3, "two points, and a corner between them"
    told = [one.text for one in root.findall(f".//{space}text")]
    assert "greedy & co" in told
    assert "deceptive" in told


def test_intervals_come_from_drawing_landscapes() -> None:
    same = {name: [1.0, 1.0] for name in range(30)}
    assert estimate(same) == estimate(same)
    assert estimate(same).low == estimate(same).high == 1.0
    mixed = {name: [float(name % 2)] * 9 for name in range(30)}
    wide = estimate(mixed)
    assert wide.value == 0.5
    assert wide.low < 0.40, "nine seeds of a landscape are no nine landscapes"
    gain = paired(same, {name: [1.5, 0.5] for name in range(30)})
    assert gain[0] == [0.5, -0.5]
    assert share_of_wins(gain) == 0.5
    assert ratio_of_medians({0: [30.0], 1: [30.0]}, {0: [60.0], 1: [60.0]}).high == 0.5


def test_quartiles_are_taken_at_each_place() -> None:
    low, middle, high = quartiles([[0, 10], [1, 20], [2, 30], [3, 40], [4, 50]])
    assert (low, middle, high) == ((1, 20), (2, 30), (3, 40))


def test_every_module_of_evidence_says_whether_it_is_stored() -> None:
    for name in names():
        assert isinstance(is_stored(name), bool)
