"""Neovim without a screen, with its own client: the file on disk after its edits."""

import shutil
from pathlib import Path

import pytest
from terminal_editors import check, play

SCRIPT = Path(__file__).with_name("neovim.lua")


@pytest.mark.editor
@pytest.mark.triton
@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim (nvim) is not installed")
def test_neovim_applies_a_fix_and_an_optimization(tmp_path: Path) -> None:
    session = play(tmp_path, ["nvim", "--headless", "--clean", "-c", f"luafile {SCRIPT}"])
    check(session, asked="compiled for cuda:90")
