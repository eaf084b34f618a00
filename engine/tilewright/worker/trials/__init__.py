"""Trials: a candidate judged by a process that it shares nothing with.

On a device's host, the fork server starts three kinds of processes:

- one **coordinator** a device, trusted and long-lived. It imports no code under test, makes the
  inputs from a seed that no other process sees, keeps the oracle's outputs to itself, compares, and
  drives timing.
- **runners** of the original and of the reference, confined, kept for the next candidate.
- a runner of the **candidate**, confined, which ends with its trial.

A runner imports one version of the file and does one thing at a time as the coordinator asks
(``runner``). It gets the inputs of one call when that call is due, never an expected output.
Messages are framed as ``protocol`` says, over a socket pair; tensors lie in files of a folder that
is the runner's own, in memory where the system has room for them there.

The coordinator asks the fork server for what only that can do (``coordinators``):

- to the fork server: ``{"perform": key, "job", "timeout_s"}`` with one end of a socket pair: start
  a runner that talks over it. ``{"kill": key, "status", "message"}``.
  ``{"answer": id, "status", "message", "value", "seconds"}``: a trial's end.
- from the fork server: ``{"trial": id, "job"}``; ``{"ended": key, "status", "message", "output"}``:
  a runner is gone; ``{"cancel": id}``.
"""
