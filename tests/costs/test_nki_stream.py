"""The instructions of an NKI kernel from its text: counts, shapes, repeats, what is unknown."""

import pytest
from nki_kernels import MASKED, MATMUL, ROWS, named, stream_of, tensor


def test_instructions_are_counted_over_all_loops() -> None:
    stream = stream_of(MATMUL, tensor(512, 256), tensor(256, 1024))
    assert stream.unknown == stream.assumed == ()
    transposes = [one for one in named(stream, "nc_matmul") if one.get("transpose")]
    products = [one for one in named(stream, "nc_matmul") if not one.get("transpose")]
    assert [one["count"] for one in transposes] == [16]
    assert [(one["count"], one["k"], one["m"], one["n"]) for one in products] == [
        (16, 128, 128, 512)
    ]
    assert products[0]["accumulate"]
    assert products[0]["writes"][0]["memory"] == "PSUM"
    assert [one["count"] for one in named(stream, "copy")] == [16, 8]
    assert [one["bytes"] for one in named(stream, "store")] == [128 * 512 * 4]


def test_what_repeats_is_told_from_what_differs() -> None:
    """The left operand does not depend on the loop over columns, nor the right one on rows."""
    stream = stream_of(MATMUL, tensor(512, 256), tensor(256, 1024))
    _, left, right = named(stream, "load")
    assert (left["count"], left["distinct"], left["kept"]) == (16, 8, 8)
    assert (right["count"], right["distinct"], right["kept"]) == (16, 4, 2)
    (transpose,) = (one for one in named(stream, "nc_matmul") if one.get("transpose"))
    assert transpose["distinct"] == 8
    assert named(stream, "copy")[0]["distinct"] == 8


def test_the_same_in_another_line_repeats_it() -> None:
    text = """
@nki.jit
def twice(x):
    out = nl.ndarray((256, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(2):
        nl.store(out[i * 128:(i + 1) * 128], nl.load(x[i * 128:(i + 1) * 128, 0:512]))
    for j in nl.affine_range(2):
        again = nl.load(x[j * 128:(j + 1) * 128, 0:512])
        other = nl.load(x[0:128, 0:512])
        nl.store(out[j * 128:(j + 1) * 128], nl.add(again, other))
    return out
"""
    first, again, other = named(stream_of(text, tensor(256, 512)), "load")
    assert (first["count"], first["distinct"]) == (2, 2)
    assert (again["count"], again["distinct"], again["kept"]) == (2, 0, 2)
    assert (other["count"], other["distinct"]) == (2, 1)


def test_a_tensor_that_was_stored_to_is_loaded_anew() -> None:
    text = """
@nki.jit
def through(x):
    held = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.hbm)
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.sequential_range(4):
        nl.store(held[0:128, 0:512], nl.load(x[i * 128:(i + 1) * 128, 0:512]))
        nl.store(out[0:128, 0:512], nl.load(held[0:128, 0:512]))
    return out
"""
    _, back = named(stream_of(text, tensor(512, 512)), "load")
    assert (back["count"], back["distinct"]) == (4, 4)


def test_a_mask_gives_a_record_for_each_shape_that_it_leaves() -> None:
    stream = stream_of(MASKED, tensor(300, 1100))
    shapes = {(one["partitions"], one["free"]): one["count"] for one in named(stream, "load")}
    assert shapes == {(128, 512): 4, (128, 76): 2, (44, 512): 2, (44, 76): 1}
    moved = sum(one["count"] * one["bytes"] for one in named(stream, "load"))
    assert moved == 300 * 1100 * 4


@pytest.mark.parametrize("rows", [128, 129, 255, 256, 1000])
def test_a_mask_leaves_each_element_once(rows: int) -> None:
    stream = stream_of(MASKED, tensor(rows, 700))
    assert sum(one["count"] * one["bytes"] for one in named(stream, "store")) == rows * 700 * 4


def test_sizes_that_the_text_does_not_tell_are_named() -> None:
    stream = stream_of(MATMUL)
    assert any("lhs.shape[0]" in one for one in stream.unknown)
    known = [one for one in stream.records if one["op"].endswith("load")]
    assert len(known) == 1  # the identity, whose size is written out


def test_arguments_take_their_defaults() -> None:
    text = ROWS.replace("affine_range(rows // 128)", "affine_range(scale + 1)")
    assert "scale=2.0" in text
    stream = stream_of(text.replace("scale=2.0", "scale=2"), tensor(512, 64), tensor(1, 64))
    assert [one["count"] for one in named(stream, "activation")] == [3]


def test_programs_run_one_after_the_other() -> None:
    text = """
@nki.jit
def tiles(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i = nl.program_id(0)
    p = nl.arange(128)[:, None]
    f = nl.arange(64)[None, :]
    rows = x.shape[0]
    tile = nl.load(x[128 * i + p, f], mask=128 * i + p < rows)
    nl.store(out[128 * i + p, f], tile, mask=128 * i + p < rows)
    return out
"""
    stream = stream_of(text, tensor(300, 64), grid=(3,))
    assert {one["partitions"]: one["count"] for one in named(stream, "load")} == {128: 2, 44: 1}
    assert stream_of(text, tensor(300, 64)).unknown == ("the number of programs on axis 0",)


def test_an_assignment_is_the_call_that_it_assigns() -> None:
    text = """
@nki.jit
def sums(x):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    held = nl.zeros((par_dim(128), 64), dtype=x.dtype)
    for i in nl.affine_range(4):
        tile = nl.load(x[i * 128:(i + 1) * 128, 0:64])
        held[0:128, 0:64] += nl.exp(tile)
    copied = nl.ndarray((par_dim(128), 64), dtype=x.dtype)
    copied[0:128, 0:64] = held[0:128, 0:64]
    nl.store(out[0:128, 0:64], copied)
    return out
"""
    names = [one["op"].rpartition(".")[2] for one in stream_of(text, tensor(512, 64)).records]
    assert names == ["load", "exp", "add", "copy", "store"]


def test_calls_that_are_not_followed_are_named() -> None:
    text = """
@nki.jit
def helped(x):
    tile = nl.load(x[0:128, 0:64])
    return something_else(tile)
"""
    assert stream_of(text, tensor(128, 64)).unknown == ("line 11 calls what is not followed",)


def test_a_tile_may_depend_on_the_turn() -> None:
    text = """
@nki.jit
def pieces(x):
    columns = x.shape[1]
    out = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.static_range((columns + 511) // 512):
        size = min(512, columns - 512 * i)
        nl.store(out[0:128, nl.ds(512 * i, size)], nl.load(x[0:128, nl.ds(512 * i, size)]))
    return out
"""
    stream = stream_of(text, tensor(128, 1300))
    assert {one["free"]: one["count"] for one in named(stream, "load")} == {512: 2, 276: 1}
    assert sum(one["count"] * one["bytes"] for one in named(stream, "store")) == 128 * 1300 * 4


def test_an_inner_loop_may_turn_less_often_each_time() -> None:
    text = """
@nki.jit
def triangle(x):
    out = nl.ndarray((512, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.static_range(4):
        for j in nl.static_range(i + 1):
            tile = nl.load(x[i * 128:(i + 1) * 128, j * 128:(j + 1) * 128])
            nl.store(out[i * 128:(i + 1) * 128, j * 128:(j + 1) * 128], tile)
    return out
"""
    stream = stream_of(text, tensor(512, 512))
    assert stream.unknown == ()
    assert [(one["count"], one["distinct"]) for one in named(stream, "load")] == [(10, 10)]
