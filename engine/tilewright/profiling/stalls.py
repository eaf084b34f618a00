"""Why warps wait, in words, and what each reason suggests.

Reasons have the names that NVIDIA's Nsight Compute gives them (its Kernel Profiling Guide).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """Continues "warps spend 40 % of their time ..."; ids of the taxonomy."""

    words: str
    suggests: tuple[str, ...] = ()


IDLE_REASONS = frozenset({"selected", "not_selected"})
"""Warps that issue, or could: no reason to wait."""

MEANING: Mapping[str, Reason] = {
    "long_scoreboard": Reason(
        "waiting for loads from global or local memory", ("low_occupancy", "suboptimal_warps")
    ),
    "short_scoreboard": Reason("waiting for shared memory or for the special-function unit"),
    "barrier": Reason("at barriers, waiting for other warps", ("suboptimal_warps",)),
    "lg_throttle": Reason(
        "with the queue of global accesses full: too many, too small", ("unvectorized_access",)
    ),
    "mio_throttle": Reason(
        "with the queue of shared memory and special functions full",
        ("layout_conversion_in_loop",),
    ),
    "tex_throttle": Reason("with the queue of texture accesses full"),
    "math_pipe_throttle": Reason("waiting for an arithmetic pipe that is busy"),
    "gmma": Reason("waiting for tensor instructions of a warp group to finish"),
    "warpgroup_arrive": Reason("waiting for the other warps of a warp group"),
    "wait": Reason("in the fixed latency of their own last instruction", ("suboptimal_warps",)),
    "dispatch_stall": Reason("with the dispatcher held up"),
    "branch_resolve": Reason("waiting for a branch's target"),
    "no_instruction": Reason("waiting for instructions to be fetched: the code is large"),
    "no_instructions": Reason("waiting for instructions to be fetched: the code is large"),
    "imc_miss": Reason("waiting for constants: kernel arguments among them"),
    "drain": Reason("waiting at their end for stores to leave"),
    "membar": Reason("at memory fences"),
    "sleeping": Reason("asleep"),
    "misc": Reason("waiting for other reasons"),
    "not_selected": Reason("ready while another warp issues"),
    "selected": Reason("issuing"),
}
