"""What the tests of language models share."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from scripted_client import KEY, Setup


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Setup]:
    pytest.importorskip("openai", reason="needs openai: pip install 'tilewright[models]'")
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ExitStack() as stack:
        yield Setup(stack, monkeypatch)
