"""Trials: a candidate judged by a process that it shares nothing with.

On a device's host, the zygote starts three kinds of processes:

- one **judge** a device, trusted and long-lived. It imports no code under test, makes the inputs
  from a seed that no other process sees, keeps the oracle's outputs to itself, compares, drives
  timing.
- **performers** of the original and of the reference, confined, kept for the next candidate.
- a performer of the **candidate**, confined, which ends with its trial.

A performer imports one version of the file and does one thing at a time as the judge asks
(``performer``). It gets the inputs of one call when that call is due, never an expected output.
Messages are framed as ``protocol`` says, over a socket pair; tensors lie in files of a folder that
is the performer's own, in memory where the system has room for them there.

The judge asks the zygote for what only the zygote can do (``judges``):

- judge to zygote: ``{"perform": key, "job", "timeout_s"}`` with one end of a socket pair: start a
  performer that talks over it. ``{"kill": key, "status", "message"}``.
  ``{"answer": id, "status", "message", "value", "seconds"}``: a trial's end.
- zygote to judge: ``{"trial": id, "job"}``; ``{"ended": key, "status", "message", "output"}``: a
  performer is gone; ``{"cancel": id}``.
"""
