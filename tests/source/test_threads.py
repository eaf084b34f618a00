"""Texts are parsed from several threads: the tuner's, the server's."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tilewright.source import parse_module

EXAMPLE = (Path(__file__).parents[2] / "examples" / "matmul.py").read_text()


def kernels_of(number: int) -> int:
    return len(parse_module(f"{EXAMPLE}\n# text number {number}\n").kernels)


def test_parsing_in_many_threads_at_once_gives_what_one_thread_gives() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(kernels_of, range(400))) == {1}
