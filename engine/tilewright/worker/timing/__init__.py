"""Timing of a candidate against its original, by a runner with both and a coordinator.

The runner (``paired_runner.Contest``) holds both versions in one process and answers messages; the
coordinator (``controller.conduct``) draws the order and the contents of the inputs, keeps the time
by its own clock, decides when to stop (``sequential``), and has outputs of timed calls checked. "A"
is the original, "B" the candidate. Messages, each with its answer:

``time.prepare``: repeats?, in_place?, plan?, graphs=false, flush_bytes?, reload=false -> device,
driver, clock_note, repeats, sets, keeps, output_bytes, in_place, host_us ``{A, B}`` (to hand one
call over), rough_us ``{A, B}``, plan, not_refreshed (names). First calls, copies of the inputs, how
often in a row.

``time.warm``: limit_s, order="ABBA" -> seconds, flat (whether times stopped changing before the
limit).

``time.fresh``: turn -> sets. New contents for every set of inputs, by ``fresh.refresh_into`` with
``fresh.turn_of(turn, set)``; the device is idle when it answers.

``time.block``: order (such as "ABBA") -> us (a call, for each letter), gaps_us (before each: cache
flush and delay), span_us (all of it, by events), wall_us (the same by the runner's clock), kept
(which of B's calls, counted from 0 in the block, still have their outputs). A letter is
``repeats`` calls in a row; call ``n`` of a version gets set ``n % sets``.

``time.retained``: call, out, sample? (seed) -> outputs (manifest: what was returned, then inputs
changed in place; with a seed large ones are ``sampling.sampled``), output_tree.

``time.batch``: which ("A" or "B"), calls, delayed -> event_us, wall_us, calls. Calls one after
another, no flush between; the wall clock stops when the whole device is idle. ``delayed``: the
device is kept busy first, so that the calls wait for it and not for the host; ``calls`` 0 is the
delay alone, as long as for ``as_for`` calls.

``time.end``: -> nothing. Lets go of all memory.
"""
