"""Ways to answer the questions that a kernel's text leaves open, the likeliest first."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """How the questions that the text leaves open are answered in one guess.

    Attributes:
        floats: element type of tensors; None: fp16 for what is multiplied as matrices, else fp32.
        indices: element type of tensors of indices.
        flags: conditions that nothing states.
        size: extents of tiles that nothing states; None: 1024 for the only one, else 64.
        config: which autotune configuration; negative from the end.
        launch: which of the file's launches; negative from the end.
        none_defaults: pass None where the launch or a default says None.
        scalars_are_float: numbers that address nothing.
        all_indices: every tensor is one of indices.
        tiles: what is no pointer is a tile, as for functions that kernels call.
    """

    floats: str | None = None
    indices: str = "i64"
    flags: bool = False
    size: int | None = None
    config: int = 0
    launch: int = 0
    none_defaults: bool = False
    scalars_are_float: bool = False
    all_indices: bool = False
    tiles: bool = False


STYLES = (
    Style(),
    Style(floats="fp16"),
    Style(floats="fp32"),
    Style(floats="fp32", flags=True, config=-1, launch=-1),
    Style(floats="fp16", flags=True),
    Style(floats="fp32", none_defaults=True),
    Style(floats="fp32", scalars_are_float=True),
    Style(floats="fp32", flags=True, scalars_are_float=True, size=32),
    Style(floats="fp32", size=16),
    Style(floats="bf16"),
    Style(floats="fp32", flags=True, none_defaults=True, size=128),
    Style(floats="fp32", all_indices=True),
    Style(floats="i32", all_indices=True, indices="i32"),
    Style(floats="fp32", indices="i32", flags=True),
    Style(floats="u8"),
    Style(floats="i1"),
)
