"""Launch configurations in the order of estimated times; the compiler is played by a guess."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.costs.grids import grid_with
from tilewright.costs.rough_estimate import guessed_report
from tilewright.costs.workload import workload
from tilewright.hardware.chips import chip
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module
from tilewright.strategies import ranking
from tilewright.strategies.menus import Setting
from tilewright.strategies.ranking import launch_with, presorted, ranked
from tilewright.targets.model import ArgumentFacts, CompileMessage, CompileReport, LaunchFacts
from tilewright.targets.toolchains import NoToolchainError

MATMUL = Path(__file__).parents[2] / "examples" / "matmul.py"
ON = chip("cuda:90")
SIZE = 4096


def _module() -> tuple[Module, Kernel]:
    module = parse_module(MATMUL.read_text("utf-8"), str(MATMUL))
    kernel = module.kernel("matmul_kernel")
    assert kernel is not None
    return module, kernel


def _launch() -> LaunchFacts:
    tensors = tuple(
        ArgumentFacts(name, "tensor", "*fp16", None, (SIZE, SIZE), (SIZE, 1), True)
        for name in ("a_ptr", "b_ptr", "c_ptr")
    )
    strides = {"am": SIZE, "ak": 1, "bk": SIZE, "bn": 1, "cm": SIZE, "cn": 1}
    numbers = {"M": SIZE, "N": SIZE, "K": SIZE, **{f"stride_{n}": v for n, v in strides.items()}}
    scalars = tuple(ArgumentFacts(name, "int", "i32", value) for name, value in numbers.items())
    blocks = tuple(
        ArgumentFacts(name, "constexpr", "constexpr", 32)
        for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K")
    )
    options = {"num_warps": 4, "num_stages": 3}
    return LaunchFacts("matmul_kernel", (128, 128), (*tensors, *scalars, *blocks), options)


def _setting(m: int, n: int, k: int, warps: int = 4, stages: int = 3) -> Setting:
    values = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}
    return Setting(values, {"num_warps": warps, "num_stages": stages})


def _compile(launches: Sequence[LaunchFacts]) -> list[CompileReport | NoToolchainError]:
    module, kernel = _module()
    return [guessed_report(workload(module, kernel, x), x, ON) for x in launches]


def test_a_grid_written_with_numbers_follows_the_tiles() -> None:
    found = ranked(*_module(), _launch(), [_setting(128, 64, 32)], ON, _compile)
    assert found[0].launch.grid == (SIZE // 128, SIZE // 64, 1)
    assert found[0].estimate is not None


def test_a_grid_that_is_called_is_evaluated() -> None:
    text = MATMUL.read_text("utf-8").replace(
        "(triton.cdiv(M, 32), triton.cdiv(N, 32))",
        'lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)',
    )
    text = text.replace("BLOCK_M=32", "BLOCK_M=BM").replace("BLOCK_N=32", "BLOCK_N=BN")
    module = parse_module(text)
    kernel = module.kernel("matmul_kernel")
    assert kernel is not None
    launch = replace(_launch(), grid=(128 * 128,))
    changed = launch_with(launch, _setting(128, 256, 32))
    assert grid_with(module, kernel, launch, changed) == (32 * 16, 1, 1)


def test_a_grid_that_is_not_the_launchs_own_is_not_believed() -> None:
    module, kernel = _module()
    other = replace(_launch(), grid=(7, 7))
    assert grid_with(module, kernel, other, other) is None


def test_large_tiles_come_before_small_ones_and_what_cannot_fit_last() -> None:
    settings = [_setting(32, 32, 32), _setting(128, 256, 32, 4), _setting(128, 128, 32, 8)]
    found = ranked(*_module(), _launch(), settings, ON, _compile)
    assert [one.setting for one in found] == [settings[2], settings[0], settings[1]]
    assert "registers" in found[2].why
    assert found[2].report is None


def test_what_the_compiler_refuses_is_left_out_with_its_words() -> None:
    def refuse(launches: Sequence[LaunchFacts]) -> list[CompileReport | NoToolchainError]:
        message = CompileMessage("needs too much of something")
        made = _compile(launches)
        return [
            replace(r, ok=False, messages=(message,)) for r in made if isinstance(r, CompileReport)
        ]

    found = ranked(*_module(), _launch(), [_setting(64, 64, 32)], ON, refuse)
    assert (found[0].why, found[0].estimate) == ("needs too much of something", None)


def test_without_a_compiler_there_is_no_order() -> None:
    def nothing(launches: Sequence[LaunchFacts]) -> list[CompileReport | NoToolchainError]:
        return [NoToolchainError("no toolchain for it") for _ in launches]

    with pytest.raises(NoToolchainError):
        ranked(*_module(), _launch(), [_setting(64, 64, 32)], ON, nothing)


def test_only_the_promising_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "LEAST_COMPILED", 2)
    asked: list[LaunchFacts] = []

    def compile_all(launches: Sequence[LaunchFacts]) -> list[CompileReport | NoToolchainError]:
        asked.extend(launches)
        return _compile(launches)

    sizes = (16, 32, 64, 128)
    settings = [_setting(m, n, 32) for m in sizes for n in sizes]
    found = ranked(*_module(), _launch(), settings, ON, compile_all)
    assert len(asked) == 5  # a third of them
    assert [one.report is not None for one in found] == [True] * 5 + [False] * 11
    assert all(one.rough_us for one in found)


def test_a_search_looks_at_the_promising_first() -> None:
    settings = [_setting(16, 16, 32), _setting(256, 256, 64, 4), _setting(128, 128, 32, 8)]
    first, *_, last = presorted(*_module(), _launch(), settings, ON)
    assert first == settings[2]
    assert last == settings[1]
