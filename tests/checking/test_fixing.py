"""``check --fix`` and ``--diff``: exact rewrites only, and nothing half done."""

from pathlib import Path

import command_line
from command_line import Ended

from tilewright.analysis import AnalysisContext
from tilewright.checking.configuration import default_configuration
from tilewright.checking.fixes import fix_text, is_exact
from tilewright.source import parse_module

ROOT = Path(__file__).parents[2]


def run(*arguments: str, cwd: Path) -> Ended:
    return command_line.run("check", *arguments, cwd=cwd)


def test_only_exact_rewrites_are_applied_and_none_is_left() -> None:
    rules = default_configuration().rules
    for path in sorted((ROOT / "examples").glob("*.py")):
        result = fix_text(path.read_text(), str(path), rules, AnalysisContext())
        assert all(is_exact(fix.rewrite) for fix in result.fixes)
        assert parse_module(result.text).problems == ()
        again = fix_text(result.text, str(path), rules, AnalysisContext())
        assert (again.fixes, again.text) == ((), result.text)


def test_what_is_not_selected_is_not_touched(tmp_path: Path) -> None:
    source = (ROOT / "examples" / "matmul.py").read_text()
    waits = source.replace("    return c\n", "    torch.cuda.synchronize()\n    return c\n")
    assert waits != source
    file = tmp_path / "matmul.py"
    file.write_text(waits)
    (tmp_path / "pyproject.toml").write_text('[tool.tilewright]\nignore = ["no_swizzling"]\n')
    ended = run("matmul.py", "--fix", cwd=tmp_path)
    assert ended.returncode == 1
    assert "device_host_sync: Remove the synchronization (exact by its rule" in ended.stderr
    assert "no_swizzling" not in ended.stderr + ended.stdout
    assert file.read_text() == source


def test_diff_writes_nothing_and_applies_with_patch(tmp_path: Path) -> None:
    file = tmp_path / "matmul.py"
    file.write_bytes(b"\xef\xbb\xbf" + (ROOT / "examples" / "matmul.py").read_bytes())
    before = file.read_bytes()
    ended = run("matmul.py", "--diff", cwd=tmp_path)
    assert (ended.returncode, file.read_bytes()) == (1, before)
    assert ended.stdout.startswith("--- a/matmul.py\n+++ b/matmul.py\n@@")
    fixed = run("matmul.py", "--fix", cwd=tmp_path)
    assert fixed.returncode == 1
    assert file.read_bytes().startswith(b"\xef\xbb\xbf")
    assert run("matmul.py", "--diff", cwd=tmp_path).returncode == 0
