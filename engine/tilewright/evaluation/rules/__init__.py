"""What a candidate's text may not do: one module a concern, read from the syntax tree alone.

A rule yields findings; one that the original shows as often is its own affair. The rules explain
and refuse early. They prove nothing: what really ran is observed (``tilewright.worker.tamper``).
"""
