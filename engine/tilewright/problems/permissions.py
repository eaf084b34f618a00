"""What a project may permit candidates to do: ``allow`` in ``[tool.tilewright]``. Nothing is
permitted unless it is named there."""

from collections.abc import Iterable

WORKSPACES = "workspaces"
PREPACKED = "prepacked-weights"
ASSEMBLY = "inline-assembly"
FIXED_SHAPES = "fixed-shapes"
FIXED_LAYOUTS = "fixed-layouts"
FINITE = "finite-inputs"
HOST_READS = "host-reads"
FORWARD_ONLY = "forward-only"

PERMISSIONS = {
    WORKSPACES: "memory that is reused from call to call, whose contents no call may depend on",
    PREPACKED: "copies of a model's weights in another form, made at its first call or on loading",
    ASSEMBLY: "inline assembly in kernels, which is not analyzed",
    FIXED_SHAPES: "failing at extents that the spec's cases do not have",
    FIXED_LAYOUTS: "failing at strides and alignments that the problem's own inputs do not have",
    FORWARD_ONLY: "results whose gradients are not those of the original, or only some of them",
    HOST_READS: "host code that reads a number from a tensor, or whether a mask is all true",
    FINITE: "other results where inputs hold infinities or NaN",
}
"""By name, what each permits."""


def permitting(names: Iterable[str]) -> str:
    """How a refusal names the settings, any of which would do; empty for none."""
    told = " or ".join(f'allow = ["{name}"]' for name in names)
    return f"; {told} in [tool.tilewright] permits it" if told else ""


def permitting_all(names: Iterable[str]) -> str:
    """How a refusal names the settings that would do together; empty for none."""
    told = ", ".join(f'"{name}"' for name in names)
    return f"; allow = [{told}] in [tool.tilewright] permits it" if told else ""
