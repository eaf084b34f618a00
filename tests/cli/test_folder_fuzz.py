"""Folders made from a seed: specs, notebooks, encodings, links, pipes, names, half files."""

import folder_fuzz
import pytest

OWN = folder_fuzz.Corpus.of(folder_fuzz.OWN)


def wrong(seeds: range, command_every: int) -> list[str]:
    found = folder_fuzz.outcomes(seeds, OWN, command_every)
    return [f"{outcome.seed}: {what}" for outcome in found for what in outcome.wrong]


def test_every_readable_file_is_reported_and_nothing_ends_or_blocks_a_check() -> None:
    assert not wrong(range(16), 0)


@pytest.mark.slow
def test_so_does_the_command_in_every_format() -> None:
    assert not wrong(range(80, 134), 27)
