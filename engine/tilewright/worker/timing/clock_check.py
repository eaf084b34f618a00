"""Whether clocks agree: a runner's events against wall clocks, its own and the coordinator's.

What this finds: events that were patched, work on streams that events do not see, work put off
until after the end event. What it does not: differences below the slack, and hidden work that fits
into the time the host takes to hand calls over, or that the runner's process hides from a wait
for its whole device. Pure; times in microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SLACK_US = 300.0
"""What messages and waking up may take more or less from one message to the next."""

MARGIN = 0.10
_BLOCK_SHARE = 0.6
_EXACT = 0.02


@dataclass(frozen=True)
class Batch:
    """Calls in a row of one version: plain, after a delay, the delay alone, nothing at all."""

    calls: int
    plain_event_us: float
    plain_wall_us: float
    idle_wall_us: float
    delayed_event_us: float
    delayed_wall_us: float
    delay_wall_us: float

    @property
    def judged_us(self) -> float:
        """Device time of a call by the coordinator's clock."""
        return max(0.0, self.delayed_wall_us - self.delay_wall_us) / self.calls


def quietest(one: Batch, other: Batch) -> Batch:
    """The lowest readings of two batches of as many calls: other work on the host only adds."""
    plain = min((one, other), key=lambda batch: batch.plain_wall_us - batch.plain_event_us)
    delayed = min((one, other), key=lambda batch: batch.delayed_wall_us - batch.delayed_event_us)
    return Batch(
        calls=one.calls,
        plain_event_us=plain.plain_event_us,
        plain_wall_us=plain.plain_wall_us,
        idle_wall_us=min(one.idle_wall_us, other.idle_wall_us),
        delayed_event_us=delayed.delayed_event_us,
        delayed_wall_us=delayed.delayed_wall_us,
        delay_wall_us=min(one.delay_wall_us, other.delay_wall_us),
    )


def batch_faults(batch: Batch, block_us: float) -> list[str]:
    """What does not fit between a batch's clocks, and between it and the blocks' median."""
    found = []
    after = batch.plain_wall_us - batch.idle_wall_us - batch.plain_event_us
    if after > SLACK_US + MARGIN * batch.plain_event_us:
        found.append(
            f"{batch.calls} calls kept the device busy for {after:.0f} us longer than the events "
            f"around them show ({batch.plain_event_us:.0f} us): work outside the stream that is "
            "timed, or put off"
        )
    judged = batch.judged_us * batch.calls
    if abs(judged - batch.delayed_event_us) > SLACK_US + MARGIN * judged:
        found.append(
            f"events give {batch.delayed_event_us:.0f} us for {batch.calls} calls, the "
            f"coordinator's clock {judged:.0f} us"
        )
    least = _BLOCK_SHARE * (batch.judged_us - SLACK_US / batch.calls)
    if block_us < least:
        found.append(
            f"timed one by one a call takes {block_us:.1f} us, in a row {batch.judged_us:.1f} us "
            "by the coordinator's clock"
        )
    return found


def block_faults(
    replies: Sequence[Mapping[str, Any]], walls_us: Sequence[float], repeats: int
) -> list[str]:
    """What does not fit in the blocks: their events among themselves and against the wall."""
    span = sum(float(reply["span_us"]) for reply in replies)
    parts = sum(sum(reply["us"]) * repeats + sum(reply["gaps_us"]) for reply in replies)
    found = []
    if abs(parts - span) > _EXACT * span + SLACK_US:
        found.append(f"events add up to {parts:.0f} us and span {span:.0f} us")
    wall = sum(walls_us)
    if wall < span * (1 - _EXACT):
        found.append(f"events span {span:.0f} us in {wall:.0f} us of the coordinator's clock")
    return found
