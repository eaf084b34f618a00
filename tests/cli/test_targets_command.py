"""``targets``: every figure of a chip with its source, parameters for a shape, wrong input."""

import json

import pytest
from typer.testing import CliRunner

from tilewright.cli.app import app
from tilewright.errors import InputError
from tilewright.hardware.chips import all_chips, chip
from tilewright.hardware.configs import dot_configs, row_configs


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["targets", *arguments], env={"COLUMNS": "80"})
    if done.exception is not None:
        raise done.exception
    return done.stdout


@pytest.mark.parametrize("name", [one.id for one in all_chips()])
def test_a_chip_is_told_in_80_columns(name: str) -> None:
    text = run(name)
    assert max(map(len, text.splitlines())) <= 80
    assert "NVIDIA" in text or "AMD" in text or "Intel" in text
    assert "parameters" not in text


def test_figures_stand_over_their_sources() -> None:
    lines = run("cuda:90").splitlines()
    place = next(i for i, line in enumerate(lines) if "memory bandwidth" in line)
    assert lines[place].split()[-1] == "4,800"
    assert lines[place + 1].strip() == "NVIDIA H200 data sheet; not confirmed"
    assert "not known" in next(line for line in lines if "launch" in line)


def test_parameters_of_a_product_and_of_a_row() -> None:
    found = json.loads(run("xpu:bmg-g31", "--shape", "512,1024,2048", "--format", "json"))
    expected = dot_configs(chip("xpu:bmg-g31"), 512, 1024, 2048, 2, limit=6)
    assert [c["block_m"] for c in found["dot_configs"]] == [c.block_m for c in expected]
    assert found["target"]["rates"]["clock_mhz"] == 2800
    row = json.loads(run("cuda:90", "--shape", "8192", "--dtype", "fp32", "--format", "json"))
    expected_warps = [c.num_warps for c in row_configs(chip("cuda:90"), 8192, 4)]
    assert [c["num_warps"] for c in row["row_configs"]] == expected_warps
    assert "only a measurement shows" in run("cuda:90", "--shape", "8192")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cuda:91",), "the nearest are cuda:90"),
        (("cuda:90", "--shape", "1,2"), "M,N,K"),
        (("cuda:90", "--shape", "0"), "at least 1"),
        (("cuda:90", "--shape", "a,b,c"), "three numbers"),
        (("--shape", "1,2,3"), "needs a target"),
    ],
)
def test_wrong_input_says_what_is_right(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(*arguments)
