"""The catalogue of triton.language: what it says of versions, and of the installed one."""

import pytest

from tilewright.knowledge.api import language_api


def test_names_come_and_go() -> None:
    blocks, squeeze = language_api().name("make_block_ptr"), language_api().name("squeeze")
    assert blocks is not None
    assert squeeze is not None
    assert [blocks.is_in((3, v)) for v in (0, 8, 9)] == [True, True, False]
    assert [squeeze.is_in((3, v)) for v in (0, 6, 7)] == [False, False, True]


@pytest.mark.parametrize("name", ["bf16", "cidv", "math.tanh", "prefetch"])
def test_what_no_version_has(name: str) -> None:
    found = language_api().name(name)
    assert found is not None
    assert not found.is_known


@pytest.mark.parametrize("name", ["_wrapper", "extra.cuda.libdevice", "core.builtin", "builtin"])
def test_what_is_not_judged(name: str) -> None:
    assert language_api().name(name) is None


def test_keywords_come_and_go() -> None:
    check = language_api().keyword("load", "boundary_check")
    dtype = language_api().keyword("sum", "dtype")
    assert check is not None
    assert dtype is not None
    assert [check.is_in((3, v)) for v in (8, 9)] == [True, False]
    assert [dtype.is_in((3, v)) for v in (2, 3)] == [False, True]
    assert language_api().keyword("load_of_ours", "mask") is None


@pytest.mark.triton
def test_the_installed_language_has_what_the_catalogue_says() -> None:
    import triton
    import triton.language as tl

    api = language_api()
    version = tuple(int(part) for part in triton.__version__.split(".")[:2])
    assert version == api.last
    for name in dir(tl):
        found = None if name.startswith("_") else api.name(name)
        if found is not None and name not in ("make_block_ptr", "advance"):
            assert found.is_in(api.last), name
    for name in ("dot", "load", "atomic_poll", "math", "squeeze", "topk", "map_elementwise"):
        assert hasattr(tl, name)
